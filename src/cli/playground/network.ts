import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { type HostAddress, wanAddress, wanHosts } from './address-plan.ts';
import { Cluster, type ClusterOptions } from './cluster.ts';
import { Namespace } from './namespace.ts';
import { mustRun, runCommand } from './run-command.ts';

export interface NetworkOptions {
  /** Holds `<cluster>/objects` and `<cluster>/state` of each cluster; emptied first. */
  readonly root: string;
}

/**
 * Clusters on one machine: a router that nodes, control planes, the relay's host (`hub`), a client outside all
 * clusters and this process's own namespace hang on. Everything is routed, nothing bridged. Only inside a
 * sandbox, one at a time.
 *
 * ```ts
 * const network = await Network.create({ root: '/run/causeway/test' });
 * const east = await network.addCluster('east');
 * await east.addNode('e1');
 * const pod = await east.addPod({ namespace: 'shop', name: 'store-0', node: 'e1', labels: { app: 'store' } });
 * await network.client.run(['curl', '-s', `http://${pod.ip}:8080`]);
 * await network.close();
 * ```
 */
export class Network {
  readonly root: string;
  readonly router: Namespace;
  readonly hub: Namespace;
  /** Sends what it has for a cluster's VIPs to that cluster's first node. */
  readonly client: Namespace;
  readonly ipv6: boolean;
  readonly clusters = new Map<string, Cluster>();
  #links = 0;
  #numbers = 0;

  private constructor(root: string, namespaces: { router: Namespace; hub: Namespace; client: Namespace }) {
    this.root = root;
    this.router = namespaces.router;
    this.hub = namespaces.hub;
    this.client = namespaces.client;
    this.ipv6 = existsSync('/proc/sys/net/ipv6');
  }

  static async create(options: NetworkOptions): Promise<Network> {
    rmSync(options.root, { recursive: true, force: true });
    mkdirSync(options.root, { recursive: true });
    await provideResolverFile();
    const [router, hub, client] = await Promise.all([
      Namespace.create({ name: 'wan' }),
      Namespace.create({ name: 'hub' }),
      Namespace.create({ name: 'client' }),
    ]);
    const network = new Network(options.root, { router, hub, client });
    await Promise.all([
      network.attach(hub, wanAddress(wanHosts.hub)),
      network.attach(client, wanAddress(wanHosts.client)),
      network.#attachSeat(wanAddress(wanHosts.seat)),
    ]);
    return network;
  }

  async addCluster(name: string, options: ClusterOptions = {}): Promise<Cluster> {
    this.#numbers += 1;
    const cluster = await Cluster.create(this, name, this.#numbers, options);
    this.clusters.set(name, cluster);
    return cluster;
  }

  /** Hangs a namespace on the router: it gets the address and a default route. Returns the router's link. */
  async attach(namespace: Namespace, address: HostAddress): Promise<string> {
    const link = `n${this.#links++}`;
    const gateway = wanAddress(wanHosts.router);
    await this.router.ip([
      `link add ${link} type veth peer name wan netns ${namespace.name}`,
      ...this.nearEnd(link, gateway),
      ...this.routes('', address, `dev ${link}`),
    ]);
    await namespace.ip(leafLines('wan', address, gateway, this.ipv6));
    return link;
  }

  /** `ip -batch` lines for the near end of a link, the gateway of whoever is at the far end. */
  nearEnd(link: string, address: HostAddress): string[] {
    const v6 = [
      `address add fe80::1/64 dev ${link} nodad`,
      `address add ${address.v6}/128 dev ${link} nodad`,
    ];
    return [`address add ${address.v4}/32 dev ${link}`, ...(this.ipv6 ? v6 : []), `link set ${link} up`];
  }

  /** `ip -batch` lines that route a host or range of both families. */
  routes(type: '' | 'unreachable', to: HostAddress, way = ''): string[] {
    const v6 = [`route replace ${type} ${to.v6} ${way}`];
    return [`route replace ${type} ${to.v4} ${way}`, ...(this.ipv6 ? v6 : [])];
  }

  /** `ip -batch` lines for the router that send a range to the node at the far end of a link. */
  routesThrough(link: string, node: HostAddress, range: HostAddress): string[] {
    const v6 = [`route replace ${range.v6} via fe80::2 dev ${link}`];
    return [`route replace ${range.v4} via ${node.v4} dev ${link} onlink`, ...(this.ipv6 ? v6 : [])];
  }

  /** The addresses that this machine can use, IPv4 first. */
  families(address: HostAddress): readonly string[] {
    return this.ipv6 ? [address.v4, address.v6] : [address.v4];
  }

  /** Connects the namespace we run in, so that readiness and metrics of every process can be asked for. */
  async #attachSeat(address: HostAddress): Promise<void> {
    const gateway = wanAddress(wanHosts.router);
    await runCommand(['ip', 'link', 'delete', 'wan']);
    await mustRun([
      'ip',
      'link',
      'add',
      'name',
      'wan',
      'type',
      'veth',
      'peer',
      'name',
      'seat',
      'netns',
      'wan',
    ]);
    await this.router.ip([...this.nearEnd('seat', gateway), ...this.routes('', address, 'dev seat')]);
    const input = `${leafLines('wan', address, gateway, this.ipv6).join('\n')}\n`;
    await mustRun(['ip', '-batch', '-'], { input });
  }

  /** Ends every process in it and removes every namespace. */
  async close(): Promise<void> {
    await Promise.all([...this.clusters.values()].map((cluster) => cluster.close()));
    this.clusters.clear();
    await Promise.all([this.hub.close(), this.client.close(), this.router.close()]);
    await runCommand(['ip', 'link', 'delete', 'wan']);
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** `ip -batch` lines for the far end of a link: one address per family, a default route through the near end. */
export function leafLines(link: string, own: HostAddress, gateway: HostAddress, ipv6: boolean): string[] {
  const v6 = [
    `address add ${own.v6}/128 dev ${link} nodad`,
    `address add fe80::2/64 dev ${link} nodad`,
    `route add default via fe80::1 dev ${link}`,
  ];
  return [
    `address add ${own.v4}/32 dev ${link}`,
    `link set ${link} up`,
    `route add default via ${gateway.v4} dev ${link} onlink`,
    ...(ipv6 ? v6 : []),
  ];
}

/** A resolv.conf is bound over in each namespace; where the machine has none, /etc becomes a writable overlay. */
async function provideResolverFile(): Promise<void> {
  const script = `
    target=$(readlink -m /etc/resolv.conf)
    [ -e "$target" ] && exit 0
    { mkdir -p "\${target%/*}" && : > "$target"; } 2>/dev/null && exit 0
    up=/run/causeway/etc/up work=/run/causeway/etc/work
    mkdir -p $up $work && mount -t overlay overlay -o lowerdir=/etc,upperdir=$up,workdir=$work /etc || exit 1
    rm -f /etc/resolv.conf && : > /etc/resolv.conf`;
  await mustRun(['sh', '-c', script]);
}
