import { mkdirSync, rmSync } from 'node:fs';
import { type HostAddress, wanAddress, wanHosts } from './address-plan.ts';
import { Cluster, type ClusterOptions, type Wan } from './cluster.ts';
import { Namespace } from './namespace.ts';
import { Routing } from './routing.ts';
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
export class Network implements Wan {
  readonly root: string;
  readonly router: Namespace;
  readonly hub: Namespace;
  /** Sends what it has for a cluster's VIPs to that cluster's first node. */
  readonly client: Namespace;
  readonly routing = new Routing();
  readonly clusters = new Map<string, Cluster>();
  #links = 0;
  #numbers = 0;

  private constructor(root: string, namespaces: { router: Namespace; hub: Namespace; client: Namespace }) {
    this.root = root;
    this.router = namespaces.router;
    this.hub = namespaces.hub;
    this.client = namespaces.client;
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
      ...this.routing.nearEnd(link, gateway),
      ...this.routing.routes('', address, `dev ${link}`),
    ]);
    await namespace.ip(this.routing.farEnd('wan', address, gateway));
    return link;
  }

  /** Connects the namespace we run in, so that readiness and metrics of every process can be asked for. */
  async #attachSeat(address: HostAddress): Promise<void> {
    const gateway = wanAddress(wanHosts.router);
    await runCommand(['ip', 'link', 'delete', 'wan']);
    await mustRun('ip link add name wan type veth peer name seat netns wan'.split(' '));
    await this.router.ip([
      ...this.routing.nearEnd('seat', gateway),
      ...this.routing.routes('', address, 'dev seat'),
    ]);
    const input = `${this.routing.farEnd('wan', address, gateway).join('\n')}\n`;
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
