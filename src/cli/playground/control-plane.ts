import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CaFolder } from '../../runtime/ca-folder.ts';
import type { PeerRole } from '../../runtime/identity.ts';
import { type PeerCertificate, readPeerCertificate } from '../../runtime/peer-certificate.ts';
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

interface CertificateOptions {
  readonly node?: string;
  readonly region?: string;
  readonly network?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Milliseconds of validity. */
  readonly ttl?: number;
}

interface Issued {
  readonly files: TlsFiles;
  readonly cluster: string;
  readonly role: PeerRole;
  readonly more: CertificateOptions;
}

/** Labels of clusters, as the certificates of their controllers say them. */
type ClusterLabels = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Command lines of the control plane's processes, each with a certificate of its own. */
export class ControlPlane {
  readonly #folder: string;
  readonly #ca: CaFolder;
  readonly #flags: RoleFlags;
  readonly #members: ObjectFolder;
  readonly #labels: ClusterLabels;
  /** By the name of the process. */
  readonly #issued = new Map<string, Issued>();
  #certificates = 0;

  private constructor(folder: string, ca: CaFolder, flags: RoleFlags, labels: ClusterLabels) {
    this.#folder = folder;
    this.#ca = ca;
    this.#flags = flags;
    this.#labels = labels;
    this.#members = new ObjectFolder(join(folder, 'relay'));
  }

  /** Makes the set's certificate authority under the network's root. */
  static async create(
    world: Network,
    flags: RoleFlags = {},
    labels: ClusterLabels = {},
  ): Promise<ControlPlane> {
    const folder = join(world.root, 'set');
    const { ca } = await CaFolder.init(join(folder, 'ca'), set, Date.now());
    return new ControlPlane(folder, ca, flags, labels);
  }

  /** The clusters whose controllers the relay takes, and certificates that it does not; it follows the list. */
  setMembers(clusters: Iterable<string>, revoked: readonly object[] = []): void {
    const members = [...clusters].map((cluster) => ({ cluster }));
    this.#members.write('members.yaml', { members, ...(revoked.length > 0 ? { revoked } : {}) });
  }

  /** Replaces the certificate of a process that was started, by one with these properties instead. */
  async renew(process: string, change: Pick<CertificateOptions, 'labels' | 'ttl'> = {}): Promise<void> {
    const { files, cluster, role, more } = this.#issuedTo(process);
    await this.#issueInto(dirname(files.cert), cluster, role, { ...more, ...change });
  }

  /** Of the certificate that a process has now. */
  certificateOf(process: string): PeerCertificate {
    const { cert } = this.#issuedTo(process).files;
    return readPeerCertificate(new X509Certificate(readFileSync(cert)).raw);
  }

  #issuedTo(process: string): Issued {
    const issued = this.#issued.get(process);
    if (!issued) throw new Error(`no certificate was issued to ${process}`);
    return issued;
  }

  async relay(world: Network): Promise<ProcessSpec> {
    this.setMembers(world.clusters.keys());
    const tls = await this.#own('relay', 'hub', 'relay');
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
    const name = `${cluster.name} controller`;
    const labels = this.#labels[cluster.name] ?? {};
    const tls = await this.#own(name, cluster.name, 'controller', { region, network: networkId, labels });
    return {
      name,
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
    const name = `${cluster.name} dns`;
    const tls = await this.#own(name, cluster.name, 'dns');
    return {
      name,
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
    const name = `${cluster.name} agent ${nodeName}`;
    const tls = await this.#own(name, cluster.name, 'agent', { node: nodeName });
    return {
      name,
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
  certificate(cluster: string, role: PeerRole, more: CertificateOptions = {}): Promise<TlsFiles> {
    const name = [cluster, role, more.node].filter(Boolean).join('-');
    const out = join(this.#folder, 'tls', `${name}-${this.#certificates++}`);
    return this.#issueInto(out, cluster, role, more);
  }

  async #own(
    process: string,
    cluster: string,
    role: PeerRole,
    more: CertificateOptions = {},
  ): Promise<TlsFiles> {
    const files = await this.certificate(cluster, role, more);
    this.#issued.set(process, { files, cluster, role, more });
    return files;
  }

  #issueInto(
    out: string,
    cluster: string,
    role: PeerRole,
    { node, region = '', network = '', labels = {}, ttl = day }: CertificateOptions,
  ): Promise<TlsFiles> {
    const named = node === undefined ? {} : { node };
    const bound = { labels, namespaces: ['*'], region, network };
    return this.#ca.issueInto(out, { cluster, role, ...named, ...bound, ttl, now: Date.now() });
  }
}

const flags = (tls: TlsFiles): string[] => ['--tls-cert', tls.cert, '--tls-key', tls.key, '--tls-ca', tls.ca];
