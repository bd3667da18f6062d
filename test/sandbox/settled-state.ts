import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { parseTable } from '../../src/outputs/nft/parse.ts';
import type { Table } from '../../src/outputs/nft/table.ts';
import { parseClaims } from '../../src/outputs/objects/claim-file.ts';
import { typeUrls } from '../../src/wire/proto/type-urls.ts';
import { XdsCapture } from './case-capture.ts';
import { type CaseWorld, until } from './case-world.ts';

/** Everything that a set of processes has made of its inputs, without times and without the order of slots. */
export async function settledState(world: CaseWorld): Promise<Readonly<Record<string, unknown>>> {
  await settled(world);
  const state: Record<string, unknown> = {};
  for (const { name, nodes, stateDir } of world.network.clusters.values()) {
    for (const node of nodes.keys()) {
      state[`table of ${node}`] = linesOf(await world.table(name, node));
      state[`what ${node} was told`] = parse(await world.page(`${name} agent ${node}`, '/debug/ir'));
    }
    state[`Listeners of ${name}`] = await listenersOf(world, name);
    state[`zone of ${name}`] = zoneOf(await world.page(`${name} dns`, '/debug/wanted'));
    state[`statuses of ${name}`] = statusesOf(stateDir);
    state[`claims of ${name}`] = claimsOf(stateDir);
  }
  return state;
}

/** Every process is ready, every cluster hears every other, every node holds what it is told, nothing is being freed. */
async function settled(world: CaseWorld): Promise<void> {
  const { supervisor, network } = world;
  await until('everything is as it will be', async () => {
    for (const process of supervisor.names) {
      expect(supervisor.alive(process), supervisor.tail(process).join('\n')).toBe(true);
      expect(`${process}: ${await world.page(process, '/readyz')}`).toBe(`${process}: ok\n`);
    }
    for (const { name, nodes, stateDir } of network.clusters.values()) {
      const known = parse(await world.page(`${name} controller`, '/debug/nodes')) as readonly Acks[];
      expect(known.map((n) => [n.node, n.connected, n.refused])).toEqual(
        [...nodes.keys()].sort().map((node) => [node, true, []]),
      );
      expect(new Set(known.map((n) => n.position)).size).toBe(1);
      for (const node of nodes.keys()) {
        const wanted = parseTable(await world.page(`${name} agent ${node}`, '/debug/wanted'));
        if (!wanted) throw new Error(`agent ${node} wants no table`);
        // What goes is swept from the kernel a while after nothing leads to it any more.
        expect(linesOf(await world.table(name, node))).toEqual(linesOf(wanted));
      }
      for (const { clusters = [] } of statusesFields(stateDir, 'CompositeBackend')) {
        expect(clusters.map((c) => `${c.name} ${c.state}`)).toEqual(clusters.map((c) => `${c.name} Synced`));
      }
      for (const { conditions = [] } of statusesFields(stateDir, 'Gateway')) {
        expect(conditions.find((c) => c.type === 'Programmed')).toMatchObject({ status: 'True' });
      }
      expect([...claimState(stateDir).claims.values()].filter((c) => c.until !== undefined)).toEqual([]);
    }
  });
}

interface Acks {
  readonly node: string;
  readonly connected: boolean;
  readonly position: number;
  readonly refused: readonly unknown[];
}

interface StatusFields {
  readonly clusters?: readonly { readonly name: string; readonly state: string }[];
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

/** Slots of a VIP are counted by destination: which number one has depends on what was there before. */
function linesOf({ declarations, elements, chains }: Table): readonly string[] {
  const lines = [...chains].map(([chain, rules]) => `chain ${chain}: ${rules.join('; ')}`);
  for (const [set, lists] of declarations) lines.push(`set ${set}: ${lists.join('; ')}`);
  for (const [set, entries] of elements) {
    const counts = new Map<string, number>();
    for (const [key, data] of entries) {
      const slotless = /^e[tu]/.test(set) ? key.slice(0, key.lastIndexOf(' . ')) : key;
      const line = `${set}: ${slotless} → ${data}`;
      counts.set(line, (counts.get(line) ?? 0) + 1);
    }
    for (const [line, count] of counts) lines.push(count === 1 ? line : `${line} × ${count}`);
  }
  return lines.sort();
}

/** Listener → a hash of its content, as dns is sent it. */
async function listenersOf(world: CaseWorld, cluster: string): Promise<readonly string[]> {
  const { plan } = world.cluster(cluster);
  const capture = new XdsCapture({
    address: `${plan.control.v4}:18000`,
    tls: await world.plane.certificate(cluster, 'dns'),
    server: 'controller',
    names: { [typeUrls.listener]: ['*'], [typeUrls.originStatus]: ['*'] },
  });
  const origin = /OriginStatus/;
  try {
    await until('all Listeners are told', () => {
      expect(capture.failure).toBeUndefined();
      expect([...capture.sent.keys()].some((name) => origin.test(name))).toBe(true);
    });
  } finally {
    capture.close();
  }
  return [...capture.sent]
    .filter(([name]) => !origin.test(name))
    .map((entry) => entry.join(' '))
    .sort();
}

/** Without the serial number. */
const zoneOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => !line.includes('SOA'))
    .sort();

function* filesOf(folder: string): Generator<readonly [path: string, text: string]> {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) yield [path.slice(folder.length + 1), readFileSync(path, 'utf8')];
  }
}

function statusesFields(stateDir: string, kind: string): readonly StatusFields[] {
  const files = [...filesOf(join(stateDir, 'status', kind))];
  return files.map(([, text]) => (parse(text) as { status?: StatusFields }).status ?? {});
}

/** The summary of a composite is written at most once in 30 s. */
const timed = new Set(['lastTransitionTime', 'summary']);

const statusesOf = (stateDir: string): readonly unknown[] =>
  [...filesOf(join(stateDir, 'status'))]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, text]) => [
      path,
      JSON.parse(JSON.stringify(parse(text), (key, value) => (timed.has(key) ? undefined : value))),
    ]);

function claimState(stateDir: string) {
  const state = parseClaims(readFileSync(join(stateDir, 'claims.yaml'), 'utf8'));
  if (typeof state === 'string') throw new Error(state);
  return state;
}

const claimsOf = (stateDir: string): readonly string[] =>
  [...claimState(stateDir).claims.values()]
    .map((c) => `${c.address} ${c.gateway.namespace}/${c.gateway.name}`)
    .sort();
