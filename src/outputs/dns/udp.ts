import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';

export interface UdpOptions {
  /** An IP address; a wildcard is of its own family only. */
  readonly host: string;
  readonly port: number;
  /** Undefined: nothing is sent. */
  readonly answer: (packet: Buffer) => Buffer | undefined;
  /** An answer was made and not sent: the kernel takes no more, or the sender has no address to answer to. */
  readonly onUnsent: () => void;
  readonly onError: (error: Error) => void;
}

/** Answers that wait for the kernel to take them; more are dropped, as the network would. */
const maxQueuedBytes = 1 << 20;

export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

/** Rejects with the socket's error when it cannot be bound. */
export async function listenUdp(options: UdpOptions): Promise<Listener> {
  const family = options.host.includes(':') ? 6 : 4;
  const socket = createSocket({
    type: `udp${family}`,
    ipv6Only: family === 6,
    // Senders' addresses are numbers: nothing is to be looked up.
    lookup: (address, _options, callback) => callback(null, address, family),
  });
  // With that lookup, binding is done before `bind` returns.
  const listening = once(socket, 'listening');
  socket.bind({ port: options.port, address: options.host });
  try {
    await listening;
  } catch (error) {
    socket.close();
    throw error;
  }
  socket.on('error', options.onError);
  socket.on('message', (packet, from) => respond(socket, packet, from, options));
  return {
    port: socket.address().port,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Exported for the test of senders that no real socket can have. */
export function respond(
  socket: Pick<Socket, 'send' | 'getSendQueueSize'>,
  packet: Buffer,
  from: Pick<RemoteInfo, 'address' | 'port'>,
  options: Pick<UdpOptions, 'answer' | 'onUnsent'>,
): void {
  const answer = options.answer(packet);
  if (!answer) return;
  // A forged source port of 0 makes send throw.
  if (from.port === 0 || socket.getSendQueueSize() > maxQueuedBytes) {
    options.onUnsent();
    return;
  }
  // Without a callback an error is dropped with its packet: there is nobody to tell.
  socket.send(answer, from.port, from.address);
}
