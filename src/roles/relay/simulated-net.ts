import type { MemberList } from '../../model/relay/members.ts';
import type { SeededRandom } from '../../runtime/seeded-random.ts';

/** Who dials whom: a tree of relays, or a mesh with two parents, with relays that dial each other and with clusters at two relays. */
export class SimulatedNet {
  readonly isMesh: boolean;
  readonly relays: readonly string[];
  /** Cluster → the relays that it dials. */
  readonly homes = new Map<string, readonly string[]>();
  readonly #parents = new Map<string, readonly string[]>();
  readonly #off = new Set<string>();

  constructor(random: SeededRandom, isMesh: boolean) {
    this.isMesh = isMesh;
    this.relays = Array.from({ length: 2 + random.below(3) }, (_, i) => `r${i}`);
    for (const [i, relay] of this.relays.entries()) {
      const above = this.relays.slice(0, i);
      const parents = new Set(i === 0 ? [] : [random.pick(above)]);
      if (isMesh && i > 0 && random.chance(0.4)) parents.add(random.pick(above));
      this.#parents.set(relay, [...parents]);
    }
    if (isMesh && random.chance(0.4)) this.#parents.set('r0', ['r1']);
    for (let i = 0, count = 2 + random.below(3); i < count; i += 1) {
      const homes = new Set([random.pick(this.relays)]);
      if (isMesh && random.chance(0.3)) homes.add(random.pick(this.relays));
      this.homes.set(`c${i}`, [...homes]);
    }
  }

  get clusters(): readonly string[] {
    return [...this.homes.keys()];
  }

  parentsOf(relay: string): readonly string[] {
    return this.#parents.get(relay) ?? [];
  }

  /** A cluster is on no list any more, or on all that it belongs on. */
  setOff(cluster: string, isOff: boolean): void {
    if (isOff) this.#off.add(cluster);
    else this.#off.delete(cluster);
  }

  /** `except`: a cluster that is not on it. */
  membersOf(relay: string, except?: string): MemberList {
    const isOn = (cluster: string): boolean => cluster !== except && !this.#off.has(cluster);
    const children = this.relays.filter((child) => this.parentsOf(child).includes(relay));
    return {
      clusters: new Set(this.#dialling(relay).filter(isOn)),
      relays: new Map(children.map((child) => [child, new Set([...this.#below(child)].filter(isOn))])),
    };
  }

  /** What comes from below goes up and down, what comes from above goes down. */
  reaches(origin: string, consumer: string): boolean {
    const reached = new Set<string>();
    const up = (relay: string): void => {
      if (reached.has(relay)) return;
      reached.add(relay);
      for (const parent of this.parentsOf(relay)) up(parent);
    };
    for (const home of this.homes.get(origin) ?? []) up(home);
    for (let before = -1; before < reached.size; ) {
      before = reached.size;
      for (const relay of this.relays)
        if (this.parentsOf(relay).some((p) => reached.has(p))) reached.add(relay);
    }
    return (this.homes.get(consumer) ?? []).some((home) => reached.has(home));
  }

  #dialling(relay: string): readonly string[] {
    return this.clusters.filter((cluster) => this.homes.get(cluster)?.includes(relay));
  }

  #below(relay: string, seen = new Set<string>()): Set<string> {
    const clusters = new Set<string>();
    if (seen.has(relay)) return clusters;
    seen.add(relay);
    for (const cluster of this.#dialling(relay)) clusters.add(cluster);
    for (const child of this.relays) {
      if (!this.parentsOf(child).includes(relay)) continue;
      for (const cluster of this.#below(child, seen)) clusters.add(cluster);
    }
    return clusters;
  }
}
