import { join } from 'node:path';
import { expect, test } from 'vitest';
import { wanAddress, wanHosts } from '../../src/cli/playground/address-plan.ts';
import { relayAddress, set } from '../../src/cli/playground/control-plane.ts';
import { ObjectFolder } from '../../src/cli/playground/object-folder.ts';
import { consumerOf, providerOf } from './case-objects.ts';
import { type CaseWorld, caseWorld, Traffic, until } from './case-world.ts';

const host = wanAddress(wanHosts.hub).v4;
/** Ports to listen and to look inside. */
const relays = { root: [18100, 9100], eu: [18110, 9110], us: [18120, 9120] } as const;
type RelayName = keyof typeof relays;
const names = Object.keys(relays) as RelayName[];
const addressOf = (relay: RelayName): string => `${host}:${relays[relay][0]}`;

/** Who is a member of which relay. */
let lists: ObjectFolder;
/** `clusters`: those that eu speaks for. */
const delegate = (...clusters: string[]): void =>
  lists.write('root.yaml', {
    members: [
      { relay: 'eu', clusters },
      { relay: 'us', clusters: ['east'] },
    ],
  });

/** west below eu, east below us, both below root: from east to west are three hops. */
async function startTree(w: CaseWorld): Promise<void> {
  lists = new ObjectFolder(join(w.network.root, 'tree'));
  delegate('west');
  lists.write('eu.yaml', { members: [{ cluster: 'west' }] });
  lists.write('us.yaml', { members: [{ cluster: 'east' }] });
  const controllers = {
    west: await w.plane.controller(w.cluster('west')),
    east: await w.plane.controller(w.cluster('east')),
  };
  for (const relay of names) {
    const tls = await w.plane.certificate(relay, 'relay');
    const admin = `${host}:${relays[relay][1]}`;
    w.supervisor.launch({
      name: `relay ${relay}`,
      host: w.network.hub,
      readyUrl: `http://${admin}/readyz`,
      command: [
        ...[...controllers.east.command.slice(0, 2), 'relay', '--name', relay, '--set', set],
        ...['--listen', addressOf(relay), '--admin', admin, '--members', join(lists.dir, `${relay}.yaml`)],
        ...(relay === 'root' ? [] : ['--relay', addressOf('root')]),
        ...['--tls-cert', tls.cert, '--tls-key', tls.key, '--tls-ca', tls.ca],
      ],
    });
  }
  for (const [cluster, relay] of [
    ['west', 'eu'],
    ['east', 'us'],
  ] as const) {
    const spec = controllers[cluster];
    const command = spec.command.map((word) => (word === relayAddress ? addressOf(relay) : word));
    await w.supervisor.start({ ...spec, command });
  }
  for (const relay of names) await w.supervisor.untilReady(`relay ${relay}`);
  await Promise.all([w.startDns('east'), w.startAgent('east', 'e1')]);
}

const world = caseWorld({
  clusters: { east: { nodes: ['e1'], dataPlane: true }, west: { nodes: ['w1'] } },
  prepare: async (w) => {
    w.cluster('east').objects.write('web.yaml', ...consumerOf('web'));
    w.cluster('west').objects.write('web.yaml', ...providerOf('web'));
    await Promise.all([w.addClient('east', 'e1'), w.addPods('west', 'web', ['w1'])]);
  },
  start: startTree,
});

const standing = (wanted: string): Promise<void> =>
  until(`west is ${wanted}`, () => expect(world().standing('east', 'web', 'west')).toBe(wanted));

/** Every pod of west, and nothing else, is where connections go. */
async function leadsToWest(vip: string): Promise<void> {
  const pods = [...world().cluster('west').pods.values()];
  await world().leadsTo(
    'east',
    vip,
    pods.map((pod) => `${pod.ip}:8080`),
  );
}

test('design tree Relays of a tree are killed, started and stopped where they stand: no connection over three hops fails', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  await standing('Synced Synced');
  await leadsToWest(vip);
  const traffic = await Traffic.start(w.pod('east', 'client-e1').host, {
    host: 'web.shop.gw.cluster.local',
    port: 80,
  });
  for (const relay of names) {
    await w.supervisor.kill(`relay ${relay}`);
    await standing('Stale NoContact');
    await w.addPods('west', `web-${relay}`, ['w1'], { labels: { app: 'web' } });
    await traffic.flows(50);
    await w.supervisor.restart(`relay ${relay}`);
    await standing('Synced Synced');
    await leadsToWest(vip);
  }
  w.supervisor.signal('relay root', 'SIGSTOP');
  await standing('Stale NoContact');
  await w.addPods('west', 'web-last', ['w1'], { labels: { app: 'web' } });
  await traffic.flows(50);
  w.supervisor.signal('relay root', 'SIGCONT');
  await standing('Synced Synced');
  await leadsToWest(vip);
  await traffic.comesOnlyFrom([...w.cluster('west').pods.values()]);
  await traffic.endsWithoutFailure();
});

test('P6 what a relay is no longer trusted to speak for leaves, and comes back with the line', async () => {
  const w = world();
  const vip = await w.programmed('east', 'web');
  await leadsToWest(vip);
  delegate('elsewhere');
  await w.leadsTo('east', vip, ['rejected']);
  delegate('west');
  await standing('Synced Synced');
  await leadsToWest(vip);
});
