import { join } from 'node:path';
import { CaFolder } from '../../runtime/ca-folder.ts';
import type { PeerRole } from '../../runtime/identity.ts';
import type { TlsFiles } from '../../runtime/tls-files.ts';
import { wanAddress, wanHosts } from './address-plan.ts';
import type { Cluster } from './cluster.ts';
import type { Network } from './network.ts';
import { ObjectFolder } from './object-folder.ts';
import type { ProcessSpec } from './supervisor.ts';

/** The set of clusters that all of them belong to. */
export const set = 'demo';
const causeway = join(import.meta.dirname, '..', '..', '..', 'bin', 'causeway.mjs');
const program = [process.execPath, causeway];
const hub = wanAddress(wanHosts.hub).v4;
/** Where the relay takes its members. */
export const relayAddress = `${hub}:18100`;
const day = 86_400_000;

/** More flags, for every process of a role. */
export type RoleFlags = Partial<Record<'controller' | 'dns' | 'agent', readonly string[]>>;

/** Command lines of the control plane's processes, each with a certificate of its own. */
export class ControlPlane {
  readonly #folder: string;
  readonly #ca: CaFolder;
  readonly #flags: RoleFlags;
  readonly #members: ObjectFolder;
  #certificates = 0;

  private constructor(folder: string, ca: CaFolder, flags: RoleFlags) {
    this.#folder = folder;
    this.#ca = ca;
    this.#flags = flags;
    this.#members = new ObjectFolder(join(folder, 'relay'));
  }

  /** Makes the set's certificate authority under the network's root. */
  static async create(world: Network, flags: RoleFlags = {}): Promise<ControlPlane> {
    const folder = join(world.root, 'set');
    const { ca } = await CaFolder.init(join(folder, 'ca'), set, Date.now());
    return new ControlPlane(folder, ca, flags);
  }

  /** The clusters whose controllers the relay takes; it follows the list. */
  setMembers(clusters: Iterable<string>): void {
    this.#members.write('members.yaml', { members: [...clusters].map((cluster) => ({ cluster })) });
  }

  async relay(world: Network): Promise<ProcessSpec> {
    this.setMembers(world.clusters.keys());
    const tls = await this.certificate('hub', 'relay');
    return {
      name: 'relay',
      host: world.hub,
      readyUrl: `http://${hub}:9100/readyz`,
      command: [
        ...[
          ...program,
          'relay',
          '--name',
          'hub',
          '--set',
          set,
          '--listen',
          relayAddress,
          '--admin',
          `${hub}:9100`,
        ],
        ...['--members', join(this.#members.dir, 'members.yaml'), ...flags(tls)],
      ],
    };
  }

  async controller(cluster: Cluster): Promise<ProcessSpec> {
    const host = cluster.plan.control.v4;
    const { region, networkId } = cluster;
    const tls = await this.certificate(cluster.name, 'controller', { region, network: networkId });
    return {
      name: `${cluster.name} controller`,
      host: cluster.control,
      readyUrl: `http://${host}:9101/readyz`,
      command: [
        ...[...program, 'controller', '--cluster', cluster.name, '--set', set],
        ...['--region', region, '--network', networkId],
        ...['--dir', cluster.objects.dir, '--state', cluster.stateDir],
        ...cluster.serviceCidrs.flatMap((cidr) => ['--service-cidr', cidr]),
        ...['--listen', `${host}:18000`, '--admin', `${host}:9101`, '--relay', relayAddress, ...flags(tls)],
        ...(this.#flags.controller ?? []),
      ],
    };
  }

  async dns(cluster: Cluster): Promise<ProcessSpec> {
    const host = cluster.plan.control.v4;
    const tls = await this.certificate(cluster.name, 'dns');
    return {
      name: `${cluster.name} dns`,
      host: cluster.control,
      readyUrl: `http://${host}:9102/readyz`,
      command: [
        ...[...program, 'dns', '--cluster', cluster.name, '--set', set, '--controller', `${host}:18000`],
        ...['--listen', `${host}:53`, '--admin', `${host}:9102`, ...flags(tls)],
        ...(this.#flags.dns ?? []),
      ],
    };
  }

  async agent(cluster: Cluster, nodeName: string): Promise<ProcessSpec> {
    const node = cluster.node(nodeName);
    const host = node.address.v4;
    const tls = await this.certificate(cluster.name, 'agent', { node: nodeName });
    return {
      name: `${cluster.name} agent ${nodeName}`,
      host: node.namespace,
      readyUrl: `http://${host}:9103/readyz`,
      command: [
        ...[...program, 'agent', '--node', nodeName, '--cluster', cluster.name, '--set', set],
        ...['--controller', `${cluster.plan.control.v4}:18000`, '--admin', `${host}:9103`, ...flags(tls)],
        ...(this.#flags.agent ?? []),
      ],
    };
  }

  /** Issues a certificate, in a folder of its own. */
  certificate(
    cluster: string,
    role: PeerRole,
    more: { node?: string; region?: string; network?: string } = {},
  ): Promise<TlsFiles> {
    const name = [cluster, role, more.node].filter(Boolean).join('-');
    const out = join(this.#folder, 'tls', `${name}-${this.#certificates++}`);
    return this.#ca.issueInto(out, {
      cluster,
      role,
      ...(more.node === undefined ? {} : { node: more.node }),
      labels: {},
      namespaces: ['*'],
      region: more.region ?? '',
      network: more.network ?? '',
      ttl: day,
      now: Date.now(),
    });
  }
}

const flags = (tls: TlsFiles): string[] => ['--tls-cert', tls.cert, '--tls-key', tls.key, '--tls-ca', tls.ca];
