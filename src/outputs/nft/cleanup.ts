import type { Clock } from '../../runtime/clock.ts';
import type { Entry } from '../conntrack/entry.ts';
import type { ConntrackTool } from '../conntrack/tool.ts';
import { nftUnusable } from './capability.ts';
import { readTable } from './parse.ts';
import type { NftRunner } from './runner.ts';
import { baseChains, setDeclarations, tableName } from './schema.ts';

export interface CleanupOptions {
  readonly runner: NftRunner;
  readonly conntrack: ConntrackTool;
  readonly clock: Clock;
  /** How long connections may take to finish. */
  readonly waitMs: number;
  readonly pollMs?: number;
  readonly say: (line: string) => void;
}

/**
 * Takes our table off a node: at once for new connections, for established ones when they have finished. The
 * kernel translates packets of a connection only while some nat chain exists, and ours may be the last: so an
 * empty table with its nat chains stays until then. False: connections are left after `waitMs`; the empty table
 * stays, and a second call goes on.
 */
export async function cleanup(options: CleanupOptions): Promise<boolean> {
  const { runner, clock, say } = options;
  const table = await readTable(runner).catch((error: unknown) => {
    throw nftUnusable(error);
  });
  if (!table) {
    say('there is no table of ours on this node');
    return true;
  }
  const addresses = new Map([4, 6].map((f) => [f, [...(table.elements.get(`any${f}`)?.keys() ?? [])]]));
  await runner.run(emptied(addresses));
  const end = clock.now() + options.waitMs;
  for (;;) {
    const left = await countConnections(options.conntrack, new Set([...addresses.values()].flat()));
    if (left === 0) break;
    if (clock.now() >= end) {
      say(`${left} connections are still open; an empty table stays for them: run this again later`);
      return false;
    }
    say(`waiting for ${left} connections to finish`);
    await new Promise<void>((resolve) => clock.after(options.pollMs ?? 1000, resolve));
  }
  await runner.run(`delete table ${tableName}\n`);
  say('the table is removed');
  return true;
}

/**
 * Hooks that translate nothing new, and the addresses whose connections are waited for. The kernel tracks
 * connections only while some rule asks for their state: hence one rule per chain.
 */
function emptied(addresses: ReadonlyMap<number, readonly string[]>): string {
  const sets = [...addresses].map(([family, keys]) => {
    const name = `any${family}`;
    const lines = [...(setDeclarations.get(name) ?? [])];
    if (keys.length > 0) lines.push(`elements = { ${keys.join(',\n')} }`);
    return `  set ${name} {\n    ${lines.join('\n    ')}\n  }\n`;
  });
  const chains = [...baseChains]
    .filter(([, rules]) => rules[0]?.startsWith('type nat '))
    .map(([name, rules]) => `  chain ${name} {\n    ${rules[0]}\n    ct status dnat accept\n  }\n`);
  return `add table ${tableName}\ndelete table ${tableName}\ntable ${tableName} {\n${[...sets, ...chains].join('')}}\n`;
}

/** Ended TCP connections are only remembered, not translated any more. */
const ended = new Set(['TIME_WAIT', 'CLOSE']);

async function countConnections(tool: ConntrackTool, addresses: ReadonlySet<string>): Promise<number> {
  let count = 0;
  const visit = (entry: Entry): void => {
    const address = entry.sentTo.split(' ')[0] as string;
    if (addresses.has(address) && entry.sentTo !== entry.answeredBy && !ended.has(entry.state)) count += 1;
  };
  for (const family of [4, 6] as const) {
    if ([...addresses].some((a) => a.includes(':') === (family === 6))) await tool.list('all', family, visit);
  }
  return count;
}
