import type { WantedPort } from './render.ts';

/** Undefined: there was none, or there is none. */
export interface PortChange {
  readonly before?: WantedPort | undefined;
  readonly after?: WantedPort | undefined;
}

/**
 * UDP ports whose clients may hold an entry that leads to the wrong place: an endpoint was removed, or the first
 * one came. `<address> . <port>` → the endpoints now; empty: the port is gone or has none.
 */
export function udpChanges(changes: Iterable<PortChange>): ReadonlyMap<string, ReadonlySet<string>> {
  const wrong = new Map<string, ReadonlySet<string>>();
  for (const { before, after } of changes) {
    const port = after ?? before;
    if (port?.protocol !== 'udp') continue;
    const then = endpoints(before);
    const now = endpoints(after);
    if (then.size === 0 || [...then].some((e) => !now.has(e)))
      wrong.set(`${port.address} . ${port.port}`, now);
  }
  return wrong;
}

/** What clients of these ports may hold, when nothing is known of before. */
export function allUdp(ports: Iterable<WantedPort>): ReadonlyMap<string, ReadonlySet<string>> {
  return udpChanges(Array.from(ports, (after) => ({ after })));
}

const endpoints = (port: WantedPort | undefined): ReadonlySet<string> =>
  new Set(port?.shares.map((s) => s.to));
