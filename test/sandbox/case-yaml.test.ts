import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { frontEnd, providerOf, selector, wholeOf } from './case-objects.ts';
import { caseWorld, Traffic, until } from './case-world.ts';

const host = 'web.shop.gw.cluster.local';

const world = caseWorld({
  clusters: { east: { nodes: ['e1'], dataPlane: true }, west: { nodes: ['w1'] } },
  prepare: async (w) => {
    w.cluster('east').objects.write('web.yaml', ...wholeOf('web'));
    w.cluster('west').objects.write('web.yaml', ...providerOf('web'));
    await Promise.all([
      w.addClient('east', 'e1'),
      w.addPods('east', 'web', ['e1']),
      w.addPods('west', 'web', ['w1']),
    ]);
  },
});

const gatewayText = (name: string): string => `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: ${name}
  namespace: shop
spec:
  gatewayClassName: cluster-ip
  listeners:
    - name: http
      protocol: TCP
      port: 80
`;

const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
  .concat(
    Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]`),
  )
  .join('\n');

/** What may end up in a folder, and the line that is to blame. */
const bad: readonly (readonly [what: string, text: string, line: number])[] = [
  ['broken', `${gatewayText('bad')}---\nkind: [Gateway\nmetadata: {\n`, 14],
  ['duplicate keys', gatewayText('bad').replace('spec:', 'spec:\n  gatewayClassName: other'), 8],
  ['wrong types', gatewayText('bad').replace('port: 80', 'port: {http: 80}'), 11],
  ['out of range', gatewayText('bad').replace('port: 80', 'port: 99999'), 11],
  ['missing', gatewayText('bad').replace('  gatewayClassName: cluster-ip\n', ''), 6],
  ['an alias bomb', `${bomb}\n${gatewayText('bad')}`, 5],
  [
    'an alias bomb inside',
    gatewayText('bad').replace('spec:', `annotations:\n  ${bomb.replaceAll('\n', '\n  ')}\nspec:`),
    11,
  ],
  ['deep', gatewayText('bad').replace('port: 80', `port: ${'['.repeat(50_000)}${']'.repeat(50_000)}`), 11],
  ['huge', `${gatewayText('bad')}---\nx: ${'y'.repeat(40_000_000)}\n`, 1],
  ['many', Array.from({ length: 30_000 }, (_, i) => `---\n{a: ${i}}\n`).join(''), 2],
  ['binary', '\u0000\u0001\u0002\ufffd\n', 1],
  ['no object', '- just\n- a list\n', 1],
  ['an unknown kind', 'apiVersion: v1\nkind: Gatewey\nmetadata: {name: x}\n', 2],
  ['a name that is none', gatewayText('Not_A_Name'), 4],
];

const file = (what: string): string => `bad/${what.replaceAll(' ', '-')}.yaml`;
const problems = (): Promise<string> => world().page('east controller', '/debug/problems');
const count = (): Promise<number | undefined> => world().metric('east controller', 'file_problems');

test('design YAML whatever is dropped into the folder, neighbours work, nothing fails, and the place is named', async () => {
  const w = world();
  const { objects } = w.cluster('east');
  const client = w.pod('east', 'client-e1').host;
  const pods = [w.pod('east', 'web-0'), w.pod('west', 'web-0')];
  const vip = await w.programmed('east', 'web');
  await w.leadsTo(
    'east',
    vip,
    pods.map((pod) => `${pod.ip}:8080`),
  );
  const traffic = await Traffic.start(client, { host, port: 80 });
  for (const [i, [what, text, line]] of bad.entries()) {
    objects.writeText(file(what), text);
    await until(`${what} is reported with its place`, async () => {
      expect(await problems(), what).toContain(`/${file(what)}:${line}`);
    });
    // The folder is followed all the same.
    const name = `good-${i}`;
    objects.write(`${name}.yaml`, ...frontEnd(name, [{ port: 80 }]));
    await w.programmed('east', name);
    objects.remove(`${name}.yaml`);
  }
  // All of them together, and a new pod is there at once.
  const text = await problems();
  for (const [what, , line] of bad) expect(text).toContain(`/${file(what)}:${line}`);
  expect(await count()).toBeGreaterThanOrEqual(bad.length);
  const more = await w.addPods('east', 'web-more', ['e1'], { labels: { app: 'web' } });
  await traffic.comesOnlyFrom([...pods, ...more]);
  for (const pod of more) pod.terminate();
  await traffic.comesOnlyFrom(pods);
  for (const pod of more) await w.cluster('east').removePod(pod);
  for (const [what] of bad) objects.remove(file(what));
  await until('nothing is wrong any more', async () => expect(await problems()).not.toContain('bad/'));
  expect(await count()).toBe(0);
  expect(w.status('east', 'Gateway', 'bad')).toEqual({});
  await traffic.endsWithoutFailure();
});

const whole = wholeOf('web')
  .map((o) => stringify(o))
  .join('---\n');

/** What an editor, a template or a merge makes of a file that was good. */
const damaged: readonly (readonly [what: string, text: string])[] = [
  ['half of it', `${whole.slice(0, whole.length / 2)}\n  "`],
  ['empty text in the middle of a write', `${whole.slice(0, 40)}: [`],
  ['duplicate keys', whole.replaceAll('spec:\n', 'spec:\n  a: 1\n  a: 2\n')],
  ['wrong types', whole.replaceAll(/port: \d+/g, 'port: {}').replaceAll('matchLabels:', 'matchLabel:')],
  ['marks of a merge', `<<<<<<< ours\n${whole}=======\n${whole}>>>>>>> theirs\n`],
  ['an alias bomb in front', `${bomb}\n${whole}`],
  ['too deep', `${whole}---\nx: ${'{a: '.repeat(5_000)}1${'}'.repeat(5_000)}\n`],
  ['too long', `${whole}---\nx: ${'y'.repeat(40_000_000)}\n`],
  ['binary', '\u0000\u0001\u0002\ufffd\n'],
];

test('design YAML a file that breaks keeps its last good version in force, also over a restart', async () => {
  const w = world();
  const { objects } = w.cluster('east');
  const pods = [w.pod('east', 'web-0'), w.pod('west', 'web-0')];
  const targets = pods.map((pod) => `${pod.ip}:8080`);
  const vip = await w.programmed('east', 'web');
  const traffic = await Traffic.start(w.pod('east', 'client-e1').host, { host, port: 80 });
  const reported = (what: string): Promise<void> =>
    until(`${what} is reported, and what stays`, async () => {
      const text = await problems();
      expect(text, what).toMatch(/\/web\.yaml:\d+/);
      // A file that is too deep or too long may have been read up to there.
      if (!what.startsWith('too')) expect(text, what).toContain('kept: the last good version');
    });
  const fine = (): Promise<void> =>
    until('nothing is wrong with it', async () => expect(await problems()).not.toContain('/web.yaml:'));
  for (const [what, text] of damaged) {
    objects.writeText('web.yaml', text);
    await reported(what);
    // Everything that comes after has been read with this version in place.
    objects.write('beside.yaml', ...frontEnd('beside', [{ port: 80 }]), selector('beside'));
    await w.programmed('east', 'beside');
    objects.remove('beside.yaml');
    await until('beside is gone', () => expect(w.status('east', 'Gateway', 'beside')).toEqual({}));
    expect((await w.targets('east', 'e1', vip)).toSorted(), what).toEqual(targets.toSorted());
    objects.writeText('web.yaml', whole);
    await fine();
  }
  objects.writeText('web.yaml', damaged[0]?.[1] ?? '');
  await reported('half of it');
  await w.supervisor.restart('east controller');
  await reported('half of it');
  await until('the agent is back', async () => {
    expect(await w.page('east controller', '/debug/nodes')).toMatch(/node: e1\s+connected: true/);
  });
  await w.leadsTo('east', vip, targets);
  objects.writeText('web.yaml', whole);
  await fine();
  await traffic.comesOnlyFrom(pods);
  await traffic.endsWithoutFailure();
  expect(w.vip('east', 'web')).toBe(vip);
});
