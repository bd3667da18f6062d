import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mustRun, runCommand } from '../../src/cli/playground/run-command.ts';
import { CausewayProcess } from '../causeway-process.ts';
import { DnsClient } from './dns-client.ts';
import { type Block, blocksOf, isRole, writeShown } from './running-text.ts';

const root = join(import.meta.dirname, '..', '..');
const document = join(root, 'docs', 'running.md');
const patience = { timeout: 60_000, interval: 100 };

/** A second cluster is the same with a name, addresses and certificates of its own. */
const west: readonly (readonly [string, string])[] = [
  ['east', 'west'],
  ['10.0.1.1', '10.0.2.1'],
  ['10.96.0.0', '10.97.0.0'],
  ['fd00:96:', 'fd00:97:'],
  ['10.10.1.', '10.20.1.'],
];
const asWest = (text: string): string =>
  west.reduce((changed, [from, to]) => changed.replaceAll(from, to), text);

let folder: string;
/** Role → the process that stays. */
const staying = new Map<string, { readonly process: CausewayProcess; readonly admin: number }>();
const servers: Server[] = [];
const addresses = ['10.10.1.4', '10.20.1.4', '10.0.2.1'];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-running-'));
  symlinkSync(join(root, 'examples'), join(folder, 'examples'));
  for (const address of addresses) await mustRun(['ip', 'address', 'add', `${address}/32`, 'dev', 'lo']);
  // As on every machine: what has no route of its own has one.
  await mustRun(['ip', 'route', 'add', 'default', 'dev', 'lo']);
  for (const podIp of ['10.10.1.4', '10.20.1.4']) {
    const server = createServer((_, response) => response.end(podIp));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(8080, podIp, resolve));
  }
});
afterAll(async () => {
  for (const { process: each } of staying.values()) await each.stop('SIGKILL');
  for (const server of servers) server.close();
  await runCommand(['nft', 'delete', 'table', 'inet', 'causeway']);
  await runCommand(['ip', 'route', 'delete', 'default', 'dev', 'lo']);
  for (const address of [...addresses, '10.0.0.1', '10.0.1.1']) {
    await runCommand(['ip', 'address', 'delete', `${address}/32`, 'dev', 'lo']);
  }
  rmSync(folder, { recursive: true, force: true });
});

/** What the page says to do first, in a clone; all else is done in another folder. */
const [setup] = blocksOf(document).filter(({ text }) => /^export PATH/.test(text));
const begin = (): string => `cd ${root}\n${setup?.text}\ncd ${folder}`;

/** Runs a block to its end. */
async function run({ text }: Block): Promise<string> {
  const script = `set -e\n${begin()}\n${text}`;
  const { code, stdout, stderr } = await runCommand(['sh', '-c', script]);
  expect(code, `${text}\n${stderr}`).toBe(0);
  return stdout;
}

/** Starts a role in place of the one that ran before; resolves once it is up. */
async function start(name: string, { text }: Block): Promise<void> {
  expect(await staying.get(name)?.process.stop()).toBe(staying.has(name) ? 0 : undefined);
  staying.delete(name);
  const shell = ['sh', '-c', `${begin()}\ncauseway() { exec causeway "$@"; }\n${text}`];
  const started = new CausewayProcess(shell);
  const { admin } = await started.up();
  staying.set(name, { process: started, admin });
}

const page = async (name: string, path: string): Promise<string> => {
  const response = await fetch(`http://127.0.0.1:${staying.get(name)?.admin}${path}`);
  return `${response.status} ${(await response.text()).trim()}`;
};

const roleOf = ({ text }: Block): string => /^causeway (\w+)/m.exec(text)?.[1] ?? '';

test('docs/running.md: every command works, all roles come up, and the name leads to both clusters', {
  timeout: 600_000,
}, async () => {
  const blocks = blocksOf(document);
  const ways = new Map<string, number>();
  for (const block of blocks) {
    if (/agent cleanup/.test(block.text)) break;
    if (block.language === 'yaml') writeShown(block, folder);
    else if (!isRole(block)) await run(block);
    else {
      const role = roleOf(block);
      await start(role, block);
      ways.set(role, (ways.get(role) ?? 0) + 1);
    }
  }
  // By flags, by variables and by a file each.
  expect(Object.fromEntries(ways)).toEqual({ relay: 3, controller: 3, dns: 3, agent: 3 });

  for (const { language, text } of blocks) {
    const own = { language, text: asWest(text) };
    if (language === 'yaml' && /^# east(\.yaml|\/objects)/.test(text)) writeShown(own, folder);
    else if (/^mkdir/.test(text)) await run(own);
    else if (/^causeway relay init/.test(text)) {
      const line = own.text.split('\n').find((each) => each.includes('--role controller')) ?? '';
      await run({ language, text: line });
    } else if (/^causeway controller --config/.test(text)) await start('controller of west', own);
  }
  for (const name of staying.keys()) {
    await expect.poll(() => page(name, '/readyz'), patience).toBe('200 ok');
  }

  const text = readFileSync(document, 'utf8');
  const [, server = '', name = ''] = /dig \+short @(\S+) (\S+)/.exec(text) ?? [];
  const { answers: records } = await new DnsClient(server).ask(name);
  const [address] = records.flatMap(({ data }) => ('address' in data ? [data.address] : []));
  expect(text).toContain(`${address}\n$ curl http://${address}\n`);
  const answers = new Set<string>();
  const ask = async (): Promise<readonly string[]> => {
    answers.add(await (await fetch(`http://${address}`, { headers: { connection: 'close' } })).text());
    return [...answers].sort();
  };
  await expect.poll(ask, patience).toEqual(['10.10.1.4', '10.20.1.4']);

  const cleanup = blocks.find(({ text }) => /agent cleanup/.test(text));
  expect(await staying.get('agent')?.process.stop()).toBe(0);
  staying.delete('agent');
  expect(cleanup && (await run(cleanup))).toMatch(/the table is removed\n$/);
});
