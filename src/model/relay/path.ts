import type { Refused } from './authority.ts';

const maxHops = 6;

/** An origin that came by these relays may go on to `relay`: it does not come round, and it has not come too far. */
export function mayPass(path: readonly string[], relay: string): boolean {
  return path.length < maxHops && !path.includes(relay);
}

/** Why `relay` must not take an origin that came by these relays: it came round, or it came too far. */
export function refusedPath(path: readonly string[], relay: string): Refused | undefined {
  if (mayPass(path, relay)) return undefined;
  if (path.includes(relay))
    return { reason: 'loop', message: `came round to ${relay} by ${path.join(', ')}` };
  return { reason: 'hops', message: `expected at most ${maxHops} relays on the way, found ${path.length}` };
}
