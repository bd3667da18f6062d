import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { SceneOutcome } from '../../src/cli/playground/scene-record.ts';
import { scenes } from '../../src/cli/playground/scenes/all-scenes.ts';
import { marked, newMark, until } from './processes.ts';
import { type User, users } from './users.ts';

const root = join(import.meta.dirname, '..', '..');
const causeway = join(root, 'bin', 'causeway.mjs');

interface Run {
  readonly child: ChildProcess;
  readonly mark: string;
  readonly env: NodeJS.ProcessEnv;
  readonly output: () => string;
  readonly exit: Promise<number | null>;
}

const running: Run[] = [];
afterEach(() => {
  for (const run of running.splice(0)) {
    run.child.kill('SIGKILL');
    for (const { pid } of marked(run.mark)) process.kill(pid, 'SIGKILL');
  }
});

function launch(command: readonly [string, ...string[]], launched = newMark()): Run {
  let text = '';
  const child = spawn(command[0], command.slice(1), {
    cwd: root,
    env: { ...process.env, ...launched.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (data: string) => {
      text += data;
    });
  }
  const exit = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const run = { child, mark: launched.text, env: launched.env, output: () => text, exit };
  running.push(run);
  return run;
}

const playground = (user: User, ...flags: string[]): [string, ...string[]] =>
  user.command([process.execPath, causeway, 'playground', ...flags]);

const says = (run: Run, text: string): Promise<unknown> =>
  until(`the output to contain ${JSON.stringify(text)}`, run.output, (o) => o.includes(text), 240);

const nothingLeft = (run: Run): Promise<unknown> =>
  until(
    'everything to end',
    () => marked(run.mark),
    (found) => found.length === 0,
  );

describe.each(users)('as $name', (user) => {
  test('--once --json plays every scene, says what answered, exits 0 and leaves nothing', async () => {
    const run = launch(playground(user, '--once', '--json'));
    const code = await run.exit;
    expect(code, run.output()).toBe(0);
    const { ok, scenes: outcomes } = JSON.parse(run.output().trimEnd().split('\n').at(-1) ?? '') as {
      ok: boolean;
      scenes: SceneOutcome[];
    };
    expect(ok).toBe(true);
    expect(outcomes.map((o) => [o.scene, o.name, o.ok, o.failed])).toEqual(
      scenes.map((s) => [s.letter, s.name, true, 0]),
    );
    const both = outcomes.find((o) => o.scene === 'b')?.answers ?? {};
    expect(Object.keys(both).map((who) => who.split('/')[0])).toEqual(
      expect.arrayContaining(['east', 'west']),
    );
    for (const { name } of scenes) expect(run.output()).toContain(name);
    await nothingLeft(run);
  });
});

test('a running one answers exec, refuses a second, goes by Ctrl-C, and another can start', async () => {
  const [user] = users as [User];
  const first = launch(playground(user));
  await says(first, ' b  ');
  const exec = (...command: string[]): Run =>
    launch([process.execPath, causeway, 'playground', 'exec', ...command], {
      text: 'CAUSEWAY_MARK=exec',
      env: first.env,
    });
  const curl = exec('east', '--', 'curl', '-sS', '-m', '10', 'http://store.shop.gw.cluster.local');
  expect(await curl.exit, curl.output()).toBe(0);
  expect(curl.output()).toMatch(/^(east|west)\/store-\d hostname=store-\d /);
  const node = exec('west/w1', '--', 'hostname');
  expect([await node.exit, node.output()]).toEqual([0, 'w1\n']);
  const failing = exec('east/store-0', '--', 'sh', '-c', 'exit 7');
  expect(await failing.exit).toBe(7);
  const nowhere = exec('north', '--', 'true');
  expect(await nowhere.exit).toBe(2);
  expect(nowhere.output()).toContain('east/store-0');

  const second = launch(playground(user, '--once'), { text: 'CAUSEWAY_MARK=second', env: first.env });
  expect(await second.exit).not.toBe(0);
  expect(second.output()).toContain('running already');

  first.child.kill('SIGINT');
  first.child.kill('SIGINT');
  await first.exit;
  await nothingLeft(first);
  const gone = exec('east', '--', 'true');
  expect(await gone.exit).toBe(2);

  const third = launch(playground(user), { text: first.mark, env: first.env });
  await says(third, ' a  ');
  third.child.kill('SIGKILL');
  await nothingLeft(third);
});

test('a process that dies is reported with its last lines and started again, and --once exits 1', async () => {
  const [user] = users as [User];
  const run = launch(playground(user, '--once', '--json'));
  await says(run, ' a  ');
  // Inside the sandbox's own process namespace: it reaches nothing else.
  const script = `
    cd /proc
    for p in [0-9]*; do
      tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q '^[^ ]*node .*causeway.mjs agent --node w2' && kill -9 $p && exit 0
    done
    exit 1`;
  const exec = launch([process.execPath, causeway, 'playground', 'exec', 'west', '--', 'sh', '-c', script], {
    text: run.mark,
    env: run.env,
  });
  expect(await exec.exit, exec.output()).toBe(0);
  expect(await run.exit).toBe(1);
  expect(run.output()).toContain('west agent w2 ended: killed by SIGKILL; its last lines:');
  expect(run.output()).toContain('west agent w2 was started again and is ready');
  const summary = JSON.parse(run.output().trimEnd().split('\n').at(-1) ?? '') as {
    ok: boolean;
    scenes: SceneOutcome[];
  };
  expect(summary.ok).toBe(false);
  expect(summary.scenes.filter((s) => !s.ok).flatMap((s) => s.expectations.filter((e) => !e.holds))).toEqual([
    { text: 'every process lives', holds: false, found: 'west agent w2 ended: killed by SIGKILL' },
  ]);
});

test('kill -9 of npm takes everything along', async () => {
  const run = launch(['npm', 'start', '--', '--once']);
  await says(run, ' a  ');
  run.child.kill('SIGKILL');
  await nothingLeft(run);
});

test('with --json a sandbox that cannot be made is a JSON object, last', async () => {
  const mark = newMark();
  const bare = { text: mark.text, env: { ...mark.env, PATH: '/nowhere' } };
  const run = launch([process.execPath, causeway, 'playground', '--once', '--json'], bare);
  expect(await run.exit).toBe(1);
  const lines = run.output().trimEnd().split('\n');
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual({
    ok: false,
    scenes: [],
    error: expect.stringMatching(/^E_SANDBOX missing programs: setpriv /),
  });
  expect(lines[0]).toMatch(/^causeway: E_SANDBOX missing programs: setpriv /);
});
