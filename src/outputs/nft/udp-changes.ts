import type { Wanted, WantedPort } from './render.ts';

const none: ReadonlySet<string> = new Set();

/**
 * UDP ports whose clients may hold an entry that leads to the wrong place: an endpoint was removed, or the first
 * one came. `<address> . <port>` → the endpoints now; empty: the port is gone or has none.
 */
export function udpChanges(before: Wanted, after: Wanted): ReadonlyMap<string, ReadonlySet<string>> {
  const changes = new Map<string, ReadonlySet<string>>();
  for (const port of after.ports.values()) {
    const old = before.ports.get(port.key);
    if (port.protocol !== 'udp' || port === old) continue;
    const now = endpoints(port);
    const then = old ? endpoints(old) : none;
    if (then.size === 0 || [...then].some((e) => !now.has(e))) changes.set(sentTo(port), now);
  }
  for (const old of before.ports.values()) {
    if (old.protocol === 'udp' && !after.ports.has(old.key)) changes.set(sentTo(old), none);
  }
  return changes;
}

const sentTo = (port: WantedPort): string => `${port.address} . ${port.port}`;
const endpoints = (port: WantedPort): ReadonlySet<string> => new Set(port.shares.map((s) => s.to));
