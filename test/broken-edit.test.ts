import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runExplain } from '../src/cli/explain.ts';
import { runGet } from '../src/cli/get.ts';
import { CaFolder } from '../src/runtime/ca-folder.ts';
import { CausewayProcess } from './causeway-process.ts';

const example = readFileSync(join(import.meta.dirname, '..', 'examples', 'store', 'store.yaml'), 'utf8');
const patience = { timeout: 60_000, interval: 100 };

let dir: string;
let controller: CausewayProcess;
let admin: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-broken-'));
  mkdirSync(join(dir, 'objects'));
  writeFileSync(join(dir, 'objects', 'store.yaml'), example);
  const { ca } = await CaFolder.init(join(dir, 'ca'), 'demo', Date.now());
  const identity = {
    cluster: 'east',
    role: 'controller',
    labels: {},
    namespaces: ['*'],
    region: '',
    network: '',
  } as const;
  const files = await ca.issueInto(join(dir, 'tls'), { ...identity, now: Date.now(), ttl: 3_600_000 });
  controller = CausewayProcess.start(
    [
      ...['controller', '--cluster', 'east', '--set', 'demo', '--dir', 'objects', '--state', 'state'],
      ...['--service-cidr', '10.96.0.0/16', '--listen', '127.0.0.1:0'],
      ...['--tls-cert', files.cert, '--tls-key', files.key, '--tls-ca', files.ca],
    ],
    { cwd: dir },
  );
  admin = `127.0.0.1:${(await controller.up()).admin}`;
}, 60_000);
afterEach(async () => {
  await controller.stop('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

const edit = (file: string, text: string): void => writeFileSync(join(dir, 'objects', file), text);

async function printed(run: (print: (text: string) => void) => Promise<number>): Promise<string> {
  let text = '';
  await run((part) => {
    text += part;
  });
  return text;
}

const explained = (name = 'shop/store') =>
  printed((print) => runExplain({ name, admin, output: 'table' }, print));
const listed = (kind: string) => printed((print) => runGet({ kind, admin, output: 'table' }, print));

/** Line of a text, from 1. */
const lineOf = (text: string, part: string): number => text.slice(0, text.indexOf(part)).split('\n').length;

test('an edit that is not in force is told where people look, with its line, and no longer once it is right', {
  timeout: 120_000,
}, async () => {
  await expect.poll(() => explained(), patience).toContain('Gateway shop/store');
  expect(await explained()).not.toContain('FileBroken');
  expect(await listed('frontends')).not.toContain('FileBroken');

  const broken = example.replace(/port: 80\b/, 'port: 80000');
  edit('store.yaml', broken);
  const place = `objects/store.yaml:${lineOf(broken, 'port: 80000')}: expected`;
  for (const look of [() => explained(), () => listed('frontends'), () => listed('backends')]) {
    await expect.poll(look, patience).toContain(place);
    expect(await look()).toMatch(
      /^● Gateway shop\/store {2}spec\.listeners\[0\]\.port {2}FileBroken\n.*found 80000; the last good version stays in force$/m,
    );
  }

  // The whole file, of which nothing can be told to be the Gateway.
  edit('store.yaml', 'kind: [Gateway\n');
  await expect
    .poll(() => explained(), patience)
    .toMatch(/^● File objects\/store\.yaml {2}FileBroken\n {2}objects.*stays in force$/m);

  edit('store.yaml', example);
  await expect.poll(() => explained(), patience).not.toContain('FileBroken');

  // A new one may be what is looked for in vain; to other names it is one line.
  edit('new.yaml', broken.replaceAll('name: store', 'name: new'));
  await expect
    .poll(() => explained('shop/new'), patience)
    .toMatch(/^● Gateway shop\/new .*FileBroken\n.*; nothing of it is in force$/m);
  expect(await explained()).toMatch(
    /FileBroken\n {2}objects\/new\.yaml:\d+: .*: of nothing that this path names$/m,
  );
});
