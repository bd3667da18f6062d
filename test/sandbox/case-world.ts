import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { Cluster } from '../../src/cli/playground/cluster.ts';
import { ControlPlane, type RoleFlags } from '../../src/cli/playground/control-plane.ts';
import type { LoadPlan } from '../../src/cli/playground/load-plan.ts';
import { type Load, startLoad } from '../../src/cli/playground/load-process.ts';
import type { Namespace } from '../../src/cli/playground/namespace.ts';
import { Network } from '../../src/cli/playground/network.ts';
import type { Pod, PodOptions } from '../../src/cli/playground/pod.ts';
import { type Condition, readStatus, type StatusFields } from '../../src/cli/playground/status-folder.ts';
import { type ProcessSpec, Supervisor } from '../../src/cli/playground/supervisor.ts';
import { type LoadResult, Tally } from '../../src/cli/playground/tally.ts';
import { readTable } from '../../src/outputs/nft/parse.ts';
import { spawnRunner } from '../../src/outputs/nft/runner.ts';
import type { Table } from '../../src/outputs/nft/table.ts';
import { trace } from '../../src/outputs/nft/trace.ts';
import { gatewayClass } from './case-objects.ts';
import { DnsClient } from './dns-client.ts';

export interface ClusterSetup {
  readonly nodes: readonly string[];
  /** Runs dns and an agent on every node; default: the controller only. */
  readonly dataPlane?: boolean;
  readonly networkId?: string;
  /** Of its controller's certificate. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly region?: string;
}

export interface CaseOptions {
  readonly clusters: Readonly<Record<string, ClusterSetup>>;
  readonly flags?: RoleFlags;
  /** What is put between node and our program, in every process. */
  readonly nodeFlags?: readonly string[];
  /** What is there before any process of the control plane is. Default start: everything, each once it is ready. */
  readonly prepare: (world: CaseWorld) => Promise<void> | void;
  readonly start?: (world: CaseWorld) => Promise<void>;
}

const deadlineMs = 60_000;

/** Clusters with pods and a control plane, all of it real: namespaces, processes, the kernel's tables. */
export class CaseWorld {
  readonly network: Network;
  readonly plane: ControlPlane;
  readonly supervisor: Supervisor;
  /** Processes that ended and should not have. */
  readonly deaths: string[];
  readonly #nodeFlags: readonly string[];

  private constructor(
    network: Network,
    plane: ControlPlane,
    supervisor: Supervisor,
    deaths: string[],
    nodeFlags: readonly string[],
  ) {
    this.network = network;
    this.plane = plane;
    this.supervisor = supervisor;
    this.deaths = deaths;
    this.#nodeFlags = nodeFlags;
  }

  static async create({
    clusters,
    flags = {},
    nodeFlags = [],
    prepare,
    start,
  }: CaseOptions): Promise<CaseWorld> {
    const network = await Network.create({ root: '/run/causeway/case' });
    for (const [name, { networkId, region }] of Object.entries(clusters)) {
      const cluster = await network.addCluster(name, {
        ...(networkId === undefined ? {} : { networkId }),
        ...(region === undefined ? {} : { region }),
      });
      cluster.objects.write('class.yaml', gatewayClass);
      cluster.addNamespace('shop');
    }
    const deaths: string[] = [];
    const supervisor = new Supervisor({
      logs: '/run/causeway/case/log',
      onDeath: (name, how, lines) => deaths.push([`${name}: ${how}`, ...lines].join('\n  ')),
    });
    const labels = Object.fromEntries(
      Object.entries(clusters).map(([name, setup]) => [name, setup.labels ?? {}]),
    );
    const plane = await ControlPlane.create(network, flags, labels);
    const world = new CaseWorld(network, plane, supervisor, deaths, nodeFlags);
    try {
      for (const [name, { nodes }] of Object.entries(clusters)) {
        for (const node of nodes) await world.cluster(name).addNode(node);
      }
      await prepare(world);
      await (start ? start(world) : world.startAll(clusters));
    } catch (error) {
      console.error(world.describe());
      await world.close();
      throw error;
    }
    return world;
  }

  async startAll(clusters: CaseOptions['clusters']): Promise<void> {
    const start = async (name: string): Promise<void> => {
      const setup = clusters[name];
      await this.startController(name);
      if (!setup?.dataPlane) return;
      await Promise.all([this.startDns(name), ...setup.nodes.map((node) => this.startAgent(name, node))]);
    };
    await Promise.all([this.startRelay(), ...Object.keys(clusters).map(start)]);
  }

  async startRelay(): Promise<void> {
    await this.#start(await this.plane.relay(this.network));
  }

  async startController(cluster: string): Promise<void> {
    await this.#start(await this.plane.controller(this.cluster(cluster)));
  }

