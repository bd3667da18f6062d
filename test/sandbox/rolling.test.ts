import { randomInt } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../src/cli/playground/run-command.ts';
import { givenSeed, playedAgainBy, seededRandom } from '../../src/runtime/seeded-random.ts';
import { anotherBuild } from '../another-build.ts';
import { consumerOf, providerOf, wholeOf } from './case-objects.ts';
import { caseWorld } from './case-world.ts';
import { FaultTraffic } from './fault-traffic.ts';
import { settledState } from './settled-state.ts';

/** Every role is stopped in good order and started again, one at a time, in every order that chance gives. */

const seed = givenSeed() ?? randomInt(2 ** 31);
const next = '9.9.9';

const world = caseWorld({
  clusters: {
    east: { nodes: ['e1', 'e2'], dataPlane: true },
    west: { nodes: ['w1'], dataPlane: true },
  },
  prepare: async (w) => {
    for (const name of ['east', 'west']) w.cluster(name).objects.write('both.yaml', ...wholeOf('both'));
    w.cluster('east').objects.write('far.yaml', ...consumerOf('far'));
    w.cluster('west').objects.write('far.yaml', ...providerOf('far'));
    await Promise.all([
      w.addClient('east', 'e1'),
      w.addClient('west', 'w1'),
      w.addPods('east', 'both', ['e1', 'e2']),
      w.addPods('west', 'both', ['w1']),
      w.addPods('west', 'far', ['w1']),
    ]);
  },
});

let built = '';
beforeAll(async () => {
  built = await anotherBuild('/run/causeway/another', next);
});

async function startTraffic(): Promise<FaultTraffic> {
  const w = world();
  const traffic = new FaultTraffic();
  for (const [cluster, node, app] of [
    ['east', 'e1', 'both'],
    ['east', 'e1', 'far'],
    ['west', 'w1', 'both'],
  ] as const) {
    const host = w.pod(cluster, `client-${node}`).host;
    const vip = await w.programmed(cluster, app);
    traffic.add(`${app} from ${node}`, host, 'local', { host: vip, port: 80, protocol: 'TCP' });
  }
  return traffic;
}

/** A permutation of all processes. */
function orderOf(random: () => number): readonly string[] {
  const names = world().supervisor.names.map((name) => ({ name, at: random() }));
  return names.sort((a, b) => a.at - b.at).map(({ name }) => name);
}

async function ends(traffic: FaultTraffic, story: string): Promise<void> {
  await traffic.stop();
  expect(traffic.failures, story).toEqual([]);
}

test('design rolling every role restarts, in any order, and cuts nothing', async () => {
  const w = world();
  const before = await settledState(w);
  const random = seededRandom(seed).next;
  const traffic = await startTraffic();
  const orders = [orderOf(random), orderOf(random)];
  const story = [playedAgainBy(seed), ...orders.map((order) => order.join(' → '))].join('\n');
  for (const name of orders.flat()) {
    await w.supervisor.restart(name, 'SIGTERM');
    expect(traffic.failures, `after ${name}\n${story}`).toEqual([]);
  }
  expect(await settledState(w), story).toEqual(before);
  await ends(traffic, story);
});

test('design upgrade roles move to another build and back one by one, in any order, and cut nothing', async () => {
  const w = world();
  const version = await runCommand([process.execPath, built, '--version']);
  expect(version).toMatchObject({ code: 0, stdout: `${next}\n` });
  const before = await settledState(w);
  const random = seededRandom(seed + 1).next;
  const traffic = await startTraffic();
  const old = new Map(w.supervisor.names.map((name) => [name, w.supervisor.spec(name)]));
  const [forth, back] = [orderOf(random), orderOf(random)];
  const story = [playedAgainBy(seed), forth.join(' → '), back.join(' → ')].join('\n');
  const move = async (name: string, program: string | undefined): Promise<void> => {
    const spec = old.get(name) as NonNullable<ReturnType<typeof old.get>>;
    const [node = '', own = '', ...args] = spec.command;
    await w.supervisor.kill(name, 'SIGTERM');
    await w.supervisor.start({ ...spec, command: [node, program ?? own, ...args] });
    expect(traffic.failures, `after ${name}\n${story}`).toEqual([]);
  };
  for (const name of forth) await move(name, built);
  // A change goes all the way through the new ones.
  const [more] = await w.addPods('west', 'far-more', ['w1'], { labels: { app: 'far' } });
  const far = [w.pod('west', 'far-0'), more].map((pod) => `${pod?.ip}:8080`);
  await w.leadsTo('east', w.vip('east', 'far'), far);
  for (const name of back) await move(name, undefined);
  const after = await settledState(w);
  expect(Object.keys(after), story).toEqual(Object.keys(before));
  await w.leadsTo('east', w.vip('east', 'far'), far);
  await ends(traffic, story);
});
