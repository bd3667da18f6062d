/** What a number of requests came to. Milliseconds; `p50` and `p99` are null where nothing was answered. */
export interface LoadResult {
  readonly requests: number;
  readonly failed: number;
  /** key: `<cluster>/<pod>` as the server calls itself. Sorted. */
  readonly answers: Readonly<Record<string, number>>;
  /** Why requests failed: `ECONNREFUSED`, `timeout`, … */
  readonly errors: Readonly<Record<string, number>>;
  readonly p50: number | null;
  readonly p99: number | null;
}

/** A tally as JSON: durations as pairs of bucket and count. */
export interface TallyState {
  readonly answers: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
  readonly durations: readonly (readonly [number, number])[];
}

const first = 0.01;
const growth = 1.02;
const buckets = 900;

/**
 * Counts requests and their latency in constant memory: durations fall into buckets 2 % wide, from 10 µs to more
 * than a minute.
 */
export class Tally {
  #failed = 0;
  readonly #answers = new Map<string, number>();
  readonly #errors = new Map<string, number>();
  readonly #durations = new Uint32Array(buckets);
  #answered = 0;

  answer(who: string, ms: number): void {
    this.#answered += 1;
    this.#answers.set(who, (this.#answers.get(who) ?? 0) + 1);
    const index = Math.floor(Math.log(Math.max(ms, first) / first) / Math.log(growth));
    const bucket = Math.min(buckets - 1, index);
    this.#durations[bucket] = (this.#durations[bucket] ?? 0) + 1;
  }

  fail(reason: string): void {
    this.#failed += 1;
    this.#errors.set(reason, (this.#errors.get(reason) ?? 0) + 1);
  }

  /** Adds what another has counted. */
  add(other: Tally): void {
    this.#failed += other.#failed;
    this.#answered += other.#answered;
    for (const [who, n] of other.#answers) this.#answers.set(who, (this.#answers.get(who) ?? 0) + n);
    for (const [why, n] of other.#errors) this.#errors.set(why, (this.#errors.get(why) ?? 0) + n);
    other.#durations.forEach((n, i) => {
      this.#durations[i] = (this.#durations[i] ?? 0) + n;
    });
  }

  static from(state: TallyState): Tally {
    const tally = new Tally();
    for (const [who, n] of Object.entries(state.answers)) {
      tally.#answers.set(who, n);
      tally.#answered += n;
    }
    for (const [why, n] of Object.entries(state.errors)) {
      tally.#errors.set(why, n);
      tally.#failed += n;
    }
    for (const [bucket, n] of state.durations) if (bucket < buckets) tally.#durations[bucket] = n;
    return tally;
  }

  toJSON(): TallyState {
    const durations = [...this.#durations].flatMap((n, i) => (n > 0 ? [[i, n] as const] : []));
    return {
      answers: Object.fromEntries(this.#answers),
      errors: Object.fromEntries(this.#errors),
      durations,
    };
  }

  /** Upper edge of the bucket in which the share `q` of all answered requests is reached. */
  percentile(q: number): number | null {
    if (this.#answered === 0) return null;
    const rank = Math.max(1, Math.ceil(q * this.#answered));
    let seen = 0;
    for (let i = 0; i < buckets; i++) {
      seen += this.#durations[i] ?? 0;
      if (seen >= rank) return Number((first * growth ** (i + 1)).toPrecision(3));
    }
    return null;
  }

  get result(): LoadResult {
    const sorted = (map: ReadonlyMap<string, number>): Record<string, number> =>
      Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
    return {
      requests: this.#answered + this.#failed,
      failed: this.#failed,
      answers: sorted(this.#answers),
      errors: sorted(this.#errors),
      p50: this.percentile(0.5),
      p99: this.percentile(0.99),
    };
  }
}
