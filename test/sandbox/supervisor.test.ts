import { afterEach, beforeEach, expect, test } from 'vitest';
import { Network } from '../../src/cli/playground/network.ts';
import { Supervisor } from '../../src/cli/playground/supervisor.ts';
import { until } from './case-world.ts';

/** What keeps the playground's processes. */

const url = 'http://172.18.0.10:9000/';
const server = `require('http').createServer((_, r) => r.end('ok')).listen(9000)`;

let network: Network;
let supervisor: Supervisor;
let deaths: string[];
let returns: string[];

beforeEach(async () => {
  network = await Network.create({ root: '/run/causeway/supervisor-test' });
  deaths = [];
  returns = [];
  supervisor = new Supervisor({
    logs: `${network.root}/log`,
    onDeath: (name, how) => deaths.push(`${name}: ${how}`),
    onReturn: (name) => returns.push(name),
  });
  const command = [process.execPath, '-e', server];
  await supervisor.start({ name: 'it', host: network.hub, command, readyUrl: url });
});

afterEach(async () => {
  for (const name of supervisor.names) await supervisor.kill(name);
  await network.close();
});

const die = (): void => supervisor.signal('it', 'SIGKILL');

test('what dies is started again, as often as it dies', async () => {
  for (let times = 1; times <= 3; times += 1) {
    die();
    await until(`it is back ${times} times`, () => expect(returns.length).toBe(times));
    expect(await (await fetch(url)).text()).toBe('ok');
  }
  expect(deaths).toEqual(new Array(3).fill('it: killed by SIGKILL'));
});

test('what is ended on purpose stays ended, also while it was about to be started again', async () => {
  await supervisor.kill('it', 'SIGTERM');
  expect(supervisor.alive('it')).toBe(false);
  await supervisor.restart('it');
  die();
  await until('it is dead', () => expect(deaths.length).toBe(1));
  await supervisor.kill('it');
  await supervisor.start({ ...supervisor.spec('it'), name: 'other' });
  supervisor.signal('other', 'SIGKILL');
  await until('the other one is back', () => expect(returns).toEqual(['other']));
  expect(supervisor.alive('it')).toBe(false);
  expect(deaths).toEqual(['it: killed by SIGKILL', 'other: killed by SIGKILL']);
});
