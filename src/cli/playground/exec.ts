import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../runtime/errors.ts';
import { clusterPlan } from './address-plan.ts';
import { enterCommand } from './namespace.ts';
import { sandboxEnvironment } from './sandbox.ts';
import { findSession } from './session.ts';

/**
 * `causeway playground exec WHERE -- COMMAND`: runs a command in a namespace of this user's running playground.
 * Resolves with its exit code.
 */
export async function runPlaygroundExec(where: string, command: readonly string[]): Promise<number> {
  const pid = await findSession();
  if (pid === undefined) {
    throw new AppError('E_USAGE', 'no playground of yours is running; start one with npm start');
  }
  const names = namespacesOf(pid);
  const name = namespaceFor(where, names);
  if (name === undefined) {
    const places = names.filter((n) => n !== 'wan').map(placeOf);
    throw new AppError(
      'E_USAGE',
      `no place is called ${JSON.stringify(where)}; there are ${places.join(' ')}`,
    );
  }
  const words = command[0] === '--' ? command.slice(1) : command;
  if (words.length === 0) throw new AppError('E_USAGE', 'no command is given; write it after --');
  const enter = ['-t', String(pid), '--user', '--preserve-credentials', '--net', '--mount', '--pid'];
  const child = spawn('nsenter', [...enter, ...enterCommand(name, programOf(words))], {
    stdio: 'inherit',
    env: { ...adminOf(name), ...sandboxEnvironment() },
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new AppError('E_SANDBOX', `cannot run nsenter: ${cause}`, { cause })),
    );
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

function namespacesOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/root/run/netns`).sort();
  } catch {
    return [];
  }
}

/** A cluster's name means its client; `<cluster>/<node or pod>` is that; `client` is outside all clusters. */
export function namespaceFor(where: string, names: readonly string[]): string | undefined {
  const wanted = [`${where}-client`, where.replace('/', '-'), where];
  return wanted.find((name) => names.includes(name));
}

const causeway = join(import.meta.dirname, '..', '..', '..', 'bin', 'causeway.mjs');

/** `causeway` is this program, wherever it is installed. */
export function programOf(words: readonly string[]): readonly string[] {
  return words[0] === 'causeway' ? [process.execPath, causeway, ...words.slice(1)] : words;
}

/** Clusters of the playground in the order in which they are made. */
const clusters = ['east', 'west'];

/** `causeway get`, `explain` and `verify` ask the controller of the cluster that they run in. */
export function adminOf(namespace: string): Readonly<Record<string, string>> {
  const number = clusters.findIndex((name) => namespace === name || namespace.startsWith(`${name}-`)) + 1;
  return number === 0 ? {} : { CAUSEWAY_CONTROLLER_ADMIN: `${clusterPlan(number).control.v4}:9101` };
}

const placeOf = (name: string): string => name.replace('-', '/');
