import ipaddr from 'ipaddr.js';
import type { Frontend } from '../../model/ir.ts';
import { isWithin, maxNameBytes, type NameKey, nameKey, parseName } from '../../wire/dns/name.ts';

/** What one front end gives to one owner name of the zone. */
export interface Contribution {
  readonly ttl: number;
  /** Canonical text. Empty, and `ports` empty too: the name exists and has no records yet. */
  readonly addresses: readonly string[];
  /** Ports of SRV records whose target is `target`. */
  readonly ports: readonly number[];
  readonly target: NameKey;
}

export interface FrontendNames {
  readonly owners: ReadonlyMap<NameKey, Contribution>;
  /** What has no form in DNS or is not of this zone, as text for the log. */
  readonly skipped: readonly string[];
}

/** Seconds. Longer ones would outlive any change by days. */
const maxTtl = 86_400;

/**
 * The owner names of a front end: its names within the zone and, once it has an address,
 * `_<listener>._<tcp|udp>.<name>` for each named listener that fits a label.
 */
export function frontendNames(frontend: Frontend, zone: NameKey): FrontendNames {
  const owners = new Map<NameKey, Contribution>();
  const skipped: string[] = [];
  const addresses = frontend.vips
    .filter((vip) => ipaddr.isValid(vip))
    .map((vip) => ipaddr.parse(vip).toString());
  for (const vip of frontend.vips) if (!ipaddr.isValid(vip)) skipped.push(vip);
  const ttl = Math.min(Math.max(Math.trunc(frontend.ttl) || 0, 0), maxTtl);
  for (const text of frontend.names) {
    const wire = parseName(text);
    const name = wire && nameKey(wire);
    if (name === undefined || !isWithin(name, zone)) {
      skipped.push(text);
      continue;
    }
    const common = { ttl, target: name };
    owners.set(name, { ...common, addresses, ports: owners.get(name)?.ports ?? [] });
    if (addresses.length === 0) continue;
    for (const port of frontend.ports) {
      if (!(port.port > 0 && port.port <= 0xffff)) {
        skipped.push(`${text}:${port.port}`);
        continue;
      }
      for (const listener of port.listeners) {
        const owner = serviceName(listener, port.protocol, name);
        if (owner === undefined) {
          skipped.push(`_${listener}._${port.protocol.toLowerCase()}.${text}`);
          continue;
        }
        const had = owners.get(owner);
        owners.set(owner, {
          ...common,
          addresses: had?.addresses ?? [],
          ports: [...(had?.ports ?? []), port.port],
        });
      }
    }
  }
  return { owners, skipped };
}

/** Undefined: a listener's name with a dot, or over 62 octets with the underscore, cannot be a label. */
function serviceName(listener: string, protocol: 'TCP' | 'UDP', name: NameKey): NameKey | undefined {
  const wire = listener.includes('.') ? undefined : parseName(`_${listener}._${protocol.toLowerCase()}`);
  if (!wire) return undefined;
  const owner = nameKey(wire).slice(0, -1) + name;
  return owner.length > maxNameBytes ? undefined : owner;
}
