import { afterAll, beforeAll, expect, test } from 'vitest';
import { set } from '../../src/cli/playground/control-plane.ts';
import { podObject } from '../../src/cli/playground/pod-objects.ts';
import type { Ir } from '../../src/model/ir.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLog } from '../../src/runtime/log.ts';
import { Metrics } from '../../src/runtime/metrics.ts';
import { DialCredentials } from '../../src/runtime/tls.ts';
import { IrSource } from '../../src/sources/xds/ir-source.ts';
import { wholeOf } from './case-objects.ts';
import { caseWorld, until } from './case-world.ts';

/** A real agent that stands still, and as many again as a cluster has: 49 that read as agents do, with TLS. */

const world = caseWorld({
  clusters: { east: { nodes: ['e1'], dataPlane: true } },
  prepare: async (w) => {
    w.cluster('east').objects.write('web.yaml', ...wholeOf('web'));
    await w.addPods('east', 'web', ['e1']);
  },
});

interface Reader {
  readonly node: string;
  readonly source: IrSource;
  ir: Ir | undefined;
}
const readers: Reader[] = [];

beforeAll(async () => {
  const w = world();
  const controller = `${w.cluster('east').plan.control.v4}:18000`;
  for (let i = 1; i <= 49; i += 1) {
    const node = `reader-${i}`;
    const tls = await w.plane.certificate('east', 'agent', { node });
    const source = new IrSource({
      ...{ addresses: [controller], view: 'agent', node: { id: node, cluster: 'east' } },
      credentials: new DialCredentials(tls, { set, roles: ['controller'], cluster: 'east' }),
      ...{ clock: systemClock, random: Math.random, log: silentLog, metrics: new Metrics() },
    });
    const reader: Reader = { node, source, ir: undefined };
    source.onChange((ir) => {
      reader.ir = ir;
      return undefined;
    });
    readers.push(reader);
  }
});
afterAll(() => {
  for (const { source } of readers) source.close();
});

const backend = 'composite/shop/web/tcp-80';
const ips: string[] = [];

/** One pod more, of which there is the object only. */
function addPod(): void {
  const i = ips.length;
  const ip = `10.10.1.${100 + i}`;
  ips.push(ip);
  world()
    .cluster('east')
    .objects.write(
      `pods/shop.late-${i}.yaml`,
      podObject({
        ...{
          namespace: 'shop',
          name: `late-${i}`,
          node: 'e1',
          labels: { app: 'web' },
          ips: [ip],
          ready: true,
        },
        uid: `f3b4a1de-0000-4000-8000-0000000001${String(i).padStart(2, '0')}`,
        ports: [{ port: 8080, protocol: 'TCP' }],
        ...{ hostIp: world().cluster('east').node('e1').address.v4, created: '2026-01-01T00:00:00Z' },
      }),
    );
}

const addressesOf = (ir: Ir | undefined): readonly string[] =>
  (ir?.backends.get(backend)?.groups ?? [])
    .flatMap((g) => g.endpoints.map((e) => e.addresses[0] ?? ''))
    .sort();
const wanted = (): readonly string[] => [world().pod('east', 'web-0').ip, ...ips].sort();
const lag = (node: string): Promise<number | undefined> =>
  world().metric('east controller', 'xds_client_lag', { node });

const allReadersHold = (): Promise<void> =>
  until('49 readers have what there is', () => {
    for (const { node, ir } of readers) expect(addressesOf(ir), node).toEqual(wanted());
  });

test('P9 one agent of 50 that stands still holds up nobody, its lag is shown, and it gets the newest when it goes on', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  await allReadersHold();
  await until('none is behind', async () => {
    for (const { node } of [...readers, { node: 'e1' }]) expect(await lag(node), node).toBe(0);
  });
  const before = await w.targets('east', 'e1', vip);
  w.supervisor.signal('east agent e1', 'SIGSTOP');
  try {
    addPod();
    await until('the agent that stands still is behind, and no other', async () => {
      expect(await lag('e1')).toBeGreaterThan(0);
      for (const { node } of readers) expect(await lag(node), node).toBe(0);
    });
    for (let i = 0; i < 20; i += 1) {
      addPod();
      await allReadersHold();
    }
    expect(await w.targets('east', 'e1', vip)).toEqual(before);
    // It stands until keepalives have given it up, and others are told of changes as before.
    await until('its stream is given up', async () => expect(await lag('e1')).toBeUndefined());
    addPod();
    await allReadersHold();
    await until('none is behind', async () => {
      for (const { node } of readers) expect(await lag(node), node).toBe(0);
    });
    expect(await w.targets('east', 'e1', vip)).toEqual(before);
  } finally {
    w.supervisor.signal('east agent e1', 'SIGCONT');
  }
  await w.leadsTo(
    'east',
    vip,
    wanted().map((ip) => `${ip}:8080`),
  );
  await until('it is behind no more', async () => expect(await lag('e1')).toBe(0));
});
