import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { HostAddress } from './address-plan.ts';
import type { ClusterNode } from './cluster-node.ts';
import { startEcho } from './echo-process.ts';
import { Namespace } from './namespace.ts';
import type { ObjectFolder } from './object-folder.ts';
import { type PodPort, podObject } from './pod-objects.ts';
import type { Routing } from './routing.ts';
import { endProcess, type Finished, type RunOptions } from './run-command.ts';

export interface PodOptions {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Default: TCP 8080, named http. An echo server listens on all of them; none: nothing runs in the pod. */
  readonly ports?: readonly PodPort[];
  /** Default true. */
  readonly ready?: boolean;
}

/** What a pod knows of the cluster it is in. */
export interface PodCluster {
  readonly name: string;
  readonly objects: ObjectFolder;
  readonly resolver: string;
  readonly routing: Routing;
  removePod(pod: Pod, graceMs?: number): Promise<void>;
}

/** Where a pod is put. */
export interface PodPlace {
  readonly node: ClusterNode;
  /** 1, 2, … on its node. */
  readonly number: number;
  readonly address: HostAddress;
}

/** A pod: a namespace with an address, an echo server in it, and the Pod object that says so. */
export class Pod {
  readonly cluster: PodCluster;
  readonly namespace: string;
  readonly name: string;
  readonly node: ClusterNode;
  readonly address: HostAddress;
  /** Where its processes run; `host.run([...])` runs a command in the pod. */
  readonly host: Namespace;
  readonly ports: readonly PodPort[];
  readonly #labels: Readonly<Record<string, string>>;
  readonly #uid = randomUUID();
  readonly #created = new Date().toISOString();
  readonly #link: string;
  #echo: ChildProcess | undefined;
  #ready: boolean;

  private constructor(cluster: PodCluster, place: PodPlace, options: PodOptions, host: Namespace) {
    this.cluster = cluster;
    this.namespace = options.namespace;
    this.name = options.name;
    this.node = place.node;
    this.address = place.address;
    this.host = host;
    this.ports = options.ports ?? [{ name: 'http', port: 8080, protocol: 'TCP' }];
    this.#labels = options.labels ?? {};
    this.#link = `p${place.number}`;
    this.#ready = options.ready ?? true;
  }

  /** Use `Cluster.addPod`. */
  static async create(cluster: PodCluster, place: PodPlace, options: PodOptions): Promise<Pod> {
    const { node, address } = place;
    const { routing } = cluster;
    const host = await Namespace.create({
      name: `${cluster.name}-${options.name}`,
      hostname: options.name,
      resolver: cluster.resolver,
    });
    const pod = new Pod(cluster, place, options, host);
    await node.namespace.ip([
      `link add ${pod.#link} type veth peer name eth0 netns ${host.name}`,
      ...routing.nearEnd(pod.#link, node.address),
      ...routing.routes('', address, `dev ${pod.#link}`),
    ]);
    await host.ip(routing.farEnd('eth0', address, node.address));
    await pod.startEcho();
    pod.#write();
    return pod;
  }

  /** `<namespace>/<name>`. */
  get key(): string {
    return `${this.namespace}/${this.name}`;
  }

  /** Its IPv4 address. */
  get ip(): string {
    return this.address.v4;
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** What its echo server answers: `<cluster>/<pod>`. */
  get answer(): string {
    return `${this.cluster.name}/${this.name}`;
  }

  run(command: readonly string[], options?: RunOptions): Promise<Finished> {
    return this.host.run(command, options);
  }

  setReady(ready: boolean): void {
    this.#ready = ready;
    this.#write();
  }

  /** The API server marks it as being deleted; it still serves. */
  terminate(): void {
    this.#write(new Date().toISOString());
  }

  async startEcho(): Promise<void> {
    if (this.#echo || this.ports.length === 0) return;
    this.#echo = await startEcho(this.host, { answer: this.answer, ports: this.ports });
  }

  /** The server dies; the pod and its object stay. */
  async stopEcho(): Promise<void> {
    const echo = this.#echo;
    this.#echo = undefined;
    if (echo) await endProcess(echo);
  }

  /** Use `Cluster.removePod`. */
  async remove(graceMs: number): Promise<void> {
    if (graceMs > 0) {
      this.terminate();
      await wait(graceMs);
    }
    this.cluster.objects.remove(this.#file);
    await this.host.close();
    // The kernel may have removed the link already, together with the other end's namespace.
    await this.node.namespace.run(['ip', 'link', 'delete', this.#link]);
  }

  get #file(): string {
    return `pods/${this.namespace}.${this.name}.yaml`;
  }

  #write(deleted?: string): void {
    const { objects, routing } = this.cluster;
    objects.write(
      this.#file,
      podObject({
        namespace: this.namespace,
        name: this.name,
        uid: this.#uid,
        node: this.node.name,
        labels: this.#labels,
        ports: this.ports,
        ips: routing.families(this.address),
        hostIp: this.node.address.v4,
        ready: this.#ready,
        created: this.#created,
        ...(deleted === undefined ? {} : { deleted }),
      }),
    );
  }
}
