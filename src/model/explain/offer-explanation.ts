import type { Condition } from '../conditions.ts';
import { parseCompositePortKey } from '../keys.ts';
import type { Reader, Unit } from '../reader.ts';
import { compositeExports } from '../units/composite-exports.ts';
import { type CompositeFacts, type CompositeSide, compositeFacts } from '../units/composite-facts.ts';
import { contributedPorts } from '../units/composite-ports.ts';
import { compositeStatus } from '../units/composite-status.ts';
import { parseKey, refOf } from '../units/object-key.ts';
import { selectorText } from '../units/selects-nothing.ts';
import { causeOf } from './cause.ts';
import { explainOwnPart } from './cluster-explanation.ts';
import type { Cause, OfferExplanation, OfferedPort } from './explanation.ts';

/** What this cluster contributes, by the composite's key. Undefined: there is none, or it contributes nothing. */
export const offerExplanation: Unit<OfferExplanation | undefined> = {
  name: 'offerExplanation',
  compute: (reader, key) => {
    const facts = reader.unit(compositeFacts, key);
    if (!facts?.contributes) return undefined;
    const result = reader.unit(compositeStatus, key);
    const conditions = (result?.status?.status.conditions ?? []) as readonly Condition[];
    const ports = reader.unit(contributedPorts, key).map((port) => explainOffered(reader, key, facts, port));
    const told = new Set(ports.flatMap(({ own }) => own.causes.map(({ message }) => message)));
    const causes = (result?.problems ?? []).map(causeOf).filter(({ message }) => !told.has(message));
    return {
      ...parseKey(key),
      conditions: conditions.map(({ type, status, reason, message }) => ({ type, status, reason, message })),
      // Without a port nothing is offered, whatever the problem is called.
      causes: [
        ...causes.map((cause) => ({ ...cause, stops: cause.stops || ports.length === 0 })),
        ...notTold(reader, key, facts),
      ],
      ports,
    };
  },
};

function explainOffered(reader: Reader, composite: string, facts: CompositeFacts, key: string): OfferedPort {
  const { protocol = 'TCP', port = 0 } = parseCompositePortKey(key) ?? {};
  const offered = reader.config.relay && reader.unit(compositeExports, composite).has(key);
  const own = explainOwnPart(reader, key);
  const some = own.endpoints.length > 0;
  return {
    protocol,
    port,
    offered,
    to: facts.exportTo.map(sideText),
    own: {
      ...own,
      why: some ? `${own.ready} of ${own.selected} ready here` : own.why,
      causes: own.causes.map((cause) => ({ ...cause, stops: cause.stops || !some })),
    },
  };
}

/** Why nobody else gets any of it. */
function notTold(reader: Reader, key: string, { exportTo }: CompositeFacts): readonly Cause[] {
  const about = { stops: true, reason: 'NotExported', ref: refOf('CompositeBackend', parseKey(key)) };
  if (exportTo.length === 0) {
    const message = 'expected spec.export to admit a cluster, found none';
    const next = 'add the clusters that are to have it to `spec.export.to`; an empty entry is every cluster';
    return [{ ...about, field: 'spec.export', message, next }];
  }
  if (!reader.config.relay) {
    const message = 'this controller has no relay, so that no other cluster hears of it';
    return [{ ...about, field: '', message, next: 'start the controller with --relay' }];
  }
  return [];
}

/** Who may take it, for people. */
function sideText({ clusters: { names, ...labels }, composite }: CompositeSide): string {
  const parts = [...(names ? [names.join(' or ')] : []), ...[selectorText(labels)].filter(Boolean)];
  const who = parts.length === 0 ? 'every cluster' : `cluster ${parts.join(' with ')}`;
  return composite === undefined ? who : `${who} as ${composite}`;
}
