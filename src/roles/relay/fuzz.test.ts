import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Export } from '../../model/compiled.ts';
import { renderExport } from '../../outputs/relay/render.ts';
import type { ResourceLog } from '../../outputs/xds/resource-log.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { addresses, type Consumer, identity, type Publisher, RelayMemoryBed } from './memory-bed.ts';
import type { TestHub } from './memory-relay.ts';
import { store } from './test-bed.ts';

const composites = ['a', 'b', 'c'];
const clusters = ['west', 'north'] as const;
type Cluster = (typeof clusters)[number];

type Op =
  | { readonly op: 'export'; readonly cluster: Cluster; readonly composite: string; readonly count: number }
  | { readonly op: 'policy'; readonly cluster: Cluster; readonly composite: string; readonly isOpen: boolean }
  /** Also, or no longer, offered to composites of another name. */
  | {
      readonly op: 'alias';
      readonly cluster: Cluster;
      readonly composite: string;
      readonly other: string | undefined;
    }
  | { readonly op: 'restart' | 'cut'; readonly cluster: Cluster }
  | { readonly op: 'members'; readonly isListed: boolean; readonly cluster: Cluster }
  | { readonly op: 'import'; readonly composites: readonly string[] }
  | { readonly op: 'hub' | 'consumer' | 'settle' | 'beat' };

const cluster = fc.constantFrom(...clusters);
const composite = fc.constantFrom(...composites);
const anyOp: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('export' as const),
      cluster,
      composite,
      count: fc.constantFrom(-1, 0, 1, 2, 150, 400),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('policy' as const), cluster, composite, isOpen: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        op: fc.constant('alias' as const),
        cluster,
        composite,
        other: fc.option(composite, { nil: undefined }),
      })
      .filter(({ composite: own, other }) => own !== other),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constantFrom('restart' as const, 'cut' as const), cluster }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('members' as const), cluster, isListed: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('import' as const), composites: fc.subarray(composites) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constantFrom('hub' as const, 'consumer' as const, 'settle' as const, 'beat' as const),
    }),
  },
);

const portOf = (name: string) => `shop/${name}/tcp-80`;

/** A small world: two members that export, one that imports, a relay that comes and goes. */
class World {
  readonly bed = new RelayMemoryBed();
  readonly exports = new Map<Cluster, Map<string, Export>>(clusters.map((c) => [c, new Map()]));
  readonly publishers = new Map<Cluster, Publisher>();
  readonly listed = new Set<Cluster>(clusters);
  readonly consumer: Consumer;
  imports = new Set(composites.map(portOf));
  hub: TestHub;
  #epoch = 1;

  constructor() {
    this.hub = this.#newHub();
    for (const c of clusters) this.#start(c);
    this.consumer = this.bed.consumer(identity('east'), ...this.imports).link(this.hub);
  }

  async run(op: Op): Promise<void> {
    switch (op.op) {
      case 'export':
        return this.#export(op.cluster, op.composite, op.count);
      case 'policy':
        return this.#policy(op.cluster, op.composite, op.isOpen);
      case 'alias':
        return this.#alias(op.cluster, op.composite, op.other);
      case 'restart':
        this.publishers.get(op.cluster)?.stop();
        return this.#start(op.cluster);
      case 'cut':
        return this.publishers.get(op.cluster)?.unlink();
      case 'members':
        if (op.isListed) this.listed.add(op.cluster);
        else this.listed.delete(op.cluster);
        this.hub.members('east', ...this.listed);
        return;
      case 'import':
        this.imports = new Set(op.composites.map(portOf));
        return this.consumer.source.setImports(this.imports);
      case 'hub':
        for (const p of this.publishers.values()) p.unlink();
        this.consumer.unlink();
        this.hub = this.#newHub();
        return;
      case 'consumer':
        this.consumer.link(this.hub);
        return;
      case 'beat':
        this.bed.clock.advance(2_000);
        return;
      case 'settle':
        return this.bed.settle();
    }
  }

  log(c: Cluster): ResourceLog {
    return (this.publishers.get(c) as Publisher).state.log;
  }

  /** Everybody is linked, and nothing is under way. */
  async calm(): Promise<void> {
    for (const c of this.listed) this.publishers.get(c)?.link(this.hub);
    this.consumer.link(this.hub);
    await this.bed.settle();
    this.bed.clock.advance(16_000);
    await this.bed.settle();
  }

