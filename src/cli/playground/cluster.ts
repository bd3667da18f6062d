import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ClusterPlan, clusterPlan, type HostAddress } from './address-plan.ts';
import type { ClusterNode, NodeOptions } from './cluster-node.ts';
import { Namespace } from './namespace.ts';
import { ObjectFolder } from './object-folder.ts';
import { Pod, type PodCluster, type PodOptions } from './pod.ts';
import { namespaceObject, nodeObject } from './pod-objects.ts';
import type { Routing } from './routing.ts';

export interface ClusterOptions {
  readonly region?: string;
  /** Id of its network: clusters of one network reach each other's pods. Default: that of all the others. */
  readonly networkId?: string;
}

/** What the clusters hang on. */
export interface Wan {
  /** Folder of all clusters. */
  readonly root: string;
  readonly router: Namespace;
  readonly routing: Routing;
  /** Hangs a namespace on the router: it gets the address and a default route. Returns the router's link. */
  attach(namespace: Namespace, address: HostAddress): Promise<string>;
}

/** One cluster: nodes, pods, a host for its control plane, and the folder of YAML that describes them. */
export class Cluster implements PodCluster {
  readonly name: string;
  readonly region: string;
  /** For `--network`. */
  readonly networkId: string;
  readonly plan: ClusterPlan;
  readonly objects: ObjectFolder;
  /** For `--state`. */
  readonly stateDir: string;
  /** Controller and dns run here, at `plan.control`; pods and nodes ask it for names. */
  readonly control: Namespace;
  readonly nodes = new Map<string, ClusterNode>();
  /** key: `<namespace>/<name>`. */
  readonly pods = new Map<string, Pod>();
  /** Pod name → node, of every pod there has been. */
  readonly placements = new Map<string, string>();
  readonly #wan: Wan;
  readonly #namespaces = new Set<string>();
  #resolver: string;
  #numbers = 0;

  private constructor(
    wan: Wan,
    name: string,
    plan: ClusterPlan,
    control: Namespace,
    options: ClusterOptions,
  ) {
    this.#wan = wan;
    this.name = name;
    this.plan = plan;
    this.region = options.region ?? '';
    this.networkId = options.networkId ?? 'n1';
    this.control = control;
    this.objects = new ObjectFolder(join(wan.root, name, 'objects'));
    this.stateDir = join(wan.root, name, 'state');
    mkdirSync(this.stateDir, { recursive: true });
    this.#resolver = plan.control.v4;
  }

  /** Use `Network.addCluster`. */
  static async create(wan: Wan, name: string, number: number, options: ClusterOptions): Promise<Cluster> {
    const plan = clusterPlan(number);
    const control = await Namespace.create({ name, resolver: plan.control.v4 });
    await wan.attach(control, plan.control);
    return new Cluster(wan, name, plan, control, options);
  }

  get routing(): Routing {
    return this.#wan.routing;
  }

  /** For `--service-cidr`: the primary family first. */
  get serviceCidrs(): readonly string[] {
    return this.routing.families(this.plan.serviceCidrs);
  }

  /** DNS server of every process started from now on. */
  get resolver(): string {
    return this.#resolver;
  }

  set resolver(address: string) {
    this.#resolver = address;
    const members = [
      ...[...this.nodes.values()].map((n) => n.namespace),
      ...[...this.pods.values()].map((p) => p.host),
    ];
    for (const namespace of [this.control, ...members]) namespace.useResolver(address);
  }

  /** Adds a node and its Node object. */
  async addNode(name: string, options: NodeOptions = {}): Promise<ClusterNode> {
    this.#numbers += 1;
    const number = this.#numbers;
    const address = this.plan.node(number);
    const podCidrs = this.plan.podCidrs(number);
    const namespace = await Namespace.create({
      name: `${this.name}-${name}`,
      hostname: name,
      resolver: this.#resolver,
    });
    const created = new Date().toISOString();
    const node = { name, address, podCidrs, namespace, uid: randomUUID(), created, options, number, pods: 0 };
    this.nodes.set(name, node);
    const link = await this.#wan.attach(namespace, address);
    // An address of the range that no pod has is refused at once instead of travelling in circles.
    await namespace.ip(this.routing.routes('unreachable', podCidrs));
    await this.#wan.router.ip([
      ...this.routing.routesThrough(link, address, podCidrs),
      ...(number === 1 ? this.routing.routesThrough(link, address, this.plan.serviceCidrs) : []),
    ]);
    this.writeNode(name, true);
    return node;
  }

  writeNode(name: string, ready: boolean): void {
    const node = this.node(name);
    const zone = node.options.zone ?? `${this.name}-${name}`;
    this.objects.write(
      `nodes/${name}.yaml`,
      nodeObject({
        name,
        uid: node.uid,
        zone,
        region: this.region,
        labels: node.options.labels ?? {},
        podCidrs: this.routing.families(node.podCidrs),
        ips: this.routing.families(node.address),
        created: node.created,
        ready,
      }),
    );
  }

  node(name: string): ClusterNode {
    const node = this.nodes.get(name);
    if (!node)
      throw new Error(
        `cluster ${this.name} has no node ${name}; there are ${[...this.nodes.keys()].join(' ')}`,
      );
    return node;
  }

  /** Writes a Namespace object, once. */
  addNamespace(name: string): void {
    if (this.#namespaces.has(name)) return;
    this.#namespaces.add(name);
    this.objects.write(
      `namespaces/${name}.yaml`,
      namespaceObject(name, randomUUID(), new Date().toISOString()),
    );
  }

  /** Starts a pod and writes its Pod object (and its Namespace). Resolves when it listens on its ports. */
  async addPod(options: PodOptions): Promise<Pod> {
    this.addNamespace(options.namespace);
    const node = this.node(options.node);
    node.pods += 1;
    const place = { node, number: node.pods, address: this.plan.pod(node.number, node.pods + 1) };
    const pod = await Pod.create(this, place, options);
    this.pods.set(pod.key, pod);
    this.placements.set(pod.name, pod.node.name);
    return pod;
  }

  /**
   * Takes a pod away as a kubelet does: it terminates (and still serves) for `graceMs`, default 0, then its
   * processes and its object go.
   */
  async removePod(pod: Pod, graceMs = 0): Promise<void> {
    this.pods.delete(pod.key);
    await pod.remove(graceMs);
  }

  async close(): Promise<void> {
    await Promise.all([...this.pods.values()].map((pod) => pod.host.close()));
    this.pods.clear();
    await Promise.all([...this.nodes.values()].map((node) => node.namespace.close()));
    this.nodes.clear();
    await this.control.close();
  }
}
