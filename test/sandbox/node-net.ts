import type { Cluster } from '../../src/cli/playground/cluster.ts';
import type { ClusterNode } from '../../src/cli/playground/cluster-node.ts';
import type { LoadPlan } from '../../src/cli/playground/load-plan.ts';
import { startLoad } from '../../src/cli/playground/load-process.ts';
import type { Namespace } from '../../src/cli/playground/namespace.ts';
import { Network } from '../../src/cli/playground/network.ts';
import type { Pod } from '../../src/cli/playground/pod.ts';
import { runCommand } from '../../src/cli/playground/run-command.ts';
import type { LoadResult } from '../../src/cli/playground/tally.ts';
import { NftOutput, type NftOutputOptions } from '../../src/outputs/nft/apply.ts';
import { type NftRunner, spawnRunner } from '../../src/outputs/nft/runner.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLog } from '../../src/runtime/log.ts';
import { Metrics } from '../../src/runtime/metrics.ts';

/** A node with pods, a second node beside it, and a client outside the cluster; no control plane. */
export class NodeNet {
  readonly network: Network;
  readonly cluster: Cluster;
  readonly node: ClusterNode;
  readonly pods: readonly Pod[];
  readonly remote: Pod;

  private constructor(network: Network, cluster: Cluster, pods: readonly Pod[], remote: Pod) {
    this.network = network;
    this.cluster = cluster;
    this.node = cluster.node('e1');
    this.pods = pods;
    this.remote = remote;
  }

  /** Three pods on the node under test, one on the other. All listen on TCP 8080 and 9090, UDP 5353. */
  static async create(name: string): Promise<NodeNet> {
    const network = await Network.create({ root: `/run/causeway/${name}` });
    const cluster = await network.addCluster('east');
    await cluster.addNode('e1', { zone: 'a' });
    await cluster.addNode('e2', { zone: 'b' });
    const ports = [
      { port: 8080, protocol: 'TCP' },
      { port: 9090, protocol: 'TCP' },
      { port: 5353, protocol: 'UDP' },
    ] as const;
    const add = (pod: string, node: string): Promise<Pod> =>
      cluster.addPod({ namespace: 'shop', name: pod, node, ports });
    const [p0, p1, p2, remote] = await Promise.all([
      add('p0', 'e1'),
      add('p1', 'e1'),
      add('p2', 'e1'),
      add('r0', 'e2'),
    ]);
    return new NodeNet(network, cluster, [p0, p1, p2], remote);
  }

  pod(index: number): Pod {
    const pod = this.pods[index];
    if (!pod) throw new Error(`there is no pod ${index}`);
    return pod;
  }

  /** Runs a command on the node, without a resolver of its own. */
  get onNode(): readonly string[] {
    return ['nsenter', `--net=/run/netns/${this.node.namespace.name}`];
  }

  get runner(): NftRunner {
    return spawnRunner({ command: [...this.onNode, 'nft'] });
  }

  output(options: Partial<NftOutputOptions> = {}): NftOutput {
    return new NftOutput({
      node: 'e1',
      cluster: 'east',
      runner: this.runner,
      clock: systemClock,
      log: silentLog,
      metrics: new Metrics(),
      hostAddresses: () => new Set([this.node.address.v4, this.node.address.v6]),
      ...options,
    });
  }

  /** Runs a shell script on the node; throws when it fails. */
  async sh(script: string): Promise<string> {
    const done = await runCommand([...this.onNode, 'sh', '-c', script]);
    if (done.code !== 0) throw new Error(`${script}: ${done.stderr || done.stdout}`);
    return done.stdout;
  }

  /**
   * What the server says to one request: `east/p0 hostname=p0 client=… port=8080`, or why there is no answer:
   * `ECONNREFUSED`, or `timeout` after twice `seconds`.
   */
  async ask(
    from: Namespace,
    protocol: 'TCP' | 'UDP',
    host: string,
    port: number,
    seconds = 10,
  ): Promise<string> {
    const plan = { host, port, protocol, requests: 1, timeoutMs: seconds * 1000 } as const;
    if (protocol === 'TCP') {
      const url = host.includes(':') ? `http://[${host}]:${port}` : `http://${host}:${port}`;
      const done = await from.run(['curl', '-sS', '-m', `${seconds}`, url]);
      if (done.code === 0) return done.stdout.trim();
    } else {
      // Of a burst of datagrams the kernel refuses six, then one each second.
      const script = `exec 3<>/dev/udp/${host}/${port} && echo who >&3 && head -1 <&3`;
      const done = await from.run(['timeout', `${Math.min(seconds, 3)}`, 'bash', '-c', script]);
      if (done.code === 0 && done.stdout !== '') return done.stdout.trim();
    }
    const { answers, errors } = await startLoad(from, plan).done;
    return [...Object.keys(answers), ...Object.keys(errors)].join();
  }

  /** Counts who answered. */
  load(from: Namespace, plan: Omit<LoadPlan, 'protocol'> & Partial<LoadPlan>): Promise<LoadResult> {
    return startLoad(from, { protocol: 'TCP', ...plan }).done;
  }

  /** No table, no connections. */
  async reset(): Promise<void> {
    await this.sh('nft delete table inet causeway 2>/dev/null; conntrack -F 2>/dev/null; true');
  }

  close(): Promise<void> {
    return this.network.close();
  }
}
