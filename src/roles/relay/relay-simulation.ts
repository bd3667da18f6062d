import type { Export } from '../../model/compiled.ts';
import { isOfferedTo } from '../../model/relay/export-policy.ts';
import type { PeerIdentity } from '../../runtime/identity.ts';
import { type SeededRandom, seededRandom } from '../../runtime/seeded-random.ts';
import { decodeDeltaResponse } from '../../wire/proto/discovery.ts';
import { type Consumer, identity, type Publisher, RelayMemoryBed } from './memory-bed.ts';
import { TestHub } from './memory-relay.ts';
import { SimulatedNet } from './simulated-net.ts';
import { store } from './test-bed.ts';

const composites = ['store', 'cart'] as const;
type Composite = (typeof composites)[number];
const portOf = (composite: Composite): string => `shop/${composite}/tcp-80`;

interface Cluster {
  readonly name: string;
  readonly peer: PeerIdentity;
  readonly homes: readonly string[];
  /** One for each home; of one life. */
  publishers: Publisher[];
  readonly consumer: Consumer;
  readonly exports: Map<Composite, Export>;
  /** Every address that it ever published. */
  readonly history: Set<string>;
  changes: number;
  /** The last change that was made in an earlier life. */
  lastOfEarlier: number;
  isOff: boolean;
  /** It was taken off a list once: it may have lost what it was offered. */
  wasOff: boolean;
}

/**
 * Relays, clusters and what happens to them, all from one seed, on a clock and a network that stand still in between.
 * The first cluster is steady: it never changes what it offers to everybody, so nothing of it may ever be lost.
 */
export class RelaySimulation {
  readonly problems: string[] = [];
  readonly #random: SeededRandom;
  readonly #bed: RelayMemoryBed;
  readonly #net: SimulatedNet;
  readonly #relays = new Map<string, TestHub>();
  readonly #clusters: Cluster[] = [];
  /** `<origin> <composite> <consumer>` of what was ever offered. */
  readonly #offered = new Set<string>();
  /** The same → the last change that was seen. */
  readonly #seen = new Map<string, number>();

