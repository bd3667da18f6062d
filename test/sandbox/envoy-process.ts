import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Pod } from '../../src/cli/playground/pod.ts';
import type { CaseWorld } from './case-world.ts';
import { blocksOf } from './running-text.ts';

const document = join(import.meta.dirname, '..', '..', 'docs', 'xds.md');

/** An endpoint as Envoy's `/clusters` shows it. */
interface HostStatus {
  readonly address: { readonly socket_address: { readonly address: string; readonly port_value: number } };
  readonly priority?: number;
}

function shown(part: string): string {
  const block = blocksOf(document).find(({ text }) => text.includes(part));
  if (!block) throw new Error(`docs/xds.md shows no block with ${JSON.stringify(part)}`);
  return block.text;
}

/** Stock Envoy in a pod of cluster east, set up with what docs/xds.md shows, but for its addresses. */
export class EnvoyProcess {
  readonly #world: CaseWorld;

  private constructor(world: CaseWorld) {
    this.#world = world;
  }

  /** Resolves when it has what the controller serves, and VIPs of the pod's own processes lead to it. */
  static async start(world: CaseWorld, pod: Pod): Promise<EnvoyProcess> {
    const program = process.env.CAUSEWAY_ENVOY;
    if (program === undefined) throw new Error('expected the path of Envoy in CAUSEWAY_ENVOY');
    const cluster = world.cluster('east');
    const { cert } = await world.plane.certificate('east', 'proxy', { node: 'edge' });
    const folder = join(world.network.root, 'envoy');
    mkdirSync(join(folder, 'tls'), { recursive: true });
    cpSync(dirname(cert), join(folder, 'tls', 'edge'), { recursive: true });
    const bootstrap = shown('# envoy.yaml\n');
    // Its admin page must be seen from outside the pod.
    const own = bootstrap
      .replace('10.0.1.1', cluster.plan.control.v4)
      .replace('address: 127.0.0.1, port_value: 9901', `address: ${pod.ip}, port_value: 9901`);
    writeFileSync(join(folder, 'envoy.yaml'), own);
    const redirect = shown('table inet envoy');
    const { v4, v6 } = cluster.plan.serviceCidrs;
    const done = await pod.run([
      'sh',
      '-c',
      redirect.replace('10.96.0.0/16', v4).replace('fd00:96::/112', v6),
    ]);
    if (done.code !== 0) throw new Error(`${redirect}\n${done.stderr}`);
    const flags = '--concurrency 1 --disable-hot-restart --drain-time-s 1 --log-level info';
    await world.supervisor.start({
      name: 'envoy',
      host: pod.host,
      readyUrl: `http://${pod.ip}:9901/ready`,
      command: ['sh', '-c', `cd ${folder} && exec ${program} -c envoy.yaml ${flags}`],
    });
    return new EnvoyProcess(world);
  }

  /** `<priority> <address>:<port>` of each endpoint of a back end, sorted; undefined: it has no such Cluster. */
  async endpoints(backend: string): Promise<readonly string[] | undefined> {
    const { cluster_statuses: clusters } = JSON.parse(await this.#page('/clusters?format=json')) as {
      cluster_statuses: { name: string; host_statuses?: HostStatus[] }[];
    };
    return clusters
      .find(({ name }) => name === backend)
      ?.host_statuses?.map(({ address: { socket_address: at }, priority = 0 }) => {
        return `${priority} ${at.address}:${at.port_value}`;
      })
      .sort();
  }

  /** A statistic; undefined: there is none of this name. */
  async stat(name: string): Promise<number | undefined> {
    return (await this.stats(name)).get(name);
  }

  /** Those whose names have this in them. */
  async stats(part: string): Promise<ReadonlyMap<string, number>> {
    const lines = (await this.#page(`/stats?filter=${part}`)).split('\n').filter(Boolean);
    return new Map(
      lines.map((line) => [line.slice(0, line.lastIndexOf(': ')), Number(line.split(': ').at(-1))]),
    );
  }

  /** Everything that it was told. */
  configDump(): Promise<string> {
    return this.#page('/config_dump?include_eds');
  }

  #page(path: string): Promise<string> {
    return this.#world.page('envoy', path);
  }
}
