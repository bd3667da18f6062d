import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { Model } from '../model/model.ts';
import { readInputs } from '../model/read-inputs.ts';
import { type AckSession, AckTracker } from '../outputs/xds/acks.ts';
import { certificateLine, controllerApi } from '../roles/controller/api.ts';
import { type Admin, startAdmin } from '../runtime/admin.ts';
import { Metrics } from '../runtime/metrics.ts';
import { runExplain } from './explain.ts';
import { runGet } from './get.ts';
import { fitLine, paintFor } from './paint.ts';

const testdata = join(import.meta.dirname, '..', '..', 'testdata');
const now = Date.parse('2026-01-01T00:01:00Z');
const admins: Admin[] = [];
/** The stream of node e1's agent. */
let tracked: AckSession;
/** What the controller is not ready for. */
let waitingFor: string | undefined;

afterEach(async () => {
  waitingFor = undefined;
  for (const admin of admins.splice(0)) await admin.close();
});

/** The admin pages of a controller that read a golden case, with the agent of node e1 connected. */
async function controller(name: string, ...changes: readonly (readonly [string, string])[]): Promise<string> {
  let text = readFileSync(join(testdata, name, 'in.yaml'), 'utf8').split(/^kind: Step$/m)[0] ?? '';
  for (const [from, to] of changes) text = text.replaceAll(from, to);
  const read = readInputs(parseAllDocuments(text).map((d) => d.toJS()));
  const model = new Model(read.config);
  model.update(read.changes, now);
  const acks = new AckTracker({ head: () => 0 });
  tracked = acks.connect('e1');
  acks.setReadyNodes(new Set([...model.all('Node')].map(({ metadata }) => metadata.name)));
  const day = 86_400_000;
  const certificate = { from: now - 85 * day, until: now + 5 * day };
  const relays = () => [
    { relay: '172.18.0.10:18100', connected: false, error: 'E_PEER_IDENTITY: its certificate is revoked' },
    { relay: '172.18.0.11:18100', connected: true, certificate: certificateLine(certificate, now) },
  ];
  const admin = await startAdmin({
    listen: '127.0.0.1:0',
    metrics: new Metrics(),
    ready: () => waitingFor,
    debug: () => ({}),
    api: () =>
      controllerApi({
        model,
        acks,
        relays,
        files: () => ({ folder: '', problems: [], fileOf: () => undefined }),
        heardAt: (cluster) => (cluster === 'west' ? now - 41_000 : undefined),
        refused: () =>
          name === 'composite' || name === 'unexported'
            ? [{ cluster: 'north', port: 'shop/store/tcp-80', composite: 'shop/store' }]
            : [],
        certificate: () => certificateLine({ from: now - day, until: now + 364 * day }, now),
        now: () => now,
      }),
  });
  admins.push(admin);
  return `127.0.0.1:${admin.port}`;
}

async function get(admin: string, kind: string, name?: string, output = 'table') {
  const printed: string[] = [];
  const code = await runGet({ kind, admin, output, ...(name === undefined ? {} : { name }) }, (text) =>
    printed.push(text),
  );
  return { code, text: printed.join('') };
}

test('frontends, backends, clusters and nodes as people read them', async () => {
  const staleSince = now - 41_000;
  const admin = await controller('composite', [
    'state: Synced, staleSince: 0',
    `state: Stale, staleSince: ${staleSince}`,
  ]);
  const lists = ['frontends', 'backends', 'clusters', 'nodes'].map(
    async (kind) => (await get(admin, kind)).text,
  );
  expect((await Promise.all(lists)).join('\n')).toMatchInlineSnapshot(`
    "NAME        DNS NAME                     ADDRESS      PORTS   BACKENDS  STATE
    shop/store  store.shop.gw.cluster.local  10.96.214.7  80/TCP  1         Pending: waiting for nodes

    NAME        KIND              PORT    CLUSTERS  ENDPOINTS  READY  POLICY  REFUSES  STATE
    shop/store  CompositeBackend  80/TCP  2/2       5          5      Even    north    west NoContact

    CLUSTER  NETWORK  REGION  PATH    STATE       OFFERS  HEARD     CERTIFICATE
    east     n1       eu      own     Synced      1       -         364 d
    west     n1       us      direct  Stale 41 s  1       41 s ago  -

    RELAY              LINK                                                          CERTIFICATE
    172.18.0.10:18100  ✖ not connected: E_PEER_IDENTITY: its certificate is revoked  -
    172.18.0.11:18100  connected                                                     ⚠ 5 d

    NODE  ZONE    READY  AGENT            ADMIN  REFUSES  STATE
    e1    east-a  yes    connected        -      0        NodeBehind
    e2    east-b  yes    ✖ not connected  -      0        AgentNotConnected
    "
  `);
});