  async startDns(cluster: string): Promise<void> {
    await this.#start(await this.plane.dns(this.cluster(cluster)));
  }

  async startAgent(cluster: string, node: string): Promise<void> {
    await this.#start(await this.plane.agent(this.cluster(cluster), node));
  }

  #start(spec: ProcessSpec): Promise<void> {
    const [node = '', ...program] = spec.command;
    return this.supervisor.start({ ...spec, command: [node, ...this.#nodeFlags, ...program] });
  }

  cluster(name: string): Cluster {
    const cluster = this.network.clusters.get(name);
    if (!cluster) throw new Error(`no cluster is called ${name}`);
    return cluster;
  }

  /** Pods `<app>-0`, `<app>-1`, … with the label `app`, one for each of `nodes`. */
  addPods(
    cluster: string,
    app: string,
    nodes: readonly string[],
    more: Partial<PodOptions> = {},
  ): Promise<readonly Pod[]> {
    const add = (node: string, i: number): Promise<Pod> =>
      this.cluster(cluster).addPod({
        namespace: 'shop',
        name: `${app}-${i}`,
        node,
        labels: { app },
        ...more,
      });
    return Promise.all(nodes.map(add));
  }

  /** A pod in which nothing runs. */
  addClient(cluster: string, node: string): Promise<Pod> {
    return this.cluster(cluster).addPod({ namespace: 'shop', name: `client-${node}`, node, ports: [] });
  }

  pod(cluster: string, name: string): Pod {
    const pod = this.cluster(cluster).pods.get(`shop/${name}`);
    if (!pod) throw new Error(`cluster ${cluster} has no pod ${name}`);
    return pod;
  }

  /** `/debug/…`, `/metrics` or `/readyz` of a process, with the status code where it is not 200. */
  async page(process: string, path: string): Promise<string> {
    const { origin } = new URL(this.supervisor.spec(process).readyUrl);
    const response = await fetch(`${origin}${path}`, { signal: AbortSignal.timeout(10_000) });
    const text = await response.text();
    return response.ok ? text : `${response.status} ${text}`;
  }

  /** A metric's value, without the prefix `causeway_`; undefined: there is none with these labels. */
  async metric(
    process: string,
    name: string,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<number | undefined> {
    const lines = (await this.page(process, '/metrics')).split('\n');
    const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
    const line = lines.find(
      (l) => new RegExp(`^causeway_${name}[ {]`).test(l) && wanted.every((w) => l.includes(w)),
    );
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
  }

  status(cluster: string, kind: string, name: string): StatusFields {
    return readStatus(this.cluster(cluster).stateDir, kind, 'shop', name);
  }

  condition(cluster: string, kind: string, name: string, type: string): Condition | undefined {
    return this.status(cluster, kind, name).conditions?.find((c) => c.type === type);
  }

  /** `<state> <reason>` of `of`, as `cluster` shows it on its composite. */
  standing(cluster: string, composite: string, of: string): string {
    const found = this.status(cluster, 'CompositeBackend', composite).clusters?.find((c) => c.name === of);
    return found ? `${found.state} ${found.reason}` : 'not shown';
  }

  /** The address of a Gateway. */
  vip(cluster: string, name: string): string {
    return this.status(cluster, 'Gateway', name).addresses?.[0]?.value ?? '';
  }

  /** Resolves with the address once the nodes hold it. */
  async programmed(cluster: string, name: string): Promise<string> {
    await until(`Gateway ${name} of ${cluster} is Programmed`, () => {
      expect(this.condition(cluster, 'Gateway', name, 'Programmed')).toMatchObject({ status: 'True' });
    });
    return this.vip(cluster, name);
  }

  dns(cluster: string): DnsClient {
    return new DnsClient(this.cluster(cluster).plan.control.v4);
  }

  /** What the kernel of a node lists as our table. */
  async table(cluster: string, node: string): Promise<Table> {
    const { name } = this.cluster(cluster).node(node).namespace;
    const table = await readTable(spawnRunner({ command: ['nsenter', `--net=/run/netns/${name}`, 'nft'] }));
    if (!table) throw new Error(`node ${node} has no table of ours`);
    return table;
  }

  /** Where a pod's new connections to an address end, by the kernel's table of a node: `<address>:<port>`, sorted. */
  async targets(
    cluster: string,
    node: string,
    address: string,
    port = 80,
    protocol: 'tcp' | 'udp' = 'tcp',
  ): Promise<readonly string[]> {
    return [...(await this.shares(cluster, node, address, port, protocol)).keys()];
  }

  /** As `targets`, with the share of new connections that each gets. */
  async shares(
    cluster: string,
    node: string,
    address: string,
    port = 80,
    protocol: 'tcp' | 'udp' = 'tcp',
  ): Promise<ReadonlyMap<string, number>> {
    const from = { kind: 'pod', address: this.cluster(cluster).plan.pod(99, 99).v4 } as const;
    const ends = trace(await this.table(cluster, node), { from, to: { address, port, protocol } });
    const shares = ends.map((end): [string, number] => [
      end.result === 'endpoint' ? `${end.address}:${end.port}` : end.result,
      end.share,
    ]);
    return new Map(shares.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Each node's table leads to exactly these. */
  async leadsTo(
    cluster: string,
    address: string,
    wanted: readonly string[],
    { port = 80, protocol = 'tcp' as 'tcp' | 'udp' } = {},
  ): Promise<void> {
    const sorted = [...wanted].sort();
    for (const node of this.cluster(cluster).nodes.keys()) {
      await until(`${address}:${port} on ${node} leads to ${sorted.join(' ') || 'nothing'}`, async () => {
        expect(await this.targets(cluster, node, address, port, protocol)).toEqual(sorted);
      });
    }
  }

  /** For people: how everything stands. */
  describe(): string {
    const lines = this.supervisor.names.flatMap((name) => [
      `── ${name}${this.supervisor.alive(name) ? '' : ' (not running)'}`,
      ...this.supervisor.tail(name, 12),
    ]);
    const statuses = [...this.network.clusters.values()].flatMap(({ name, stateDir }) =>
      ['Gateway', 'CompositeBackend'].flatMap((kind) => {
        const folder = join(stateDir, 'status', kind);
        const files = existsSync(folder) ? readdirSync(folder) : [];
        return files.map((file) => `── ${name} ${kind}\n${readFileSync(join(folder, file), 'utf8')}`);
      }),
    );
    return [...lines, ...statuses].join('\n');
  }

  async close(): Promise<void> {
    for (const name of this.supervisor.names) await this.supervisor.kill(name);
    await this.network.close();
  }
}

/** A world for the tests of a file. After a test that failed its processes' last words are shown. */
export function caseWorld(options: CaseOptions): () => CaseWorld {
  let world: CaseWorld | undefined;
  const get = (): CaseWorld => {
    if (!world) throw new Error('the world does not stand');
    return world;
  };
  beforeAll(async () => {
    world = await CaseWorld.create(options);
  });
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') console.error(`${task.name}\n${get().describe()}`);
    expect(get().deaths.splice(0)).toEqual([]);
  });
  afterAll(() => world?.close());
  return get;
}

/** Tries until it throws no more; the last error is told when it does not come true in time. */
export async function until(what: string, check: () => Promise<void> | void): Promise<void> {
  const started = Date.now();
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (Date.now() - started > deadlineMs)
        throw new Error(`not within ${deadlineMs / 1000} s: ${what}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** New connections all the time, 100 in a second, until it is stopped. */
export class Traffic {
  readonly #load: Load;
  #recent = new Tally();
  #requests = 0;

  private constructor(host: Namespace, plan: LoadPlan) {
    this.#load = startLoad(host, plan, (delta) => {
      this.#recent.add(delta);
      this.#requests += delta.result.requests;
    });
  }

  /** Resolves when the first answers have come. */
  static async start(
    host: Namespace,
    to: Pick<LoadPlan, 'host' | 'port'> & Partial<LoadPlan>,
  ): Promise<Traffic> {
    const traffic = new Traffic(host, { protocol: 'TCP', rate: 100, everyMs: 100, timeoutMs: 10_000, ...to });
    await traffic.flows(10);
    return traffic;
  }

  /** Resolves once so many more requests are done. */
  async flows(requests: number): Promise<void> {
    const wanted = this.#requests + requests;
    await until(`${requests} requests more`, () => expect(this.#requests).toBeGreaterThanOrEqual(wanted));
  }

  /** What happened since it was asked last. */
  recent(): LoadResult {
    const { result } = this.#recent;
    this.#recent = new Tally();
    return result;
  }

  /** Resolves once nothing else than these has answered for a while. */
  async comesOnlyFrom(pods: readonly Pod[]): Promise<void> {
    const wanted = new Set(pods.map((pod) => pod.answer));
    await until(`answers come from ${[...wanted].join(' ')} only`, async () => {
      this.recent();
      await this.flows(Math.max(30, 12 * wanted.size));
      expect(new Set(Object.keys(this.recent().answers))).toEqual(wanted);
    });
  }

  /** Ends it after the requests in flight. */
  stop(): Promise<LoadResult> {
    return this.#load.stop();
  }

  /** Ends it, and expects that nothing failed. */
  async endsWithoutFailure(): Promise<LoadResult> {
    const result = await this.stop();
    expect(result.errors).toEqual({});
    expect(result.failed).toBe(0);
    expect(result.requests).toBeGreaterThan(0);
    return result;
  }
}
