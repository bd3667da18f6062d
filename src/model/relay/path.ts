import type { Refused } from './authority.ts';

const maxHops = 6;

/** The hop path with `relay` added, or why the resource must not go on: it came round, or it came too far. */
export function extendPath(
  path: readonly string[],
  relay: string,
): { readonly path: readonly string[] } | Refused {
  if (path.includes(relay))
    return { reason: 'loop', message: `came round to ${relay} by ${path.join(', ')}` };
  if (path.length >= maxHops) {
    return { reason: 'hops', message: `expected at most ${maxHops} relays on the way, found ${path.length}` };
  }
  return { path: [...path, relay] };
}
