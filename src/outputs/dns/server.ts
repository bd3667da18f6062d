import { isIP } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import { AppError, messageOf } from '../../runtime/errors.ts';
import { formatHostPort, requireHostPort } from '../../runtime/host-port.ts';
import type { Log } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { rcodeName } from '../../wire/dns/codes.ts';
import { answer } from './answer.ts';
import { listenTcp, type TcpLimits, tcpLimits } from './tcp.ts';
import { type Listener, listenUdp } from './udp.ts';
import type { Zone } from './zone.ts';

export interface DnsServerOptions {
  /**
   * `address:port` each. An empty address means all addresses of both families; port 0 takes a free one, the same
   * for UDP and TCP.
   */
  readonly listen: readonly string[];
  readonly zone: Zone;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Per listening address. */
  readonly tcp?: Partial<TcpLimits>;
}

export interface DnsServer {
  /** Of the first address. */
  readonly port: number;
  close(): Promise<void>;
}

/** Serves the zone over UDP and TCP. Rejects with E_LISTEN or E_USAGE, with everything closed again. */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const open: Listener[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(open.splice(0).map((l) => l.close()));
  };
  try {
    const ports: number[] = [];
    const handlers = makeHandlers(options);
    for (const text of options.listen) ports.push(await listenOn(text, handlers, open));
    return { port: ports[0] ?? 0, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Handlers = ReturnType<typeof makeHandlers>;

function makeHandlers(options: DnsServerOptions) {
  const { zone, metrics, clock, log } = options;
  const answers = metrics.counter({
    name: 'dns_answers_total',
    help: 'Answers made, by response code',
    labels: ['rcode'],
  });
  const dropped = metrics.counter({
    name: 'dns_dropped_total',
    help: 'Packets that got no answer: not a query, or the answer could not be sent',
    labels: ['reason'],
  });
  const connections = metrics.gauge({ name: 'dns_tcp_connections', help: 'Open TCP connections' });
  const closed = metrics.counter({
    name: 'dns_tcp_closed_total',
    help: 'TCP connections closed by the server, by reason',
    labels: ['reason'],
  });
  const answerBy =
    (transport: 'udp' | 'tcp') =>
    (packet: Buffer): Buffer | undefined => {
      const given = answer(zone, packet, transport);
      if (given) answers.inc(labelsOf(given.rcode));
      else dropped.inc(notAQuery);
      return given?.packet;
    };
  const onError = (error: Error): void => log.warn({ error: error.message }, 'a DNS socket failed');
  return {
    udp: { answer: answerBy('udp'), onUnsent: () => dropped.inc(unsent), onError },
    tcp: {
      answer: answerBy('tcp'),
      clock,
      limits: { ...tcpLimits, ...options.tcp },
      onOpen: () => connections.inc(),
      onClose: (reason: string | undefined) => {
        connections.dec();
        if (reason) closed.inc({ reason });
      },
      onError,
    },
  };
}

const notAQuery = { reason: 'not-a-query' };
const unsent = { reason: 'unsent' };
const rcodeLabels = new Map<number, { rcode: string }>();

function labelsOf(rcode: number): { rcode: string } {
  let labels = rcodeLabels.get(rcode);
  if (!labels) {
    labels = { rcode: rcodeName(rcode) };
    rcodeLabels.set(rcode, labels);
  }
  return labels;
}

/** A free port of TCP may be taken for UDP: another is tried, when any will do. */
const freePortTries = 20;

async function listenOn(text: string, handlers: Handlers, open: Listener[]): Promise<number> {
  const { host, port } = requireHostPort('--listen', text);
  if (host !== '' && !isIP(host)) {
    throw new AppError('E_USAGE', `--listen ${text}: expected an IP address before the port, found ${host}`);
  }
  const hosts = host === '' || host === '::' ? ['0.0.0.0', '::'] : [host];
  for (let tries = 1; ; tries += 1) {
    const opened: Listener[] = [];
    try {
      let chosen = port;
      for (const h of hosts) {
        for (const transport of ['TCP', 'UDP'] as const) {
          const listener = await bind(transport, h, chosen, handlers);
          if (!listener) continue;
          opened.push(listener);
          chosen = listener.port;
        }
      }
      open.push(...opened);
      return chosen;
    } catch (error) {
      await Promise.all(opened.map((l) => l.close()));
      if (port !== 0 || tries === freePortTries) throw error;
    }
  }
}

/** Undefined: every address was asked for and the machine has no IPv6. */
async function bind(
  transport: 'TCP' | 'UDP',
  host: string,
  port: number,
  handlers: Handlers,
): Promise<Listener | undefined> {
  try {
    return transport === 'TCP'
      ? await listenTcp({ host, port, ...handlers.tcp })
      : await listenUdp({ host, port, ...handlers.udp });
  } catch (cause) {
    if (host === '::' && ['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes(codeOf(cause))) return undefined;
    const at = formatHostPort({ host, port });
    const hint = hints[codeOf(cause)];
    throw new AppError(
      'E_LISTEN',
      `cannot listen on ${at} over ${transport} (--listen): ${messageOf(cause)}${hint ? `; ${hint}` : ''}`,
      { cause },
    );
  }
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? '';

const hints: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has that port, often a resolver of this machine',
  EACCES: 'ports below 1024 need root or CAP_NET_BIND_SERVICE',
  EADDRNOTAVAIL: 'this machine does not have that address',
};
