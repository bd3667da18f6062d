import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, messageOf } from '../runtime/errors.ts';
import { listAdminPages, readAdminPage } from './ask-admin.ts';
import { redactInputs, redactText } from './redact.ts';

export interface BugReportOptions {
  /** `host:port` of the admin pages of roles: controllers, agents, dns, relays. */
  readonly admins: readonly string[];
  /** Folder to make. */
  readonly out: string;
}

/**
 * Writes what roles show at /debug, /metrics and /readyz into a folder, a folder for each role, secrets redacted. What a
 * controller read and compiled is `in.yaml` and `out.yaml`: a golden case. Returns 0, or 1 when a role did not answer
 * (its folder says why). Throws E_UNREACHABLE when none did, E_STATE_WRITE when the folder cannot be written.
 */
export async function runBugReport(
  { admins, out }: BugReportOptions,
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  if (admins.length === 0) throw new AppError('E_USAGE', '--admin (or CAUSEWAY_ADMIN) is missing');
  const faults: unknown[] = [];
  for (const admin of new Set(admins)) {
    const folder = join(out, admin.replaceAll(/[^\w.-]+/g, '-'));
    try {
      const files = await collect(admin);
      write(folder, files);
      print(`✔ ${admin}   ${[...files.keys()].join(' ')}\n`);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'E_UNREACHABLE') throw error;
      faults.push(error);
      write(folder, new Map([['unreachable.txt', `${error.message}\n`]]));
      print(`✖ ${admin}   ${error.message}\n`);
    }
  }
  if (faults.length === new Set(admins).size) throw faults[0];
  print(`\n${out}: look through it before you pass it on: names, labels and addresses are in it\n`);
  return faults.length === 0 ? 0 : 1;
}

/** File name → redacted text. */
async function collect(admin: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const page of await listAdminPages(admin)) {
    if (page.startsWith('/debug/')) files.set(page.slice('/debug/'.length), await readAdminPage(admin, page));
    else if (page === '/metrics') files.set('metrics', await readAdminPage(admin, page));
  }
  files.set('readyz', await readAdminPage(admin, '/readyz').catch(messageOf));
  const isCase = /^kind: Config$/m.test(files.get('inputs') ?? '');
  return new Map([...files].map(([name, text]) => redacted(name, text, isCase)));
}

function redacted(name: string, text: string, isCase: boolean): [name: string, text: string] {
  if (isCase && name === 'inputs') return ['in.yaml', redactInputs(text)];
  if (isCase && name === 'wanted') return ['out.yaml', text];
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
