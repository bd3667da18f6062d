import { setTimeout as wait } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import type { LoadPlan } from './load-plan.ts';
import { type Load, startLoad } from './load-process.ts';
import type { Namespace } from './namespace.ts';
import type { Pod } from './pod.ts';
import { matchesShares } from './proportions.ts';
import type { SceneRecord } from './scene-record.ts';
import { compositeStates, gatewayState } from './status-folder.ts';
import { type LoadResult, Tally } from './tally.ts';
import type { World } from './world.ts';

/** What is asked, as in a `LoadPlan`. */
export type Question = Pick<LoadPlan, 'host' | 'port' | 'protocol'>;

/** How long the world may take to become what a scene waits for. A figure of how long it takes is shown, not judged. */
const deadlineMs = 45_000;
const deltaMs = 200;
/** Requests per second: below what a client can do, so that it does not measure its own queue. */
const measureRate = 500;
const backgroundRate = 200;

/** Clients that run on while a scene changes things. */
export interface Background {
  /** What was answered since the last call of `recent`. */
  recent(): Tally;
  /** When one of these answered last, as far as is known; undefined: never. */
  lastAnswer(who: readonly string[]): number | undefined;
  stop(): Promise<LoadResult>;
}

/** What scenes are made of. Everything done on it is recorded. */
export class Stage {
  readonly world: World;
  readonly record: SceneRecord;
  readonly #signal: AbortSignal;
  readonly #now: () => number;

  /** `signal`: the scene is over, whatever it was waiting for. */
  constructor(world: World, record: SceneRecord, signal: AbortSignal, now: () => number) {
    this.world = world;
    this.record = record;
    this.#signal = signal;
    this.#now = now;
  }

  get now(): number {
    return this.#now();
  }

  client(cluster: Cluster): Namespace {
    const pod = cluster.pods.get('shop/client');
    if (!pod) throw new Error(`cluster ${cluster.name} has no client`);
    return pod.host;
  }

