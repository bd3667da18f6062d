import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { marked, newMark, until } from './processes.ts';
import { type User, users } from './users.ts';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** Starts the launcher with a small tree of processes and links inside; resolves when the tree stands. */
async function start(user: User) {
  const { text: mark, env } = newMark();
  const body =
    'ip netns add a; ip netns add b; ip link add one netns a type veth peer name two netns b; ' +
    'trap "exit 0" INT TERM; setsid sleep 1000 & ip netns exec a sleep 1001 & sleep 1002 & wait';
  const command = user.command([process.execPath, join(import.meta.dirname, 'hold.ts'), body]);
  const child = spawn(command[0], command.slice(1), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  started.push(child);
  let said = '';
  child.stderr?.on('data', (data) => {
    said += data;
  });
  const sleeps = (all: { command: string }[]): number =>
    ['1000', '1001', '1002'].filter((n) => all.some((p) => p.command === `sleep ${n}`)).length;
  const all = await until(
    `the tree (${said})`,
    () => marked(mark),
    (found) => sleeps(found) === 3,
  );
  return { mark, all, child };
}

const nothing = (mark: string, why: string) =>
  until(
    why,
    () => marked(mark),
    (found) => found.length === 0,
  );

describe.each(users)('as $name', (user) => {
  test('kill -9 of any process of the chain leaves none of the others', async () => {
    const first = await start(user);
    const chain = first.all.map((p) => p.command);
    const links = chain.filter((c) => /hold\.ts|^unshare|^sh -c/.test(c));
    expect(links.length, chain.join('\n')).toBeGreaterThanOrEqual(3);
    first.child.kill('SIGKILL');
    for (const link of links) {
      const { mark, all } = await start(user);
      const victim = all.find((p) => p.command === link);
      expect(victim, link).toBeDefined();
      process.kill((victim as { pid: number }).pid, 'SIGKILL');
      await nothing(mark, `${link} to take the rest along`);
    }
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s reaches the command inside and leaves nothing',
    async (signal) => {
      const { mark, child } = await start(user);
      child.kill(signal);
      await nothing(mark, 'the end');
    },
  );
});
