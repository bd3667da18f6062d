import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ProcessSpec } from '../../src/cli/playground/supervisor.ts';
import { composite, gateway, type ListenerPort, route, selector } from './case-objects.ts';
import { type CaseWorld, caseWorld, until } from './case-world.ts';

const alone = { import: { from: [] } };

/** `web` with these ports: each lead to the pods' 8080. */
function writeWeb(world: CaseWorld, ports: readonly number[]): void {
  const listeners = ports.map((port): ListenerPort => ({ port }));
  world.cluster('east').objects.write(
    'web.yaml',
    gateway('web', listeners),
    ...listeners.map((listener) => route('web', listener)),
    composite(
      'web',
      ports.map((port) => ({ port, targetPort: 8080 })),
      true,
      alone,
    ),
    selector('web'),
  );
}

/** Its node takes half a second for each change: who calls something programmed too early is seen. */
async function slowAgent(world: CaseWorld, node: string): Promise<ProcessSpec> {
  const folder = join(world.network.root, 'slow');
  const path = process.env.PATH ?? '';
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'nft'), `#!/bin/sh\nsleep 0.5\nPATH=${path} exec nft "$@"\n`, { mode: 0o755 });
  const spec = await world.plane.agent(world.cluster('east'), node);
  return { ...spec, command: ['env', `PATH=${folder}:${path}`, ...spec.command] };
}

const world = caseWorld({
  clusters: { east: { nodes: ['e1', 'e2'], dataPlane: true } },
  prepare: async (w) => {
    writeWeb(w, [80]);
    await w.addPods('east', 'web', ['e1']);
  },
  start: async (w) => {
    await w.startController('east');
    await Promise.all([w.startAgent('east', 'e1'), w.supervisor.start(await slowAgent(w, 'e2'))]);
  },
});

const programmed = () => world().condition('east', 'Gateway', 'web', 'Programmed');
const generation = (): number =>
  world().condition('east', 'Gateway', 'web', 'Accepted')?.observedGeneration ?? 0;

const becomes = (status: string, of: number): Promise<void> =>
  until(`generation ${of} is Programmed: ${status}`, () =>
    expect(programmed()).toMatchObject({ status, observedGeneration: of }),
  );

/** Where a port leads on a node now, without waiting. */
const onNode = (node: string, port: number): Promise<readonly string[]> =>
  world().targets('east', node, world().vip('east', 'web'), port);

test('design Programmed is True only when the kernels of both nodes hold the generation', async () => {
  await becomes('True', 1);
  const target = [`${world().pod('east', 'web-0').ip}:8080`];
  for (let i = 1; i <= 5; i++) {
    const before = generation();
    writeWeb(world(), [80, 80 + i]);
    await becomes('True', before + 1);
    for (const node of ['e1', 'e2'])
      expect(await onNode(node, 80 + i), `${node}, round ${i}`).toEqual(target);
  }
});

test('design Programmed is Pending while one connected agent does not acknowledge', async () => {
  const w = world();
  const target = [`${w.pod('east', 'web-0').ip}:8080`];
  w.supervisor.signal('east agent e2', 'SIGSTOP');
  try {
    const next = generation() + 1;
    writeWeb(w, [80, 8080]);
    await until('e1 holds it', async () => expect(await onNode('e1', 8080)).toEqual(target));
    await becomes('False', next);
    await until('the status names the node', () => {
      expect(programmed()).toMatchObject({ reason: 'Pending', message: expect.stringContaining('e2') });
    });
    // Another change of the same object is another generation, which e2 does not hold either.
    writeWeb(w, [80, 8081]);
    await until('e1 holds it', async () => expect(await onNode('e1', 8081)).toEqual(target));
    await becomes('False', next + 1);
    expect(await onNode('e2', 8081)).not.toEqual(target);
    w.supervisor.signal('east agent e2', 'SIGCONT');
    await becomes('True', next + 1);
    expect(await onNode('e2', 8081)).toEqual(target);
  } finally {
    w.supervisor.signal('east agent e2', 'SIGCONT');
  }
});

test('design Programmed stays True when nodes join, leave or restart, and when the controller does', async () => {
  const w = world();
  const east = w.cluster('east');
  await becomes('True', generation());
  const before = programmed();
  const seen = new Set<string>();
  const look = (): void => {
    const now = programmed();
    seen.add(`${now?.status} ${now?.observedGeneration} ${now?.lastTransitionTime}`);
  };
  const watch = setInterval(look, 20);
  const nodes = async (): Promise<string> => w.page('east controller', '/debug/nodes');
  try {
    await w.supervisor.restart('east agent e1');
    await until('e1 is back', async () => expect(await nodes()).toMatch(/node: e1\s+connected: true/));
    await east.addNode('e3');
    await w.startAgent('east', 'e3');
    await until('e3 is there', async () => expect(await nodes()).toMatch(/node: e3\s+connected: true/));
    await w.supervisor.kill('east agent e3');
    east.objects.remove('nodes/e3.yaml');
    await until('e3 is gone', async () => expect(await nodes()).not.toContain('node: e3'));
    await w.supervisor.kill('east agent e2');
    await until('e2 is away', async () => expect(await nodes()).toMatch(/node: e2\s+connected: false/));
    east.writeNode('e2', false);
    await w.supervisor.restart('east controller');
    await until('e1 is back', async () => expect(await nodes()).toMatch(/node: e1\s+connected: true/));
    east.writeNode('e2', true);
    await w.supervisor.restart('east agent e2');
    await until('e2 is back', async () => expect(await nodes()).toMatch(/node: e2\s+connected: true/));
    await w.supervisor.kill('east agent e1');
    await w.supervisor.kill('east agent e2');
    await until('nobody is there', async () => expect(await nodes()).not.toContain('connected: true'));
    await Promise.all(['e1', 'e2'].map((node) => w.supervisor.restart(`east agent ${node}`)));
  } finally {
    clearInterval(watch);
  }
  look();
  // A flip and a flip back would have moved the time.
  expect([...seen]).toEqual([`True ${before?.observedGeneration} ${before?.lastTransitionTime}`]);
});

test('design Programmed is Pending for a generation that no connected agent holds', async () => {
  const w = world();
  const target = [`${w.pod('east', 'web-0').ip}:8080`];
  for (const node of ['e1', 'e2']) await w.supervisor.kill(`east agent ${node}`);
  const next = generation() + 1;
  writeWeb(w, [80, 8090]);
  await becomes('False', next);
  expect(programmed()).toMatchObject({ reason: 'Pending' });
  await w.supervisor.restart('east controller');
  await until('the controller compiles', async () =>
    expect(await w.page('east controller', '/debug/ir')).toContain('tcp-8090'),
  );
  expect(programmed()).toMatchObject({ status: 'False', reason: 'Pending', observedGeneration: next });
  // Agents that are not connected are not waited for: what they hold is known when they are back.
  await w.supervisor.restart('east agent e1');
  await becomes('True', next);
  expect(await onNode('e1', 8090)).toEqual(target);
  await w.supervisor.restart('east agent e2');
  await until('e2 holds it', async () => expect(await onNode('e2', 8090)).toEqual(target));
});
