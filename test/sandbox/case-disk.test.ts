import { afterAll, expect, test } from 'vitest';
import { runCommand } from '../../src/cli/playground/run-command.ts';
import { gateway, wholeOf } from './case-objects.ts';
import { caseWorld, Traffic, until } from './case-world.ts';
import { answers, fillDisk, smallDisk } from './fault-kinds.ts';
import { settledState } from './settled-state.ts';

/** What a controller does when its disk does not do what a disk should. */

const unmount: (() => Promise<void>)[] = [];

const world = caseWorld({
  clusters: { east: { nodes: ['e1'], dataPlane: true } },
  prepare: async (w) => {
    const { stateDir, objects } = w.cluster('east');
    unmount.push(await smallDisk(stateDir));
    objects.write('all.yaml', ...wholeOf('web'));
    await Promise.all([w.addClient('east', 'e1'), w.addPods('east', 'web', ['e1', 'e1'])]);
  },
});

afterAll(async () => {
  await Promise.all(unmount.map((end) => end()));
});

const controller = 'east controller';
const problems = () => world().page(controller, '/debug/problems');

test('design disk a full disk stops nothing, is told, and loses no claim and makes none twice', async () => {
  const w = world();
  const { stateDir, objects } = w.cluster('east');
  const vip = await w.programmed('east', 'web');
  const traffic = await Traffic.start(w.pod('east', 'client-e1').host, { host: vip, port: 80 });
  const before = await settledState(w);
  const empty = fillDisk(stateDir);

  objects.write('more.yaml', gateway('more', [{ port: 80 }]));
  await until('it says so', async () => {
    expect(await problems()).toMatch(/✖ claims cannot be written: .*ENOSPC/);
    expect(await w.metric(controller, 'state_unwritten', { what: 'claims' })).toBe(1);
  });
  // It serves on: what comes and goes is followed, only addresses are not given out.
  expect(await w.page(controller, '/readyz')).toBe('ok\n');
  const [pod] = await w.addPods('east', 'web-more', ['e1'], { labels: { app: 'web' } });
  const pods = ['web-0', 'web-1'].map((name) => `${w.pod('east', name).ip}:8080`);
  await w.leadsTo('east', vip, [...pods, `${pod?.ip}:8080`]);
  // Whatever ends it, it comes back with what was given out, and a node that comes anew is served.
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    await w.supervisor.restart(controller, signal);
    await w.supervisor.restart('east agent e1', signal);
    await w.leadsTo('east', vip, [...pods, `${pod?.ip}:8080`]);
  }
  expect(await w.metric(controller, 'state_unwritten', { what: 'claims' })).toBe(1);

  empty();
  const more = await w.programmed('east', 'more');
  expect(more).not.toBe(vip);
  await until('it has written everything', async () => {
    for (const what of ['claims', 'statuses', 'files'])
      expect(await w.metric(controller, 'state_unwritten', { what })).toBe(0);
    expect(await problems()).not.toContain('cannot be written');
  });
  // What was given out with the disk full is the same after a restart.
  await w.supervisor.restart(controller, 'SIGKILL');
  expect(await w.programmed('east', 'more')).toBe(more);
  expect(await w.programmed('east', 'web')).toBe(vip);
  objects.remove('more.yaml');
  pod?.terminate();
  await w.leadsTo('east', vip, pods);
  if (pod) await w.cluster('east').removePod(pod);
  expect(await settledState(w)).toEqual(before);
  await traffic.endsWithoutFailure();
});

test('design unmounted the disk with the YAML goes away: what was in it stays in force, also over a restart', async () => {
  const w = world();
  const { objects } = w.cluster('east');
  const vip = await w.programmed('east', 'web');
  const traffic = await Traffic.start(w.pod('east', 'client-e1').host, { host: vip, port: 80 });
  const pods = ['web-0', 'web-1'].map((name) => `${w.pod('east', name).ip}:8080`);
  // An empty one in its place, as the folder below a mount is.
  await smallDisk(objects.dir, w.supervisor.pid(controller));
  const found = /found: an empty one in the place of one that had objects/;
  await until('it says so', async () => expect(await problems()).toMatch(found));
  await traffic.flows(50);
  expect(await w.targets('east', 'e1', vip)).toEqual(pods.sort());

  const forOthers = await smallDisk(objects.dir);
  await w.supervisor.kill(controller);
  w.supervisor.launch(w.supervisor.spec(controller));
  await answers(w, controller);
  await forOthers();
  await until('it waits for the folder', async () => {
    expect(await w.page(controller, '/readyz')).toMatch(/^503 the folder .* has not been read whole yet/);
    expect(await problems()).toMatch(found);
  });
  await traffic.flows(50);
  expect(await w.targets('east', 'e1', vip)).toEqual(pods.sort());
  const inIt = `--mount=/proc/${w.supervisor.pid(controller)}/ns/mnt`;
  expect(await runCommand(['nsenter', inIt, 'umount', objects.dir])).toMatchObject({ code: 0 });
  await w.supervisor.untilReady(controller);
  expect(await w.programmed('east', 'web')).toBe(vip);
  await until('nothing is wrong', async () => expect(await problems()).not.toContain('✖'));
  await traffic.endsWithoutFailure();
});