test('as scripts read them', async () => {
  const admin = await controller('composite');
  expect(JSON.parse((await get(admin, 'backends', undefined, 'json')).text)).toEqual([
    {
      namespace: 'shop',
      name: 'store',
      kind: 'CompositeBackend',
      port: '80/TCP',
      clustersUsed: 2,
      clusters: 2,
      endpoints: 5,
      ready: 5,
      policy: 'Even',
      refused: ['north'],
      state: 'Synced',
      candidates: [
        expect.objectContaining({ cluster: 'east', share: 0.4, preferred: true }),
        expect.objectContaining({ cluster: 'west', share: 0.6, preferred: true }),
      ],
    },
  ]);
  expect((await get(admin, 'clusters', 'west', 'yaml')).text).toContain('cluster: west');
});

test('V3 every candidate of a back end: cluster, share, whether it is preferred and why, or why not', async () => {
  const shown = async (testCase: string, ...changes: readonly (readonly [string, string])[]) =>
    (await get(await controller(testCase, ...changes), 'backends', 'store')).text;
  const unready = [
    'podIPs: [{ip: 10.10.1.1}], conditions: [{type: Ready, status: "True"}]',
    'podIPs: [{ip: 10.10.1.1}], conditions: [{type: Ready, status: "False"}]',
  ] as const;
  const texts = [
    await shown('prefer-local'),
    await shown('prefer-local', unready),
    await shown('ordered'),
    await shown('zones'),
    await shown('other-network'),
  ];
  expect(texts.join('\n')).toMatchInlineSnapshot(`
    "CompositeBackend shop/store 80/TCP  PreferLocal

    CLUSTER  REGION  PATH    READY  ENDPOINTS  SHARE  PREFERRED  WHY
    east     eu      own     2/4    2          100 %  yes        2 of 4 ready here, 50 % are enough
    near     eu      direct  3/3    3          0 %    no         not needed: 2 of 4 ready here, 50 % are enough
    west     us      direct  3/3    3          0 %    no         not needed: 2 of 4 ready here, 50 % are enough

    CompositeBackend shop/store 80/TCP  PreferLocal

    CLUSTER  REGION  PATH    READY  ENDPOINTS  SHARE  PREFERRED  WHY
    east     eu      own     1/4    1          25 %   yes        1 of 4 ready here, fewer than 50 %: this part stays
    near     eu      direct  3/3    3          75 %   yes        same region: it takes what is not ready here (1 of 4 ready here)
    west     us      direct  3/3    3          0 %    no         another region: near is nearer

    CompositeBackend shop/store 80/TCP  Ordered

    CLUSTER  REGION  PATH    READY  ENDPOINTS  SHARE  PREFERRED  WHY
    east     eu      own     1/1    1          0 %    no         spec.distribution.order[1], after west, west-2
    far      asia    direct  1/1    1          0 %    no         no entry of spec.distribution.order, after west, west-2
    west     us      direct  1/1    1          50 %   yes        spec.distribution.order[0], the first that has endpoints
    west-2   us      direct  1/1    1          50 %   yes        spec.distribution.order[0], the first that has endpoints

    CompositeBackend shop/store 80/TCP  PreferLocal

    CLUSTER  REGION  PATH  READY  ENDPOINTS  SHARE  PREFERRED  WHY
    east     eu      own   2/2    2          100 %  yes        2 of 2 ready here, 50 % are enough; nodes in a, b use those of their zone

    CompositeBackend shop/store 80/TCP  Even

    CLUSTER  REGION  PATH  READY  ENDPOINTS  SHARE  PREFERRED  WHY
    east     eu      own   2/2    2          100 %  yes        2 of 2 ready endpoints
    west     us      none  3/3    0          0 %    no         its endpoints are in network "n2", to which there is no gateway
    "
  `);
  const admin = await controller('prefer-local');
  const [line] = JSON.parse((await get(admin, 'backends', 'shop/store', 'json')).text);
  expect(line.candidates.map((c: object) => ({ ...c, why: '' }))).toMatchObject([
    { cluster: 'east', path: 'own', share: 1, preferred: true, ready: 2, selected: 4, ownZones: [] },
    { cluster: 'near', region: 'eu', share: 0, preferred: false, ready: 3 },
    { cluster: 'west', region: 'us', share: 0, preferred: false, ready: 3 },
  ]);
});

