import { join } from 'node:path';
import { expect } from 'vitest';
import type { Verification } from '../../src/cli/verify/hop.ts';
import type { ExplainAnswer } from '../../src/roles/controller/api.ts';
import { providerOf, wholeOf } from './case-objects.ts';
import { caseWorld } from './case-world.ts';

export const causeway = [process.execPath, join(import.meta.dirname, '..', '..', 'bin', 'causeway.mjs')];
export const http = { port: 80, targetPort: 8080 };
export const nameOf = (app: string): string => `${app}.shop.gw.cluster.local`;

/** For the tests of a file: two clusters with `web`, and the commands that a person runs in a pod of east. */
export function whyWorld() {
  const world = caseWorld({
    clusters: { east: { nodes: ['e1', 'e2'], dataPlane: true }, west: { nodes: ['w1'], dataPlane: true } },
    prepare: async (w) => {
      w.cluster('east').objects.write('web.yaml', ...wholeOf('web'));
      w.cluster('west').objects.write('web.yaml', ...providerOf('web'));
      await Promise.all([
        w.addClient('east', 'e1'),
        w.addClient('east', 'e2'),
        w.addPods('east', 'web', ['e1', 'e2']),
        w.addPods('west', 'web', ['w1']),
      ]);
    },
  });

  const admin = () => `${world().cluster('east').plan.control.v4}:9101`;

  /** Runs the command in a pod of east. */
  async function run(pod: string, ...command: readonly string[]) {
    const env = { ...process.env, CAUSEWAY_CONTROLLER_ADMIN: admin(), NO_COLOR: '1' };
    const done = await world()
      .pod('east', pod)
      .host.run([...causeway, ...command], { env });
    expect(done.stderr).toBe('');
    return done;
  }

  async function explain(app: string, ...flags: readonly string[]) {
    const { stdout, code } = await run('client-e1', 'explain', nameOf(app), '-o', 'json', ...flags);
    return { code, ...(JSON.parse(stdout) as ExplainAnswer) };
  }

  /** The first lines that people read. */
  async function explained(app: string): Promise<string> {
    const { stdout, code } = await run('client-e1', 'explain', nameOf(app));
    return `exit ${code}\n${stdout}`;
  }

  async function verify(pod: string, app: string, ...flags: readonly string[]) {
    const { stdout, code } = await run(pod, 'verify', nameOf(app), '-o', 'json', ...flags);
    const result = JSON.parse(stdout) as Verification;
    const first = result.hops.find((hop) => hop.result === 'Broken');
    return { code, ...result, hop: first?.hop, what: first?.what, reason: first?.cause?.reason };
  }
  return { world, admin, run, explain, explained, verify };
}
