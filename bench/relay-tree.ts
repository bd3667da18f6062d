import { join } from 'node:path';
import { wanAddress } from '../src/cli/playground/address-plan.ts';
import { set } from '../src/cli/playground/control-plane.ts';
import { Namespace } from '../src/cli/playground/namespace.ts';
import { ObjectFolder } from '../src/cli/playground/object-folder.ts';
import type { BenchWorld } from './world.ts';

interface TreeRelay {
  readonly name: string;
  readonly members: readonly object[];
  /** Addresses of those that it dials. */
  readonly parents: readonly string[];
}

const program = [process.execPath, join(import.meta.dirname, '..', 'bin', 'causeway.mjs')];

/**
 * Starts a root and a relay below it for each cluster, so that what one cluster tells another passes three relays.
 * Resolves with the relay that each cluster dials.
 */
export async function startRelayTree(
  world: BenchWorld,
  clusters: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const below = (cluster: string): string => `relay-${cluster}`;
  const root = await startRelay(world, 0, {
    name: 'root',
    members: clusters.map((cluster) => ({ relay: below(cluster), clusters: [cluster] })),
    parents: [],
  });
  const dialled: Record<string, string> = {};
  for (const [i, cluster] of clusters.entries()) {
    const relay = { name: below(cluster), members: [{ cluster }], parents: [root] };
    dialled[cluster] = await startRelay(world, 1 + i, relay);
  }
  return dialled;
}

/** Resolves with its address, before it is ready: it waits for its members. */
async function startRelay(world: BenchWorld, number: number, relay: TreeRelay): Promise<string> {
  const { name, members, parents } = relay;
  const { network, plane, supervisor } = world;
  const host = await Namespace.create({ name });
  const address = wanAddress(100 + number);
  await network.attach(host, address);
  const folder = new ObjectFolder(join(network.root, 'relays', name));
  folder.write('members.yaml', { members });
  const { cert, key, ca } = await plane.certificate(name, 'relay');
  const listen = `${address.v4}:18100`;
  supervisor.launch({
    name,
    host,
    readyUrl: `http://${address.v4}:9100/readyz`,
    command: [
      ...[...program, 'relay', '--name', name, '--set', set, '--listen', listen],
      ...['--admin', `${address.v4}:9100`, '--members', join(folder.dir, 'members.yaml')],
      ...parents.flatMap((parent) => ['--relay', parent]),
      ...['--tls-cert', cert, '--tls-key', key, '--tls-ca', ca],
    ],
  });
  return listen;
}
