import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { rcodes, recordTypes } from '../../wire/dns/codes.ts';
import { decodeMessage } from '../../wire/dns/decode.ts';
import { encodeQuery } from '../../wire/dns/encode.ts';
import type { Message } from '../../wire/dns/message.ts';
import type { Probes, Resolved, Tried } from './hop.ts';

const connectMs = 2_000;
const resolveMs = 3_000;
/** UDP loses packets. */
const resendMs = 500;

/** Real packets, from where this process runs. */
export function realProbes(): Probes {
  const addresses = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).flatMap(({ address, internal }) =>
      internal || address.startsWith('fe80:') ? [] : [address],
    ),
  );
  return {
    from: `${hostname()} ${addresses[0] ?? ''}`.trim(),
    hostname: hostname(),
    addresses,
    resolver: configuredResolver(),
    resolve: (server, name, family) => resolve(server, name, family),
    connect: tryConnect,
    exchange: tryDatagram,
    now: () => performance.now(),
  };
}

/** The first `nameserver` of /etc/resolv.conf. */
function configuredResolver(): string | undefined {
  try {
    return /^nameserver\s+(\S+)/m.exec(readFileSync('/etc/resolv.conf', 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** A server is `address` or `address:port`. */
function serverOf(text: string): { readonly host: string; readonly port: number } {
  const [, six, sixPort] = /^\[(.+)\](?::(\d+))?$/.exec(text) ?? [];
  if (six !== undefined) return { host: six, port: Number(sixPort ?? 53) };
  const [, four, fourPort] = /^([^:]+):(\d+)$/.exec(text) ?? [];
  return four === undefined ? { host: text, port: 53 } : { host: four, port: Number(fourPort) };
}

function resolve(server: string, name: string, family: 'IPv4' | 'IPv6'): Promise<Resolved> {
  const { host, port } = serverOf(server);
  const id = randomInt(0x10000);
  const type = family === 'IPv4' ? recordTypes.A : recordTypes.AAAA;
  const query = encodeQuery({ id, name, type });
  if (!query) return Promise.resolve({ rcode: 'FORMERR', addresses: [] });
  return new Promise((done) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    const send = (): void => socket.send(query);
    let again: NodeJS.Timeout | undefined;
    const finish = (result: Resolved): void => {
      clearInterval(again);
      clearTimeout(deadline);
      socket.close();
      done(result);
    };
    const deadline = setTimeout(() => finish({ rcode: 'TIMEOUT', addresses: [] }), resolveMs);
    // Nobody listens there: it may start to.
    socket.on('error', () => undefined);
    socket.on('message', (packet) => {
      const message = decodeMessage(packet);
      if (message?.id === id) finish(resolvedOf(message));
    });
    socket.connect(port, host, () => {
      send();
      again = setInterval(send, resendMs);
    });
  });
}

function resolvedOf({ rcode, answers }: Message): Resolved {
  const name = Object.entries(rcodes).find(([, number]) => number === rcode)?.[0] ?? `rcode ${rcode}`;
  return {
    rcode: name,
    addresses: answers.flatMap(({ data }) => ('address' in data ? [data.address] : [])),
  };
}

const failureOf = (error: NodeJS.ErrnoException): Tried =>
  error.code === 'ECONNREFUSED' ? 'refused' : error.code === 'ETIMEDOUT' ? 'silent' : 'unreachable';

function tryConnect(address: string, port: number): Promise<Tried> {
  return new Promise((done) => {
    const socket = connect({ host: address, port });
    const finish = (result: Tried): void => {
      socket.destroy();
      done(result);
    };
    socket.setTimeout(connectMs, () => finish('silent'));
    socket.once('connect', () => finish('answered'));
    socket.once('error', (error: NodeJS.ErrnoException) => finish(failureOf(error)));
  });
}

/** The socket is connected: the kernel tells it of ICMP errors, and lets answers of nobody else in. */
function tryDatagram(address: string, port: number, datagram: Buffer): Promise<Tried> {
  return new Promise((done) => {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    let again: NodeJS.Timeout | undefined;
    let isOver = false;
    const finish = (result: Tried): void => {
      if (isOver) return;
      isOver = true;
      clearInterval(again);
      clearTimeout(deadline);
      socket.removeAllListeners('error').on('error', () => undefined);
      socket.close();
      done(result);
    };
    const deadline = setTimeout(() => finish('silent'), connectMs);
    socket.on('error', (error: NodeJS.ErrnoException) => finish(failureOf(error)));
    socket.once('message', () => finish('answered'));
    const send = (): void => socket.send(datagram, (error) => error && finish(failureOf(error)));
    socket.connect(port, address, () => {
      if (isOver) return;
      send();
      again = setInterval(send, resendMs);
    });
  });
}
