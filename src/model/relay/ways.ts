/** How an origin is heard over one link. */
export interface Way {
  /** The relay at the other end; empty: the origin itself. */
  readonly relay: string;
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
 * The way that counts; ways are never merged. The later life of the origin counts, of one life the way that knows the
 * most, of those that know the same one over which its heartbeats still come, then the shorter path, then the name of the
 * relay. Whether a link is up does not: what is known by a lost link yields to newer word, and two relays that both
 * lost the origin do not take it from each other in turns.
 */
export function bestWay<W extends Way>(ways: readonly W[]): W | undefined {
  if (ways.length < 2) return ways[0];
  const newest = new Map<number, number>();
  for (const { epoch, sentAt } of ways) newest.set(epoch, Math.max(newest.get(epoch) ?? 0, sentAt));
  const isHeard = (way: W): boolean => way.sentAt >= (newest.get(way.epoch) ?? 0) - lagMs;
  return [...ways].sort(
    (a, b) =>
      b.epoch - a.epoch ||
      b.sequence - a.sequence ||
      Number(isHeard(b)) - Number(isHeard(a)) ||
      a.path.length - b.path.length ||
      compareTexts(a.relay, b.relay) ||
      Number(b.isWhole) - Number(a.isWhole),
  )[0];
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