  constructor(seed: number) {
    const random = seededRandom(seed);
    this.#random = random;
    this.#bed = new RelayMemoryBed((channels) => random.below(channels));
    this.#net = new SimulatedNet(random, seed % 3 === 2);
    for (const relay of this.#net.relays) this.#startRelay(relay);
    for (const [name, homes] of this.#net.homes) this.#addCluster(name, homes);
  }

  async run(): Promise<void> {
    this.#linkAll();
    for (let step = 0, steps = 15 + this.#random.below(20); step < steps; step += 1) {
      this.#act();
      if (this.#random.chance(0.3)) this.#bed.clock.advance(this.#random.pick([100, 2_000, 5_000, 16_000]));
      await this.#bed.settle(this.#random.chance(0.5) ? undefined : this.#random.below(60));
      this.#check();
    }
    await this.#heal();
    this.#checkHealed();
    this.#checkWires();
  }

  #act(): void {
    const { below, pick, chance } = this.#random;
    const cluster = pick(this.#clusters);
    const relay = pick(this.#net.relays);
    switch (below(10)) {
      case 0:
      case 1:
        this.#change(pick(this.#clusters.slice(1)));
        break;
      case 2:
        this.#cutCluster(cluster, pick(cluster.homes));
        break;
      case 3: {
        const parent = pick([...this.#net.parentsOf(relay), '']);
        if (parent !== '') this.#relays.get(relay)?.cut(parent);
        break;
      }
      case 4:
        this.#stopRelay(relay);
        this.#startRelay(relay);
        break;
      case 5:
        this.#restartPublisher(cluster);
        break;
      case 6:
        this.#toggleOff(pick(this.#clusters.slice(1)));
        break;
      case 7:
        if (chance(0.5)) this.#narrowOne(relay, pick(this.#clusters.slice(1)));
        else this.#setLists();
        break;
      default:
        if (chance(0.3)) this.#linkAll();
        else for (const parent of this.#net.parentsOf(relay)) this.#dial(relay, parent);
        if (!cluster.isOff) for (const home of cluster.homes) this.#linkCluster(cluster, home);
    }
  }

  async #heal(): Promise<void> {
    this.#setLists();
    this.#linkAll();
    for (let second = 0; second < 22; second += 1) {
      await this.#bed.settle();
      this.#bed.clock.advance(1_000);
      this.#check();
    }
    this.#linkAll();
    await this.#bed.settle();
  }

  #startRelay(name: string): void {
    const [parents, list] = [this.#net.parentsOf(name), this.#net.membersOf(name)];
    this.#relays.set(name, new TestHub(this.#bed.clock, { name, parents, list }));
  }

  #stopRelay(name: string): void {
    const relay = this.#relays.get(name);
    for (const parent of this.#net.parentsOf(name)) relay?.cut(parent);
    for (const [child, of] of this.#relays) if (this.#net.parentsOf(child).includes(name)) of.cut(name);
    for (const cluster of this.#clusters) if (cluster.homes.includes(name)) this.#cutCluster(cluster, name);
    relay?.hub.close();
  }

  #addCluster(name: string, homes: readonly string[]): void {
    const peer = identity(name, { labels: { env: this.#random.pick(['prod', 'test']) } });
    this.#bed.relays = homes;
    const cluster: Cluster = {
      name,
      peer,
      homes,
      publishers: [],
      consumer: this.#bed.consumer(peer, ...composites.map(portOf)),
      exports: new Map(),
      history: new Set(),
      changes: 0,
      lastOfEarlier: 0,
      isOff: false,
      wasOff: false,
    };
    this.#clusters.push(cluster);
    for (const composite of composites) this.#setExport(cluster, composite, this.#clusters.length === 1);
    this.#publish(cluster, this.#bed.clock.now());
  }

  #publish(cluster: Cluster, epoch: number): void {
    cluster.publishers = cluster.homes.map(() => {
      const publisher = this.#bed.publisher(cluster.peer, { epoch });
      return publisher.export(...cluster.exports.values());
    });
  }

  /** Its second last byte says which change it is. */
  #setExport(cluster: Cluster, composite: Composite, isForAll: boolean): void {
    cluster.changes += 1;
    const number = this.#net.relays.length * 50 + this.#clusters.indexOf(cluster);
    const addresses = Array.from(
      { length: 1 + this.#random.below(3) },
      (_, i) => `10.${number}.${cluster.changes}.${i + composites.indexOf(composite) * 10}`,
    );
    for (const address of addresses) cluster.history.add(address);
    const to = isForAll
      ? [{}]
      : this.#random.pick([
          [{}],
          [{}],
          [{ names: [this.#random.pick(this.#net.clusters), this.#random.pick(this.#net.clusters)] }],
          [{ matchLabels: { env: 'prod' } }],
          [],
        ]);
    cluster.exports.set(composite, store(addresses, { composite, to }));
    for (const name of this.#net.clusters) this.#note(cluster, composite, name);
  }

  /** Clusters come one after the other: who is not there yet is noted by name when it is. */
  #note(cluster: Cluster, composite: Composite, consumer: string): void {
    this.#offeredNow.push([cluster, composite, cluster.exports.get(composite) as Export, consumer]);
  }

  readonly #offeredNow: [Cluster, Composite, Export, string][] = [];

  #settleOffers(): void {
    for (const [cluster, composite, exported, consumer] of this.#offeredNow.splice(0)) {
      const peer = this.#clusters.find((c) => c.name === consumer)?.peer;
      if (peer && allows(cluster, exported, peer))
        this.#offered.add(`${cluster.name} ${composite} ${consumer}`);
    }
  }

  #change(cluster: Cluster): void {
    const composite = this.#random.pick(composites);
    if (this.#random.chance(0.2)) cluster.exports.delete(composite);
    else this.#setExport(cluster, composite, false);
    for (const publisher of cluster.publishers) publisher.export(...cluster.exports.values());
  }

  /** Anew, sometimes by a clock that was set back, sometimes while the one before still runs. */
  #restartPublisher(cluster: Cluster): void {
    const before = cluster.publishers;
    cluster.lastOfEarlier = cluster.changes;
    const epoch = (before[0]?.epoch ?? 0) + (this.#random.chance(0.3) ? -1_000 : 1_000);
    const isAtOnce = this.#random.chance(0.4);
    if (!isAtOnce) for (const publisher of before) publisher.stop();
    this.#publish(cluster, epoch);
    if (!cluster.isOff && this.#random.chance(0.7)) {
      for (const home of cluster.homes) this.#linkCluster(cluster, home);
    }
    for (const publisher of before) publisher.stop();
  }

  #toggleOff(cluster: Cluster): void {
    cluster.isOff = !cluster.isOff;
    cluster.wasOff = true;
    this.#net.setOff(cluster.name, cluster.isOff);
    this.#setLists();
    if (cluster.isOff) for (const home of cluster.homes) this.#cutCluster(cluster, home);
  }

  /** Off one list only, until the lists are written anew. */
  #narrowOne(relay: string, cluster: Cluster): void {
    cluster.wasOff = true;
    this.#relays.get(relay)?.hub.setMembers(this.#net.membersOf(relay, cluster.name));
  }

  #setLists(): void {
    for (const [name, { hub }] of this.#relays) hub.setMembers(this.#net.membersOf(name));
  }

  #linkAll(): void {
    for (const relay of this.#net.relays) {
      for (const parent of this.#net.parentsOf(relay)) this.#dial(relay, parent);
    }
    for (const cluster of this.#clusters) {
      if (!cluster.isOff) for (const home of cluster.homes) this.#linkCluster(cluster, home);
    }
  }

  #dial(relay: string, parent: string): void {
    const [from, to] = [this.#relays.get(relay), this.#relays.get(parent)];
    if (!from || !to || from.isDialling(parent)) return;
    attempt(() => from.dial(to, this.#bed.net, identity(relay, { role: 'relay' })));
  }

  #linkCluster(cluster: Cluster, home: string): void {
    const at = cluster.homes.indexOf(home);
    const relay = this.#relays.get(home);
    const publisher = cluster.publishers[at];
    if (!relay || !publisher) return;
    if (!publisher.isLinked) attempt(() => publisher.link(relay));
    if (!cluster.consumer.isLinked(at)) attempt(() => cluster.consumer.link(relay, at));
  }

  #cutCluster(cluster: Cluster, home: string): void {
    const at = cluster.homes.indexOf(home);
    cluster.publishers[at]?.unlink();
    cluster.consumer.unlink(at);
  }

  #check(): void {
    this.#settleOffers();
    const [steady] = this.#clusters;
    for (const { name, consumer, wasOff } of this.#clusters) {
      for (const change of consumer.changes.splice(0)) {
        if (change.kind !== 'Contribution') continue;
        const [, composite = '', , origin = ''] = change.key.split('/');
        const cluster = this.#clusters.find((c) => c.name === origin);
        const addresses = (change.value?.endpoints ?? []).map((e) => e.addresses[0] as string);
        const what = `${name} sees ${change.key} as ${addresses.join(', ') || 'gone'}`;
        for (const address of addresses) {
          if (!cluster?.history.has(address)) this.problems.push(`${what}: never published`);
        }
        if (origin === steady?.name && !wasOff && addresses.length < this.#countOf(steady, composite)) {
          this.problems.push(`${what}: nothing of ${origin} ever went`);
        }
        if (change.value && !this.#offered.has(`${origin} ${composite} ${name}`)) {
          this.problems.push(`${what}: never offered to it`);
        }
        if (cluster) this.#checkOrder(cluster, `${composite} ${name}`, addresses, what);
      }
    }
  }

  /** Older word never comes after newer; where there are several ways, of one life. */
  #checkOrder(origin: Cluster, whom: string, addresses: readonly string[], what: string): void {
    const key = `${origin.name} ${whom}`;
    for (const change of addresses.map(changeOf)) {
      const isOlder = change < (this.#seen.get(key) ?? 0);
      const isOfThisLife = !this.#net.isMesh || change > origin.lastOfEarlier;
      if (isOlder && isOfThisLife) this.problems.push(`${what}: older than what was seen`);
      this.#seen.set(key, change);
    }
  }

  #countOf(cluster: Cluster, composite: string): number {
    return cluster.exports.get(composite as Composite)?.endpoints.length ?? 0;
  }

  #checkHealed(): void {
    for (const { name, consumer, isOff, peer } of this.#clusters) {
      if (isOff) continue;
      for (const composite of composites) {
        const expected: Record<string, readonly string[]> = {};
        for (const origin of this.#clusters) {
          const exported = origin.exports.get(composite);
          if (origin.isOff || !exported || !allows(origin, exported, peer)) continue;
          if (!this.#net.reaches(origin.name, name)) continue;
          expected[origin.name] = exported.endpoints.map((e) => e.addresses[0] as string);
          const state = consumer.origins.get(origin.name)?.state;
          if (state !== 'Synced') this.problems.push(`healed: ${name} takes ${origin.name} for ${state}`);
        }
        const [found, wanted] = [consumer.endpoints(portOf(composite)), expected].map((v) =>
          JSON.stringify(v),
        );
        if (found !== wanted) this.problems.push(`healed: ${name} has ${composite} ${found}, not ${wanted}`);
        if (!consumer.imports.get(portOf(composite)))
          this.problems.push(`healed: ${name} waits for ${composite}`);
      }
    }
  }

  #checkWires(): void {
    for (const { name, consumer } of this.#clusters) {
      const names = new Set(
        consumer.bytes.flatMap((b) => decodeDeltaResponse(b).resources.map((r) => r.name)),
      );
      for (const text of names) {
        const [, , , , , , composite, , origin = ''] = text.split('/');
        if (origin === '' || this.#offered.has(`${origin} ${composite} ${name}`)) continue;
        this.problems.push(`${text} was on the wire of ${name}`);
      }
    }
  }
}

/** Which change of its cluster an address is of. */
const changeOf = (address: string): number => Number(address.split('.')[2]);

function allows(origin: Cluster, exported: Export, consumer: PeerIdentity): boolean {
  const to = exported.to.map((clusters) => ({ clusters }));
  return isOfferedTo(consumer, { cluster: origin.name, namespace: 'shop', to });
}

/** A link that is not taken stays down. */
function attempt(link: () => unknown): void {
  try {
    link();
  } catch {}
}
