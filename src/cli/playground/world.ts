import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from './cluster.ts';
import { ControlPlane } from './control-plane.ts';
import { Network } from './network.ts';
import type { PodOptions } from './pod.ts';
import type { PodPort } from './pod-objects.ts';
import { Supervisor } from './supervisor.ts';

const examplesFolder = join(import.meta.dirname, '..', '..', '..', 'examples');

/** What is applied where, in this order. */
const applied: readonly { readonly file: string; readonly clusters: readonly string[] }[] = [
  { file: 'gateway-class.yaml', clusters: ['east', 'west'] },
  { file: 'clusterip/web.yaml', clusters: ['east'] },
  { file: 'store/store.yaml', clusters: ['east', 'west'] },
  { file: 'canary/checkout.yaml', clusters: ['east'] },
  { file: 'remote-only/consumer.yaml', clusters: ['east'] },
  { file: 'remote-only/provider.yaml', clusters: ['west'] },
  { file: 'udp/clock.yaml', clusters: ['east', 'west'] },
];

const tcp = (port: number): readonly PodPort[] => [{ name: 'http', port, protocol: 'TCP' }];
const udp = (port: number): readonly PodPort[] => [{ name: 'time', port, protocol: 'UDP' }];

/** Pods that the examples expect. `client` runs nothing: commands are run in it. */
const workloads: Readonly<Record<string, readonly Omit<PodOptions, 'namespace'>[]>> = {
  east: [
    { name: 'client', node: 'e1', ports: [] },
    { name: 'web-0', node: 'e1', labels: { app: 'web' }, ports: tcp(8080) },
    { name: 'web-1', node: 'e2', labels: { app: 'web' }, ports: tcp(8080) },
    { name: 'store-0', node: 'e1', labels: { app: 'store' }, ports: tcp(8080) },
    { name: 'store-1', node: 'e2', labels: { app: 'store' }, ports: tcp(8080) },
    { name: 'store-2', node: 'e1', labels: { app: 'store' }, ports: tcp(8080) },
    { name: 'checkout-v1-0', node: 'e1', labels: { app: 'checkout', version: 'v1' }, ports: tcp(8080) },
    { name: 'checkout-v2-0', node: 'e2', labels: { app: 'checkout', version: 'v2' }, ports: tcp(8080) },
    { name: 'clock-0', node: 'e2', labels: { app: 'clock' }, ports: udp(8123) },
  ],
  west: [
    { name: 'client', node: 'w1', ports: [] },
    { name: 'store-0', node: 'w1', labels: { app: 'store' }, ports: tcp(8080) },
    { name: 'store-1', node: 'w2', labels: { app: 'store' }, ports: tcp(8080) },
    { name: 'ledger-0', node: 'w1', labels: { app: 'ledger' }, ports: tcp(9090) },
    { name: 'ledger-1', node: 'w2', labels: { app: 'ledger' }, ports: tcp(9090) },
    { name: 'clock-0', node: 'w1', labels: { app: 'clock' }, ports: udp(8123) },
  ],
};

export interface WorldOptions {
  /** Folder for the processes' logs; default: one that goes with the sandbox. */
  readonly logs?: string;
  /** Something stands: what, and after how many milliseconds. */
  readonly onStanding: (name: string, what: string, ms: number) => void;
  readonly onDeath: (name: string, how: string, lastLines: readonly string[]) => void;
  /** A process that died was started again and is ready. */
  readonly onReturn: (name: string) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

/** Two clusters with their workloads and their control plane, all of them running. */
export class World {
  readonly network: Network;
  readonly east: Cluster;
  readonly west: Cluster;
  readonly supervisor: Supervisor;

  private constructor(network: Network, east: Cluster, west: Cluster, supervisor: Supervisor) {
    this.network = network;
    this.east = east;
    this.west = west;
    this.supervisor = supervisor;
  }

  static async create(options: WorldOptions): Promise<World> {
    const started = options.now();
    const network = await Network.create({ root: '/run/causeway' });
    const [east, west] = await Promise.all([
      network.addCluster('east', { region: 'eu' }),
      network.addCluster('west', { region: 'us' }),
    ]);
    const logs = options.logs ?? join(network.root, 'log');
    const { onDeath, onReturn } = options;
    const supervisor = new Supervisor({ logs, onDeath, onReturn });
    const world = new World(network, east, west, supervisor);
    await Promise.all([
      ...['e1', 'e2'].map((node) => east.addNode(node, { zone: 'eu-1' })),
      ...['w1', 'w2'].map((node) => west.addNode(node, { zone: 'us-1' })),
    ]);
    world.#applyExamples();
    const plane = await ControlPlane.create(network);
    const standing = (name: string, what: string): void =>
      options.onStanding(name, what, options.now() - started);
    const relay = plane
      .relay(network)
      .then((spec) => supervisor.start(spec))
      .then(() => standing('relay', 'mutual TLS, set "demo"'));
    const clusters = [east, west].map((cluster) =>
      world.#startCluster(plane, cluster).then((what) => standing(cluster.name, what)),
    );
    await Promise.all([relay, ...clusters]);
    return world;
  }

  #applyExamples(): void {
    for (const { file, clusters } of applied) {
      for (const name of clusters)
        this.cluster(name).objects.writeText(`examples/${file}`, readExample(file));
    }
  }

  async #startCluster(plane: ControlPlane, cluster: Cluster): Promise<string> {
    const nodes = [...cluster.nodes.keys()].sort();
    const pods = Promise.all(this.workloads(cluster.name).map((pod) => cluster.addPod(pod)));
    await this.supervisor.start(await plane.controller(cluster));
    const dataPlane = [plane.dns(cluster), ...nodes.map((node) => plane.agent(cluster, node))];
    await Promise.all([pods, ...dataPlane.map(async (spec) => this.supervisor.start(await spec))]);
    return `controller · dns · agents ${nodes.join(' ')} · ${cluster.pods.size} pods`;
  }

  workloads(cluster: string): readonly PodOptions[] {
    return (workloads[cluster] ?? []).map((pod) => ({ namespace: 'shop', ...pod }));
  }

  cluster(name: string): Cluster {
    const cluster = this.network.clusters.get(name);
    if (!cluster) throw new Error(`no cluster is called ${name}`);
    return cluster;
  }

  /** The node that a pod runs or ran on; `who` is what the pod answers, `<cluster>/<pod>`. */
  nodeOf(who: string): string {
    const [cluster = '', pod = ''] = who.split('/');
    return this.network.clusters.get(cluster)?.placements.get(pod) ?? '';
  }

  /** A change of an example in one cluster: the text as it was applied, with every `from` replaced by `to`. */
  changeExample(cluster: Cluster, file: string, changes: readonly (readonly [string, string])[]): void {
    let text = readExample(file);
    for (const [from, to] of changes) {
      if (!text.includes(from)) throw new Error(`examples/${file} has no ${JSON.stringify(from)}`);
      text = text.replaceAll(from, to);
    }
    cluster.objects.writeText(`examples/${file}`, text);
  }

  async close(): Promise<void> {
    for (const name of this.supervisor.names) await this.supervisor.kill(name);
    await this.network.close();
  }
}

const readExample = (file: string): string => readFileSync(join(examplesFolder, file), 'utf8');
