/** Failures in a row that take an endpoint out, and successes that bring it back. */
const failuresOut = 2;
const successesBack = 2;
/** Failures in a row, of any endpoints of a group, that take out all of it. */
const failuresOutOfGroup = 5;
/** A group of which a probe passed so lately is not taken out as a whole. */
const groupPassedMs = 3_000;
const periodMs = 1_000;

interface Place {
  readonly groups: Set<string>;
  /** Results of one kind in a row. */
  failures: number;
  successes: number;
  isOut: boolean;
  /** Not probed again before. */
  nextAt: number;
  isUnderWay: boolean;
}

interface Group {
  /** In the order in which they are probed; it starts over at the end. */
  readonly places: readonly string[];
  cursor: number;
  failures: number;
  passedAt: number;
}

/**
 * Which endpoints are to be probed next, and what results say. Groups take turns, so that a large one holds up no
 * other, and a few probes tell that nothing of a group is reachable. Times are milliseconds, never less than
 * before.
 */
export class ProbeTable {
  readonly #places = new Map<string, Place>();
  readonly #groups = new Map<string, Group>();

  get size(): number {
    return this.#places.size;
  }

  /**
   * The places of a group, in no particular order of likeness; undefined: it is not probed any more. `out`: which of
   * those that are new here are known to fail.
   */
  setGroup(
    key: string,
    places: readonly string[] | undefined,
    now: number,
    out: readonly string[] = [],
  ): void {
    const before = this.#groups.get(key);
    const left = new Set(places);
    for (const name of before?.places ?? []) {
      if (left.has(name)) continue;
      const place = this.#places.get(name);
      place?.groups.delete(key);
      if (place?.groups.size === 0) this.#places.delete(name);
    }
    if (!places) {
      this.#groups.delete(key);
      return;
    }
    const { failures = 0, passedAt = now } = before ?? {};
    this.#groups.set(key, { places, cursor: 0, failures, passedAt });
    const failed = new Set(out);
    for (const name of places) {
      const place = this.#places.get(name);
      if (place) place.groups.add(key);
      else {
        const groups = new Set([key]);
        const fresh = { failures: 0, successes: 0, nextAt: now, isUnderWay: false };
        this.#places.set(name, { groups, ...fresh, isOut: failed.has(name) });
      }
    }
  }

  /** What to probe now; its result must follow. Undefined: nothing is due. */
  next(now: number): string | undefined {
    for (const [key, group] of this.#groups) {
      const name = this.#nextOf(group, now);
      if (name === undefined) continue;
      // Last in turn.
      this.#groups.delete(key);
      this.#groups.set(key, group);
      return name;
    }
    return undefined;
  }

  /** Returns the groups of which other endpoints are out than before. */
  result(name: string, passed: boolean, now: number): ReadonlySet<string> {
    const changed = new Set<string>();
    const place = this.#places.get(name);
    if (!place) return changed;
    place.isUnderWay = false;
    place.failures = passed ? 0 : place.failures + 1;
    place.successes = passed ? place.successes + 1 : 0;
    if (place.isOut ? place.successes >= successesBack : place.failures >= failuresOut) {
      this.#set(place, !place.isOut, changed);
    }
    for (const key of place.groups) {
      const group = this.#groups.get(key);
      if (!group) continue;
      group.failures = passed ? 0 : group.failures + 1;
      if (passed) group.passedAt = now;
      if (group.failures < failuresOutOfGroup || now - group.passedAt < groupPassedMs) continue;
      for (const other of group.places) {
        const member = this.#places.get(other);
        if (member && !member.isOut) this.#set(member, true, changed);
      }
    }
    return changed;
  }

  /** The endpoints of a group that are out, sorted. */
  failing(key: string): readonly string[] {
    const places = this.#groups.get(key)?.places ?? [];
    return places.filter((name) => this.#places.get(name)?.isOut).sort();
  }

  #set(place: Place, isOut: boolean, changed: Set<string>): void {
    place.isOut = isOut;
    place.successes = 0;
    for (const key of place.groups) changed.add(key);
  }

  /** An endpoint of several groups may have been probed for another one: it is passed over, not more than a few. */
  #nextOf(group: Group, now: number): string | undefined {
    for (let i = 0; i < Math.min(5, group.places.length); i++) {
      const name = group.places[group.cursor % group.places.length] as string;
      const place = this.#places.get(name);
      const isFree = place && !place.isUnderWay && place.nextAt <= now;
      group.cursor += 1;
      if (!isFree) continue;
      place.isUnderWay = true;
      place.nextAt = now + periodMs;
      return name;
    }
    return undefined;
  }
}
