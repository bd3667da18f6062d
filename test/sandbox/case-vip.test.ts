import { expect, test } from 'vitest';
import { composite, gateway, route, selector } from './case-objects.ts';
import { type CaseWorld, caseWorld, until } from './case-world.ts';

const address = '10.96.200.1';

/** A front end that asks for the address; its pods are those of `app`. */
const frontEnd = (world: CaseWorld, name: string, app: string): void =>
  world
    .cluster('east')
    .objects.write(`${name}.yaml`, gateway(name, [{ port: 80 }], [address]), route(name, { port: 80 }, app));

const world = caseWorld({
  clusters: { east: { nodes: ['e1', 'e2'], dataPlane: true } },
  prepare: async (w) => {
    const { objects } = w.cluster('east');
    for (const app of ['red', 'blue']) {
      const alone = { import: { from: [] } };
      objects.write(
        `${app}-app.yaml`,
        composite(app, [{ port: 80, targetPort: 8080 }], true, alone),
        selector(app),
      );
      await w.addPods('east', app, ['e1']);
    }
    frontEnd(w, 'old', 'red');
  },
  start: async (w) => {
    await w.startController('east');
    await Promise.all(['e1', 'e2'].map((node) => w.startAgent('east', node)));
  },
});

const at = (app: string): string => `${world().pod('east', `${app}-0`).ip}:8080`;
const targets = (node: string): Promise<readonly string[]> => world().targets('east', node, address);

/** The address is kept from `name`, because of the node that may hold it still. */
async function refused(name: string): Promise<void> {
  const w = world();
  await until(`${name} does not get the address`, () => {
    expect(w.condition('east', 'Gateway', name, 'Programmed')).toMatchObject({
      status: 'False',
      reason: 'AddressNotUsable',
      message: expect.stringContaining(address),
    });
  });
  const claims = await w.page('east controller', '/debug/claims');
  expect(claims).toContain('state: releasing');
  expect(claims).toMatch(/holders: \[e2\]\n/);
  expect(w.status('east', 'Gateway', name).addresses ?? []).toEqual([]);
}

/** Whatever else happens, the address stays out of reach. */
async function staysRefused(name: string, other: string): Promise<void> {
  const w = world();
  await refused(name);
  w.cluster('east').objects.write(
    `${other}.yaml`,
    gateway(other, [{ port: 80 }]),
    route(other, { port: 80 }, 'blue'),
  );
  expect(await w.programmed('east', other)).not.toBe(address);
  await w.supervisor.restart('east agent e1');
  await w.supervisor.restart('east controller');
  await until('e1 is back', async () =>
    expect(await w.page('east controller', '/debug/nodes')).toMatch(/node: e1\s+connected: true/),
  );
  await refused(name);
  expect(await targets('e1')).toEqual(['untouched']);
}

test('design VIP a freed address is not given out while an agent that may hold it is down, until it has caught up', async () => {
  const w = world();
  const { objects } = w.cluster('east');
  expect(await w.programmed('east', 'old')).toBe(address);
  await w.leadsTo('east', address, [at('red')]);
  await w.supervisor.kill('east agent e2');
  objects.remove('old.yaml');
  await until('e1 does not translate it any more', async () =>
    expect(await targets('e1')).toEqual(['untouched']),
  );
  frontEnd(w, 'new', 'blue');
  await staysRefused('new', 'beside');
  // This is why: who came to this node with the address would reach what it was before.
  expect(await targets('e2')).toEqual([at('red')]);
  await w.supervisor.restart('east agent e2');
  expect(await w.programmed('east', 'new')).toBe(address);
  await w.leadsTo('east', address, [at('blue')]);
});

test('design VIP a freed address is given out once the node whose agent is down is gone', async () => {
  const w = world();
  const { objects } = w.cluster('east');
  await w.supervisor.kill('east agent e2');
  objects.remove('new.yaml');
  await until('e1 does not translate it any more', async () =>
    expect(await targets('e1')).toEqual(['untouched']),
  );
  frontEnd(w, 'third', 'red');
  await staysRefused('third', 'beside-too');
  // A node that is not Ready is still there.
  w.cluster('east').writeNode('e2', false);
  await until('the controller knows', async () =>
    expect(await w.page('east controller', '/debug/inputs')).toMatch(/name: e2[\s\S]*?status: "False"/),
  );
  await refused('third');
  objects.remove('nodes/e2.yaml');
  expect(await w.programmed('east', 'third')).toBe(address);
  expect(await targets('e1')).toEqual([at('red')]);
});

test('design VIP a freed address is given out though a node refuses another Gateway', async () => {
  const w = world();
  const { objects } = w.cluster('east');
  const own = '10.96.200.9';
  await w
    .cluster('east')
    .node('e1')
    .namespace.ip([`address add ${own}/32 dev lo`]);
  objects.write('own.yaml', gateway('own', [{ port: 80 }], [own]), route('own', { port: 80 }, 'red'));
  await until('e1 refuses it', () => {
    expect(w.condition('east', 'Gateway', 'own', 'Programmed')).toMatchObject({
      status: 'False',
      message: expect.stringContaining(`${own} is an address of this node`),
    });
  });
  objects.remove('third.yaml');
  frontEnd(w, 'fourth', 'blue');
  expect(await w.programmed('east', 'fourth')).toBe(address);
  expect(await targets('e1')).toEqual([at('blue')]);
});
