import { setTimeout as wait } from 'node:timers/promises';
import type { Cluster } from '../src/cli/playground/cluster.ts';
import { ControlPlane, type RoleFlags, relayAddress } from '../src/cli/playground/control-plane.ts';
import { Network } from '../src/cli/playground/network.ts';
import { gatewayState } from '../src/cli/playground/status-folder.ts';
import { Supervisor } from '../src/cli/playground/supervisor.ts';
import { gatewayClass } from '../test/sandbox/case-objects.ts';

export interface BenchWorldOptions {
  /** Cluster → its nodes. */
  readonly clusters: Readonly<Record<string, readonly string[]>>;
  readonly flags?: RoleFlags;
}

/** Clusters in this sandbox, and the processes of their control plane: those that a bench starts. */
export class BenchWorld {
  readonly network: Network;
  readonly plane: ControlPlane;
  readonly supervisor: Supervisor;

  private constructor(network: Network, plane: ControlPlane, supervisor: Supervisor) {
    this.network = network;
    this.plane = plane;
    this.supervisor = supervisor;
  }

  static async create({ clusters, flags = {} }: BenchWorldOptions): Promise<BenchWorld> {
    const network = await Network.create({ root: '/run/causeway/bench' });
    for (const name of Object.keys(clusters)) {
      const cluster = await network.addCluster(name);
      cluster.objects.write('class.yaml', gatewayClass);
      cluster.addNamespace('shop');
    }
    const onDeath = (name: string, how: string, lines: readonly string[]): void => {
      throw new Error([`${name} ended: ${how}`, ...lines].join('\n  '));
    };
    const supervisor = new Supervisor({ logs: '/run/causeway/bench/log', onDeath });
    const world = new BenchWorld(network, await ControlPlane.create(network, flags), supervisor);
    for (const [name, nodes] of Object.entries(clusters)) {
      for (const node of nodes) await world.cluster(name).addNode(node);
    }
    return world;
  }

  cluster(name: string): Cluster {
    const cluster = this.network.clusters.get(name);
    if (!cluster) throw new Error(`no cluster is called ${name}`);
    return cluster;
  }

  /** These resolve once it is ready, with its name. `relay`: which one it dials; default: the hub. */
  async startController(
    cluster: string,
    { timeoutMs, relay = relayAddress }: { readonly timeoutMs?: number; readonly relay?: string } = {},
  ): Promise<string> {
    const spec = await this.plane.controller(this.cluster(cluster));
    const command = spec.command.map((word) => (word === relayAddress ? relay : word));
    return this.#start({ ...spec, command }, timeoutMs);
  }

  async startAgent(cluster: string, node: string, timeoutMs?: number): Promise<string> {
    return this.#start(await this.plane.agent(this.cluster(cluster), node), timeoutMs);
  }

  async startDns(cluster: string): Promise<string> {
    return this.#start(await this.plane.dns(this.cluster(cluster)));
  }

  async startRelay(): Promise<string> {
    return this.#start(await this.plane.relay(this.network));
  }

  async #start(spec: Parameters<Supervisor['start']>[0], timeoutMs?: number): Promise<string> {
    await this.supervisor.start(spec, timeoutMs);
    return spec.name;
  }

  /** The metrics of a process; empty while it does not answer, as one may that is busy. */
  async metrics(name: string): Promise<string> {
    const { origin } = new URL(this.supervisor.spec(name).readyUrl);
    try {
      return await (await fetch(`${origin}/metrics`)).text();
    } catch {
      return '';
    }
  }

  /** Resolves with a Gateway's address once it has one; `programmed`: once nodes hold it. */
  async address(cluster: string, name: string, programmed = false): Promise<string> {
    const { stateDir } = this.cluster(cluster);
    return eventually(`Gateway ${name} of ${cluster} has an address`, () => {
      const state = gatewayState(stateDir, 'shop', name);
      return programmed && !state.programmed ? undefined : state.addresses[0];
    });
  }

  async close(): Promise<void> {
    for (const name of this.supervisor.names) await this.supervisor.kill(name);
    await this.network.close();
  }
}

/** Asks each 20 ms until there is an answer; throws after `timeoutMs`. */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  timeoutMs = 120_000,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
    await wait(20);
  }
}
