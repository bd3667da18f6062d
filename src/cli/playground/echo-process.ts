import type { ChildProcess } from 'node:child_process';
import { AppError } from '../../runtime/errors.ts';
import { besideThis } from './beside.ts';
import { firstLine } from './first-line.ts';
import type { Namespace } from './namespace.ts';
import type { PodPort } from './pod-objects.ts';

/** Starts an echo server in a namespace (a pod's, or a node's for a host-network pod); resolves when it listens. */
export async function startEcho(
  host: Namespace,
  options: { answer: string; ports: readonly PodPort[] },
): Promise<ChildProcess> {
  const ports = options.ports.map((p) => `${p.protocol.toLowerCase()}-${p.port}`);
  const child = host.start([process.execPath, besideThis('echo'), options.answer, ...ports], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const line = await firstLine(child, 20_000);
  if (line !== 'ready')
    throw new AppError('E_SANDBOX', `the echo server of ${options.answer} did not start: ${line}`);
  return child;
}
