import { statSync } from 'node:fs';
import { connect, createServer } from 'node:net';

/**
 * The running playground of a user is found by an abstract Unix socket: the kernel takes it away with the process
 * that holds it, so that nothing stale can be left, and network namespaces keep theirs apart.
 * CAUSEWAY_PLAYGROUND_NAME lets several run side by side, each found by who has the same name set.
 */
const socketPath = `\0causeway-playground-${process.getuid?.() ?? 0}${process.env.CAUSEWAY_PLAYGROUND_NAME ?? ''}`;

export interface Session {
  close(): void;
}

/**
 * Holds the session. `init`: the first process of the sandbox, once there is one; it is told to who asks.
 * Undefined: another playground of this user runs already.
 */
export function claimSession(init: () => number | undefined): Promise<Session | undefined> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(`${init() ?? ''}\n`);
  });
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen({ path: socketPath }, () => {
      server.unref();
      resolve({ close: () => server.close() });
    });
  });
}

/** The first process of this user's running sandbox; undefined: none runs. */
export function findSession(): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ path: socketPath });
    let text = '';
    socket.setTimeout(2_000, () => socket.destroy());
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      const pid = Number(text.trim());
      resolve(Number.isInteger(pid) && pid > 0 && isOurs(pid) ? pid : undefined);
    });
  });
}

/** Anybody may listen on an abstract socket: only a process of our own is believed. */
function isOurs(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.getuid?.();
  } catch {
    return false;
  }
}
