import type { Protocol } from '../ir.ts';
import { contributionSource } from '../keys.ts';

/**
 * Names on links between clusters:
 * `xdstp://<set>/<type>/v1/<namespace>/<composite>/<tcp|udp>-<port>/<cluster>[.<shard>][:<namespace>:<composite>]`
 * for what a cluster contributes, `xdstp://<set>/causeway.v1.OriginStatus/v1/<cluster>` for the cluster itself.
 * Namespace and composite are the consumer's; the publisher's own stand at the end where they are other ones. `v1`
 * is the version of the wire.
 */
export type ContributionType = 'cluster' | 'assignment';

export interface ContributionName {
  readonly set: string;
  readonly type: ContributionType;
  /** Of the consumer's composite. */
  readonly namespace: string;
  readonly composite: string;
  /** `<namespace>/<name>` of the publisher's composite, where it is not the same. */
  readonly from?: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly cluster: string;
  /** Bits of the endpoint hash that this shard holds, as `01`; absent: all endpoints. Assignments only. */
  readonly shard?: string;
}

export interface OriginName {
  readonly set: string;
  readonly cluster: string;
}

export type RelayName =
  | ({ readonly kind: 'contribution' } & ContributionName)
  | ({ readonly kind: 'origin' } & OriginName);

const messages = {
  cluster: 'envoy.config.cluster.v3.Cluster',
  assignment: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
} as const;
const originMessage = 'causeway.v1.OriginStatus';
const maxNameLength = 1024;

/** `<namespace>/<composite>/<tcp|udp>-<port>`: the key of `Compiled.exports`, `imports` and `Import` records. */
export function portKeyOf(
  name: Pick<ContributionName, 'namespace' | 'composite' | 'protocol' | 'port'>,
): string {
  return `${name.namespace}/${name.composite}/${name.protocol.toLowerCase()}-${name.port}`;
}

/** The key of `Contribution` records. */
export function contributionKeyOf(
  name: Pick<ContributionName, 'namespace' | 'composite' | 'protocol' | 'port' | 'cluster' | 'from'>,
): string {
  return `${portKeyOf(name)}/${contributionSource(name.cluster, name.from)}`;
}

export function formatContributionName(name: ContributionName): string {
  const publisher = name.shard === undefined ? name.cluster : `${name.cluster}.${name.shard}`;
  const last = contributionSource(publisher, name.from);
  return `xdstp://${name.set}/${messages[name.type]}/v1/${portKeyOf(name)}/${last}`;
}

/** What a consumer of `portKey` subscribes to: every cluster's part. */
export function contributionGlob(set: string, type: ContributionType, portKey: string): string {
  return `xdstp://${set}/${messages[type]}/v1/${portKey}/*`;
}

/** The port that a name, or a glob over clusters, is of; undefined: it is of none. */
export function portOfName(text: string): string | undefined {
  const name = parseRelayName(text.endsWith('/*') ? `${text.slice(0, -1)}any` : text);
  return name?.kind === 'contribution' ? portKeyOf(name) : undefined;
}

export function formatOriginName(name: OriginName): string {
  return `xdstp://${name.set}/${originMessage}/v1/${name.cluster}`;
}

export function originGlob(set: string): string {
  return `xdstp://${set}/${originMessage}/v1/*`;
}

const label = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const subdomain = `${label}(?:\\.${label})*`;
const pattern = new RegExp(
  `^xdstp://(${subdomain})/([A-Za-z0-9.]+)/v1/(?:(${label})/(${subdomain})/(tcp|udp)-([1-9][0-9]{0,4})/)?(${label})(?:\\.([01]{1,32}))?(?::(${label}):(${subdomain}))?$`,
);

/** Undefined for anything but a whole name of ours: globs, other versions and other types are not names. */
export function parseRelayName(text: string): RelayName | undefined {
  if (text.length > maxNameLength) return undefined;
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [
    ,
    set = '',
    message = '',
    namespace,
    composite,
    protocol,
    portText,
    cluster = '',
    shard,
    fromNamespace,
    fromName,
  ] = match;
  const from = fromNamespace === undefined ? undefined : `${fromNamespace}/${fromName}`;
  if (namespace === undefined || composite === undefined) {
    return message === originMessage && shard === undefined && from === undefined
      ? { kind: 'origin', set, cluster }
      : undefined;
  }
  const type =
    message === messages.cluster ? 'cluster' : message === messages.assignment ? 'assignment' : undefined;
  const port = Number(portText);
  if (type === undefined || port > 65535 || composite.length > 253) return undefined;
  if (from === `${namespace}/${composite}` || (fromName ?? '').length > 253) return undefined;
  if (shard !== undefined && type === 'cluster') return undefined;
  return {
    kind: 'contribution',
    set,
    type,
    namespace,
    composite,
    protocol: protocol === 'udp' ? 'UDP' : 'TCP',
    port,
    cluster,
    ...(shard === undefined ? {} : { shard }),
    ...(from === undefined ? {} : { from }),
  };
}
