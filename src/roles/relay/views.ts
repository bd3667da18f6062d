import type { Peer } from '../../model/relay/authority.ts';
import { isOfferedTo, mayBeOfferedTo, type Offer } from '../../model/relay/export-policy.ts';
import type { Origin } from '../../model/relay/origin.ts';
import { mayPass } from '../../model/relay/path.ts';
import type { Entry } from '../../outputs/xds/log-entry.ts';
import type { ResourceLog } from '../../outputs/xds/resource-log.ts';
import type { View } from '../../outputs/xds/view.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import type { EntryFacts, OriginTable } from './origin-table.ts';

/** What a peer asks for, and what is absent for it. */
export type Asking = Required<Pick<View, 'asked' | 'ended' | 'isAbsent'>>;

/** What a cluster that dials us may see: what is offered to it. */
export function consumerView(consumer: Peer, table: OriginTable, asking: Asking): View {
  const isFor = (offer: Offer): boolean => isOfferedTo(consumer, offer);
  return {
    ...asking,
    log: table.log,
    key: `consumer ${consumer.cluster}`,
    stable: false,
    statusOf: (entry) => table.statusOf(entry),
    sees: (typeUrl, entry) => isForSome(isFor, table, typeUrl, entry),
  };
}

/**
 * What a relay that dials us may see: what is offered to a cluster that is delegated to it, or may be. `origin`: a
 * cluster as that relay tells it; undefined while it has not.
 */
export function childView(
  child: Peer,
  table: OriginTable,
  options: Asking & {
    readonly self: string;
    readonly clusters: () => ReadonlySet<string>;
    readonly origin: (cluster: string) => Origin | undefined;
  },
): View {
  const { self, clusters, origin, ...asking } = options;
  const { namespaces } = child;
  const isFor = (offer: Offer): boolean => {
    for (const cluster of clusters()) {
      const known = origin(cluster)?.heard?.status;
      const takes = known
        ? isOfferedTo({ ...known, cluster, namespaces }, offer)
        : mayBeOfferedTo({ cluster, namespaces }, offer);
      if (takes) return true;
    }
    return false;
  };
  return {
    ...asking,
    log: table.log,
    key: `relay ${child.cluster}`,
    stable: false,
    statusOf: (entry) => table.statusOf(entry),
    sees: (typeUrl, entry) =>
      passes(table, entry, self, child.cluster) && isForSome(isFor, table, typeUrl, entry),
  };
}

/** What a relay that we dial may see: everything that did not come by it. */
export function parentView(
  table: OriginTable,
  options: { readonly self: string; readonly parent: () => string },
): View & { readonly log: ResourceLog } {
  return {
    log: table.log,
    key: 'parent',
    stable: false,
    statusOf: (entry) => table.statusOf(entry),
    sees: (_typeUrl, entry) => passes(table, entry, options.self, options.parent()),
  };
}

function isForSome(
  isFor: (offer: Offer) => boolean,
  table: OriginTable,
  typeUrl: string,
  entry: Entry,
): boolean {
  const facts = entry.facts as EntryFacts;
  if (typeUrl !== typeUrls.originStatus) return isFor(facts);
  return table.offers(facts.cluster, isFor);
}

function passes(table: OriginTable, entry: Entry, self: string, relay: string): boolean {
  const way = table.chosen((entry.facts as EntryFacts).cluster);
  return way !== undefined && mayPass([...way.path, self], relay);
}