test('what only contributes is listed, with who asks in vain', async () => {
  const admin = await controller('unexported');
  expect((await get(admin, 'backends')).text).toMatchInlineSnapshot(`
    "NAME        KIND              PORT      CLUSTERS  ENDPOINTS  READY  POLICY  REFUSES  STATE
    shop/all    CompositeBackend  8080/TCP  1/1       1          1      -       -        Synced
    shop/all    CompositeBackend  5353/UDP  1/1       1          1      -       -        Synced
    shop/some   CompositeBackend  80/TCP    1/1       1          1      -       -        Synced
    shop/store  CompositeBackend  80/TCP    1/1       1          1      -       north    NotExported
    "
  `);
  expect((await get(admin, 'backends', 'shop/store')).text).toMatchInlineSnapshot(`
    "CompositeBackend shop/store 80/TCP  -

    CLUSTER  REGION  PATH  READY  ENDPOINTS  SHARE  PREFERRED  WHY
    east     eu      own   1/1    1          0 %    no         1 of 1 ready here; no route here refers to it; offered to nobody

    not offered to north, which asks for it
    "
  `);
});

test('C6 who asks in vain is told with the back end', async () => {
  const admin = await controller('composite');
  expect((await get(admin, 'backends', 'shop/store')).text).toMatch(
    /\n\nnot offered to north, which asks for it\n$/,
  );
});

test('a name narrows the list; one that is not there is exit 1', async () => {
  const admin = await controller('composite');
  expect((await get(admin, 'nodes', 'e2')).text).not.toContain('e1');
  expect((await get(admin, 'frontends', 'store.shop.gw.cluster.local')).code).toBe(0);
  expect(await get(admin, 'backends', 'shop/nothing')).toEqual({
    code: 1,
    text: 'no backends of shop/nothing\n',
  });
});

test('an empty list of a controller that starts says that it starts', async () => {
  const admin = await controller('composite', ['kind: Gateway\n', 'kind: Nothing\n']);
  expect((await get(admin, 'frontends')).text).toBe('no frontends\n');
  waitingFor = 'the folder has not been read whole yet';
  expect((await get(admin, 'frontends')).text).toBe(
    'no frontends yet, the controller is starting: the folder has not been read whole yet\n',
  );
});

test('what cannot be asked throws: a kind, a format, an address, nobody there', async () => {
  const admin = await controller('composite');
  await expect(get(admin, 'pods')).rejects.toMatchObject({ code: 'E_USAGE' });
  await expect(get(admin, 'nodes', undefined, 'xml')).rejects.toMatchObject({ code: 'E_USAGE' });
  await expect(get('nonsense', 'nodes')).rejects.toMatchObject({ code: 'E_USAGE' });
  await expect(get('127.0.0.1:1', 'nodes')).rejects.toMatchObject({ code: 'E_UNREACHABLE' });
});

test('explain is yes or no: 0 or 1', async () => {
  const admin = await controller('composite');
  const printed: string[] = [];
  const ask = (name: string, more = {}) =>
    runExplain({ name, admin, output: 'table', ...more }, (text) => printed.push(text));
  expect(await ask('shop/store', { node: 'e9' })).toBe(1);
  expect(printed[0]).toMatch(/^✖ Node e9 {2}NotFound/);
  expect(await ask('shop/nothing')).toBe(1);
  await expect(ask('shop/store', { from: 'store-0' })).rejects.toMatchObject({ code: 'E_USAGE' });
  expect(await ask('shop/store', { from: 'pod/shop/nobody' })).toBe(1);
  expect(printed.at(-1)).toMatch(/^✖ Pod shop\/nobody {2}NotFound/);
  // An agent that has not told where its pages are, and one that is not reached.
  for (const agent of ['', '127.0.0.1:1']) {
    tracked.setAdmin(agent);
    await ask('shop/store', { from: 'pod/shop/store-0' });
    expect(printed.at(-1)).toMatch(/\nfrom pod shop\/store-0 on node e1 {3}10\.10\.1\.4\n/);
    expect(printed.at(-1)).toContain(`● Node e1  TableNotSeen\n`);
  }
});

test('colour is for terminals that want it', () => {
  const terminal = { isTTY: true, columns: 80 };
  expect(paintFor(terminal, {}).bad('x')).not.toBe('x');
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) expect(paintFor(terminal, env).bad('x')).toBe('x');
  expect(paintFor({}, {}).bad('x')).toBe('x');
  expect(fitLine('abcdefghij', 5)).toBe('ab…ij');
  expect(fitLine('abc', 5)).toBe('abc');
});
