import { join } from 'node:path';
import { CaFolder } from '../../runtime/ca-folder.ts';
import type { PeerRole } from '../../runtime/identity.ts';
import type { TlsFiles } from '../../runtime/tls.ts';
import { wanAddress, wanHosts } from './address-plan.ts';
import type { Cluster } from './cluster.ts';
import type { Network } from './network.ts';
import { ObjectFolder } from './object-folder.ts';
import type { ProcessSpec } from './supervisor.ts';

const set = 'demo';
const network = 'n1';
const causeway = join(import.meta.dirname, '..', '..', '..', 'bin', 'causeway.mjs');
const program = [process.execPath, causeway];
const hub = wanAddress(wanHosts.hub).v4;
const relay = `${hub}:18100`;
const day = 86_400_000;

/** Command lines of the control plane's processes, each with a certificate of its own. */
export class ControlPlane {
  readonly #folder: string;
  readonly #ca: CaFolder;

  private constructor(folder: string, ca: CaFolder) {
    this.#folder = folder;
    this.#ca = ca;
  }

  /** Makes the set's certificate authority under the network's root. */
  static async create(world: Network): Promise<ControlPlane> {
    const folder = join(world.root, 'set');
    const { ca } = await CaFolder.init(join(folder, 'ca'), set, Date.now());
    return new ControlPlane(folder, ca);
  }

  async relay(world: Network): Promise<ProcessSpec> {
    const members = new ObjectFolder(join(this.#folder, 'relay'));
    members.write('members.yaml', { members: [...world.clusters.keys()].map((cluster) => ({ cluster })) });
    const tls = await this.#certificate('hub', 'relay', {});
    return {
      name: 'relay',
      host: world.hub,
      readyUrl: `http://${hub}:9100/readyz`,
      command: [
        ...[...program, 'relay', '--name', 'hub', '--set', set, '--listen', relay, '--admin', `${hub}:9100`],
        ...['--members', join(members.dir, 'members.yaml'), ...flags(tls)],
      ],
    };
  }

  async controller(cluster: Cluster): Promise<ProcessSpec> {
    const host = cluster.plan.control.v4;
    const tls = await this.#certificate(cluster.name, 'controller', { region: cluster.region });
    return {
      name: `${cluster.name} controller`,
      host: cluster.control,
      readyUrl: `http://${host}:9101/readyz`,
      command: [
        ...[...program, 'controller', '--cluster', cluster.name, '--set', set],
        ...['--region', cluster.region, '--network', network],
        ...['--dir', cluster.objects.dir, '--state', cluster.stateDir],
        ...cluster.serviceCidrs.flatMap((cidr) => ['--service-cidr', cidr]),
        ...['--listen', `${host}:18000`, '--admin', `${host}:9101`, '--relay', relay, ...flags(tls)],
      ],
    };
  }

  async dns(cluster: Cluster): Promise<ProcessSpec> {
    const host = cluster.plan.control.v4;
    const tls = await this.#certificate(cluster.name, 'dns', {});
    return {
      name: `${cluster.name} dns`,
      host: cluster.control,
      readyUrl: `http://${host}:9102/readyz`,
      command: [
        ...[...program, 'dns', '--cluster', cluster.name, '--set', set, '--controller', `${host}:18000`],
        ...['--listen', `${host}:53`, '--admin', `${host}:9102`, ...flags(tls)],
      ],
    };
  }

  async agent(cluster: Cluster, nodeName: string): Promise<ProcessSpec> {
    const node = cluster.node(nodeName);
    const host = node.address.v4;
    const tls = await this.#certificate(cluster.name, 'agent', { node: nodeName });
    return {
      name: `${cluster.name} agent ${nodeName}`,
      host: node.namespace,
      readyUrl: `http://${host}:9103/readyz`,
      command: [
        ...[...program, 'agent', '--node', nodeName, '--cluster', cluster.name, '--set', set],
        ...['--controller', `${cluster.plan.control.v4}:18000`, '--admin', `${host}:9103`, ...flags(tls)],
      ],
    };
  }

  #certificate(cluster: string, role: PeerRole, more: { node?: string; region?: string }): Promise<TlsFiles> {
    const out = join(this.#folder, 'tls', [cluster, role, more.node].filter(Boolean).join('-'));
    return this.#ca.issueInto(out, {
      cluster,
      role,
      ...(more.node === undefined ? {} : { node: more.node }),
      labels: {},
      namespaces: ['*'],
      region: more.region ?? '',
      network,
      ttl: day,
      now: Date.now(),
    });
  }
}

const flags = (tls: TlsFiles): string[] => ['--tls-cert', tls.cert, '--tls-key', tls.key, '--tls-ca', tls.ca];