  expected(): Record<string, number> {
    const wanted: Record<string, number> = {};
    for (const c of this.listed) {
      for (const [port, { composite: name, endpoints, to, as = {} }] of this.exports.get(c) ?? []) {
        if (this.imports.has(port) && to[0]?.names === undefined) wanted[`${port}/${c}`] = endpoints.length;
        for (const other of Object.keys(as)) {
          if (this.imports.has(`${other}/tcp-80`))
            wanted[`${other}/tcp-80/${c}:shop:${name}`] = endpoints.length;
        }
      }
    }
    return wanted;
  }

  seen(): Record<string, number> {
    return Object.fromEntries([...this.consumer.contributions].map(([key, c]) => [key, c.endpoints.length]));
  }

  #newHub(): TestHub {
    const hub = this.bed.hub('east', ...this.listed);
    this.bed.publisher(identity('east')).export().link(hub);
    return hub;
  }

  #start(c: Cluster): void {
    this.#epoch += 1;
    const publisher = this.bed.publisher(identity(c), { epoch: this.#epoch });
    publisher.state.update(new Map(this.exports.get(c)));
    this.publishers.set(c, publisher);
    if (this.listed.has(c)) publisher.link(this.hub);
  }

  #export(c: Cluster, name: string, count: number): void {
    const mine = this.exports.get(c) as Map<string, Export>;
    const port = portOf(name);
    const { to = [{}], as } = mine.get(port) ?? {};
    const policy = { to, ...(as ? { as } : {}) };
    if (count < 0) mine.delete(port);
    else mine.set(port, store(addresses(count, c === 'west' ? 1 : 2), { composite: name, ...policy }));
    this.publishers.get(c)?.state.update(new Map(mine), new Set([port]));
  }

  #alias(c: Cluster, name: string, other: string | undefined): void {
    const mine = this.exports.get(c) as Map<string, Export>;
    const port = portOf(name);
    const { as: _, ...before } = mine.get(port) ?? {};
    if (!('to' in before)) return;
    mine.set(port, {
      ...(before as Export),
      ...(other === undefined ? {} : { as: { [`shop/${other}`]: [{}] } }),
    });
    this.publishers.get(c)?.state.update(new Map(mine), new Set([port]));
  }

  #policy(c: Cluster, name: string, isOpen: boolean): void {
    const mine = this.exports.get(c) as Map<string, Export>;
    const port = portOf(name);
    const before = mine.get(port);
    if (!before) return;
    mine.set(port, { ...before, to: isOpen ? [{}] : [{ names: ['nobody'] }] });
    this.publishers.get(c)?.state.update(new Map(mine), new Set([port]));
  }
}

test('whatever happens on the way, in the end everybody has exactly what is offered', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyOp, { maxLength: 25 }), async (ops) => {
      const world = new World();
      for (const op of ops) await world.run(op);
      await world.calm();
      expect(world.seen()).toEqual(world.expected());
      expect(Object.fromEntries(world.consumer.imports)).toEqual(
        Object.fromEntries([...world.imports].map((port) => [port, true])),
      );
      for (const origin of world.consumer.origins.values()) expect(origin.state).toBe('Synced');
      for (const c of clusters) {
        const log = world.log(c);
        const held = [typeUrls.cluster, typeUrls.assignment].flatMap((t) =>
          [...log.entries(t)].map((e) => `${e.name} ${e.version}`),
        );
        const fresh = [...(world.exports.get(c)?.values() ?? [])].flatMap((e) =>
          renderExport(e, { set: 'demo', cluster: c, network: 'n1' }, 0).map((r) => `${r.name} ${r.version}`),
        );
        expect(held.sort()).toEqual(fresh.sort());
      }
    }),
    { numRuns: 60 },
  );
});

test('no cut, restart or silence ever takes a contribution away', async () => {
  const harmless = anyOp.filter((op) =>
    ['restart', 'cut', 'hub', 'consumer', 'settle', 'beat'].includes(op.op),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(harmless, { maxLength: 25 }), async (ops) => {
      const world = new World();
      for (const c of clusters) {
        await world.run({ op: 'export', cluster: c, composite: 'a', count: 150 });
        await world.run({ op: 'export', cluster: c, composite: 'b', count: 1 });
      }
      await world.calm();
      const before = world.seen();
      expect(before).toEqual(world.expected());
      world.consumer.changes.length = 0;
      for (const op of ops) await world.run(op);
      await world.bed.settle();
      expect(world.seen()).toEqual(before);
      await world.calm();
      expect(world.consumer.changes.filter((c) => c.kind === 'Contribution' && !c.value)).toEqual([]);
      for (const c of world.consumer.changes) {
        if (c.kind === 'Contribution') expect(c.value?.endpoints.length).toBe(before[c.key]);
      }
    }),
    { numRuns: 60 },
  );
});
