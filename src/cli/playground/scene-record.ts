import { Tally } from './tally.ts';

/** One table of a scene: who sends, and what came of it so far. */
export interface Traffic {
  /** As `client east/client`. */
  readonly title: string;
  /** `connections` or `datagrams`. */
  readonly unit: string;
  readonly tally: Tally;
}

export interface Expectation {
  readonly text: string;
  readonly holds: boolean;
  /** What was found instead, where it does not hold. */
  readonly found?: string;
}

export interface SceneTitle {
  /** `a` to `h`. */
  readonly letter: string;
  readonly name: string;
  /** What is called and where it leads, as `store.shop.gw.cluster.local:80 → :8080`. */
  readonly subject: string;
}

/** What has happened in a scene so far; the screen shows it while it grows. */
export class SceneRecord {
  readonly title: SceneTitle;
  readonly traffic: Traffic[] = [];
  /** What was done and seen, in order. */
  readonly notes: string[] = [];
  readonly expectations: Expectation[] = [];
  /** What is being waited for. */
  doing = '';
  /** Milliseconds; undefined while it runs. */
  took: number | undefined;

  constructor(title: SceneTitle) {
    this.title = title;
  }

  addTraffic(title: string, unit: string): Tally {
    const tally = new Tally();
    this.traffic.push({ title, unit, tally });
    return tally;
  }

  expect(text: string, holds: boolean, found?: string): void {
    this.expectations.push({ text, holds, ...(holds || found === undefined ? {} : { found }) });
  }

  /** A scene that expects nothing proves nothing. */
  get ok(): boolean {
    return this.expectations.length > 0 && this.expectations.every((e) => e.holds);
  }

  /** For `--json`. */
  outcome(): SceneOutcome {
    const sum = new Tally();
    for (const { tally } of this.traffic) sum.add(tally);
    const { requests, failed, answers, p50, p99 } = sum.result;
    const { letter, name } = this.title;
    return {
      scene: letter,
      name,
      ok: this.ok,
      requests,
      failed,
      answers,
      p50,
      p99,
      expectations: this.expectations,
    };
  }
}

/** Milliseconds for `p50` and `p99`; null where nothing was answered. */
export interface SceneOutcome {
  readonly scene: string;
  readonly name: string;
  readonly ok: boolean;
  readonly requests: number;
  readonly failed: number;
  /** key: `<cluster>/<pod>`. */
  readonly answers: Readonly<Record<string, number>>;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly expectations: readonly Expectation[];
}
