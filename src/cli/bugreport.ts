import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeLine } from '../roles/controller/node-lines.ts';
import { AppError, messageOf } from '../runtime/errors.ts';
import { askAdmin, listAdminPages, readAdminPage } from './ask-admin.ts';
import { redactDocuments, redactText } from './redact.ts';

export interface BugReportOptions {
  /** `host:port` of the admin pages of roles: controllers, agents, dns, relays. */
  readonly admins: readonly string[];
  /** Folder to make. */
  readonly out: string;
}

/** All pages of all roles together; what is beyond it is left out, and said. */
const maxBytes = 256 * 1024 * 1024;
/** Agents that are asked because a controller knows of them. */
const maxAgents = 50;

/**
 * Writes what roles show at /debug, /metrics and /readyz into a folder, a folder for each role, secrets redacted: of the
 * roles that are named, and of the agents that a controller among them knows to be reached. What a controller read and
 * compiled is `in.yaml` and `out.yaml`: a golden case. Returns 0, or 1 when a role did not answer (its folder says why).
 * Throws E_UNREACHABLE when none did, E_STATE_WRITE when the folder cannot be written.
 */
export async function runBugReport(
  { admins, out }: BugReportOptions,
  print: (text: string) => void = (text) => void process.stdout.write(text),
  limit: number = maxBytes,
): Promise<number> {
  if (admins.length === 0) throw new AppError('E_USAGE', '--admin (or CAUSEWAY_CONTROLLER_ADMIN) is missing');
  const faults: unknown[] = [];
  const waiting = [...new Set(admins)];
  const asked = new Set(waiting);
  let left = limit;
  for (let admin = waiting.shift(); admin !== undefined; admin = waiting.shift()) {
    const folder = join(out, admin.replaceAll(/[^\w.-]+/g, '-'));
    try {
      const { files, used } = await collect(admin, left);
      left -= used;
      write(folder, files);
      print(`✔ ${admin}   ${[...files.keys()].join(' ')}\n`);
      for (const agent of await agentsOf(admin)) {
        if (asked.has(agent) || asked.size >= admins.length + maxAgents) continue;
        asked.add(agent);
        waiting.push(agent);
      }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'E_UNREACHABLE') throw error;
      faults.push(error);
      write(folder, new Map([['unreachable.txt', `${error.message}\n`]]));
      print(`✖ ${admin}   ${error.message}\n`);
    }
  }
  if (faults.length === asked.size) throw faults[0];
  print(`\n${out}: look through it before you pass it on: names, labels and addresses are in it\n`);
  return faults.length === 0 ? 0 : 1;
}

/** Admin pages of the agents of a controller; none of another role. */
async function agentsOf(admin: string): Promise<readonly string[]> {
  const nodes = await askAdmin<readonly NodeLine[]>(admin, 'nodes').catch(() => []);
  return nodes.flatMap(({ admin: agent }) => (typeof agent === 'string' && agent !== '' ? [agent] : []));
}

interface Collected {
  /** File name → redacted text. */
  readonly files: ReadonlyMap<string, string>;
  /** Bytes that were read. */
  readonly used: number;
}

async function collect(admin: string, limit: number): Promise<Collected> {
  const pages = new Map<string, string>();
  const cut: string[] = [];
  let used = 0;
  const read = async (name: string, path: string): Promise<void> => {
    const { text, isCut } = await readAdminPage(admin, path, limit - used);
    used += Buffer.byteLength(text);
    if (isCut) cut.push(path);
    else pages.set(name, text);
  };
  for (const page of await listAdminPages(admin)) {
    if (page.startsWith('/debug/')) await read(page.slice('/debug/'.length), page);
    else if (page === '/metrics') await read('metrics', page);
  }
  await read('readyz', '/readyz').catch((error: unknown) => pages.set('readyz', messageOf(error)));
  const isCase = /^kind: Config$/m.test(pages.get('inputs') ?? '');
  const files = new Map([...pages].map(([name, text]) => redacted(name, text, isCase)));
  if (cut.length > 0) files.set('left-out.txt', `too big for this report: ${cut.join(' ')}\n`);
  return { files, used };
}

function redacted(name: string, text: string, isCase: boolean): [name: string, text: string] {
  if (isCase && name === 'inputs') return ['in.yaml', redactDocuments(text)];
  if (isCase && name === 'wanted') return ['out.yaml', redactDocuments(text)];
  return [`${name}.txt`, redactText(text)];
}

function write(folder: string, files: ReadonlyMap<string, string>): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const [name, text] of files) writeFileSync(join(folder, name), text, { mode: 0o600 });
  } catch (cause) {
    throw new AppError('E_STATE_WRITE', `cannot write ${folder}: ${messageOf(cause)}`, { cause });
  }
}
