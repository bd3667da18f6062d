/** How an origin is heard over one link. */
export interface Way {
  /** The relay at the other end; empty: the origin itself. */
  readonly relay: string;
  /** The origin was heard on the link that is up. */
  readonly isLinked: boolean;
  /** Of the last status. */
  readonly epoch: number;
  readonly sequence: number;
  /** The origin's clock. */
  readonly sentAt: number;
  /** Relays that it came by. */
  readonly path: readonly string[];
  /** Everything of it comes by this way, not only what is asked for. */
  readonly isWhole: boolean;
}

/** A way whose last heartbeat is older than that of another by more than this is cut somewhere. */
const lagMs = 6_000;

/**
 * The way that counts; ways are never merged. One life of the origin counts before another if it is heard and the
 * other is not, or else if it began later. Of one life the way that knows the most counts, of those that know the same
 * one over which the origin is heard, then the shorter path, then the name of the relay. So what is known by a lost link
 * yields to newer word, never to older.
 */
export function bestWay<W extends Way>(ways: readonly W[]): W | undefined {
  if (ways.length < 2) return ways[0];
  const heard = new Map<number, number>();
  for (const way of ways) {
    if (way.isLinked) heard.set(way.epoch, Math.max(heard.get(way.epoch) ?? 0, way.sentAt));
  }
  const isHeard = (way: W): boolean => way.isLinked && way.sentAt >= (heard.get(way.epoch) ?? 0) - lagMs;
  return [...ways].sort(
    (a, b) =>
      Number(heard.has(b.epoch)) - Number(heard.has(a.epoch)) ||
      b.epoch - a.epoch ||
      b.sequence - a.sequence ||
      Number(isHeard(b)) - Number(isHeard(a)) ||
      a.path.length - b.path.length ||
      compareTexts(a.relay, b.relay) ||
      Number(b.isWhole) - Number(a.isWhole),
  )[0];
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