  /** Sends `requests` from a cluster's client and shows who answers. `when`: for people, at which point. */
  async measure(cluster: Cluster, question: Question, requests: number, when = ''): Promise<LoadResult> {
    this.record.doing = `${requests} ${unitOf(question)} from ${cluster.name}`;
    const tally = this.record.addTraffic(clientTitle(cluster, when), unitOf(question));
    const load = this.#start(
      cluster,
      { ...question, requests, rate: measureRate, everyMs: deltaMs },
      (delta) => tally.add(delta),
    );
    return await load.done;
  }

  /** Keeps sending from a cluster's client until it is stopped. */
  background(cluster: Cluster, question: Question, when = ''): Background {
    const tally = this.record.addTraffic(clientTitle(cluster, when), unitOf(question));
    let recent = new Tally();
    const last = new Map<string, number>();
    const load = this.#start(cluster, { ...question, rate: backgroundRate, everyMs: deltaMs }, (delta) => {
      tally.add(delta);
      recent.add(delta);
      for (const who of Object.keys(delta.result.answers)) last.set(who, this.#now());
    });
    return {
      recent: () => {
        const seen = recent;
        recent = new Tally();
        return seen;
      },
      lastAnswer: (who) => {
        const times = who.flatMap((name) => last.get(name) ?? []);
        return times.length === 0 ? undefined : Math.max(...times);
      },
      stop: () => load.stop(),
    };
  }

  #start(cluster: Cluster, plan: LoadPlan, onDelta: (delta: Tally) => void): Load {
    const load = startLoad(this.client(cluster), plan, onDelta);
    this.#signal.addEventListener('abort', () => void load.stop().catch(() => {}), { once: true });
    return load;
  }

  /**
   * Asks, off the record, until answers come in these shares and nothing fails: changes have arrived. Expects
   * that it happens in time.
   */
  async settle(
    cluster: Cluster,
    question: Question,
    shares: Readonly<Record<string, number>>,
  ): Promise<void> {
    const names = Object.keys(shares).filter((name) => (shares[name] ?? 0) > 0);
    const what = `${question.host} leads to ${names.join(', ')}`;
    let last: LoadResult | undefined;
    const settled = await this.until(what, async () => {
      const plan = { ...question, requests: 40 * names.length, timeoutMs: 1_000 };
      last = await startLoad(this.client(cluster), plan).done;
      return last.failed === 0 && matchesShares(last.answers, shares);
    });
    if (settled === undefined) {
      const found = `${JSON.stringify(last?.answers ?? {})}, failed ${JSON.stringify(last?.errors ?? {})}`;
      this.record.expect(`${what} within ${deadlineMs / 1_000} s`, false, found);
    }
  }

  /** Tries until it holds. Resolves with the milliseconds it took; undefined: it did not come true in time. */
  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<number | undefined> {
    const started = this.#now();
    this.record.doing = `waiting until ${what}`;
    while (this.#now() - started < deadlineMs) {
      this.#signal.throwIfAborted();
      if (await holds()) return this.#now() - started;
      await wait(100, undefined, { signal: this.#signal });
    }
    return undefined;
  }

  /** As `until`; a note says how long it took, and not coming true in time is a failed expectation. */
  async expectSoon(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const took = await this.until(what, holds);
    if (took === undefined) this.record.expect(`${what} within ${deadlineMs / 1_000} s`, false, 'it did not');
    else this.record.notes.push(`${what}: after ${seconds(took)}`);
  }

  /** Waits until a pod answers the background traffic. */
  expectAnswers(background: Background, pod: Pod): Promise<void> {
    return this.expectSoon(
      `${pod.answer} answers`,
      () => (background.recent().result.answers[pod.answer] ?? 0) > 0,
    );
  }

  /**
   * Takes pods away as a kubelet does: they terminate and still serve; once traffic has left them their processes
   * are killed.
   */
  async takeAway(background: Background, pods: readonly Pod[]): Promise<void> {
    const started = this.#now();
    for (const pod of pods) pod.terminate();
    const names = pods.map((pod) => pod.answer);
    const shown = names.length > 2 ? `${names.length} pods` : names.join(', ');
    let quiet = 0;
    const left = await this.until(`${shown}, terminating, get no more traffic`, async () => {
      await wait(2 * deltaMs, undefined, { signal: this.#signal });
      const { answers, requests } = background.recent().result;
      const asked = names.some((name) => (answers[name] ?? 0) > 0);
      quiet = asked || requests === 0 ? 0 : quiet + 1;
      return quiet >= 2;
    });
    if (left === undefined) this.record.expect(`traffic leaves ${shown}, terminating`, false, 'it did not');
    else {
      const last = Math.max(0, (background.lastAnswer(names) ?? started) - started);
      this.record.notes.push(`${shown} terminating: asked last after ${seconds(last)}, then killed`);
    }
    await Promise.all(pods.map((pod) => pod.cluster.removePod(pod)));
  }

  /** Lets time pass while traffic flows. */
  async pass(ms: number, what: string): Promise<void> {
    this.record.doing = what;
    await wait(ms, undefined, { signal: this.#signal });
  }

  /** Waits for a Gateway's status to say Programmed, and shows its address. */
  async expectProgrammed(cluster: Cluster, gateway: string): Promise<void> {
    const read = () => gatewayState(cluster.stateDir, 'shop', gateway);
    const what = `Gateway shop/${gateway} of ${cluster.name} is Programmed`;
    const took = await this.until(what, () => read().programmed);
    if (took === undefined) this.record.expect(what, false, read().message);
    else this.record.notes.push(`${what}, ${read().addresses.join(', ')}`);
  }

  /** The state of one cluster as another's composite shows it in its status; undefined: it shows none. */
  compositeState(viewer: Cluster, composite: string, cluster: string): string | undefined {
    return compositeStates(viewer.stateDir, 'shop', composite)[cluster];
  }

  expectNoFailure(result: LoadResult, what = 'nothing failed'): void {
    this.record.expect(what, result.failed === 0, failures(result));
  }

  /** Answers come in these shares, and nothing failed. */
  expectShares(text: string, result: LoadResult, shares: Readonly<Record<string, number>>): void {
    const holds = result.failed === 0 && matchesShares(result.answers, shares);
    this.record.expect(
      `${text}; nothing failed`,
      holds,
      `${JSON.stringify(result.answers)}, ${failures(result)}`,
    );
  }
}

const failures = ({ failed, requests, errors }: LoadResult): string =>
  `${failed} of ${requests} failed ${failed > 0 ? JSON.stringify(errors) : ''}`.trim();

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const clientTitle = (cluster: Cluster, when: string): string =>
  when === '' ? `client in ${cluster.name}` : `client in ${cluster.name}, ${when}`;

const unitOf = (question: Question): string => (question.protocol === 'UDP' ? 'datagrams' : 'connections');
