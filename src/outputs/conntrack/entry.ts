/** An entry of connection tracking: where the client sent it, and who answers. */
export interface Entry {
  readonly protocol: 'tcp' | 'udp';
  readonly family: 4 | 6;
  /** TCP's state as `ESTABLISHED`; empty for UDP. */
  readonly state: string;
  /** `<address> . <port>` the client sends to. */
  readonly sentTo: string;
  /** `<address> . <port>` answers come from. Equal to `sentTo`: nothing is translated. */
  readonly answeredBy: string;
}

const pattern =
  /^(tcp|udp)\s+\d+ \d+ (?:([A-Z_]+) )?src=\S+ dst=(\S+) sport=\d+ dport=(\d+) .*?src=(\S+) dst=\S+ sport=(\d+) dport=\d+/;

/** A line of `conntrack -L`; undefined: another protocol, or no entry. */
export function parseEntry(line: string): Entry | undefined {
  const match = pattern.exec(line);
  if (!match) return undefined;
  const [, protocol, state = '', to = '', toPort, from, fromPort] = match;
  return {
    protocol: protocol as 'tcp' | 'udp',
    family: to.includes(':') ? 6 : 4,
    state,
    sentTo: `${to} . ${toPort}`,
    answeredBy: `${from} . ${fromPort}`,
  };
}

/** VIP and port (`<address> . <port>`) → its endpoints now (the same form). Empty: nothing answers there. */
export type UdpPorts = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Entries that lead a client of one of `ports` where it should not go: to an endpoint that is gone, or nowhere
 * because it began before the VIP existed. A busy client would stay there for ever. Each pair once.
 */
export class StaleEntries {
  readonly #ports: UdpPorts;
  readonly #found = new Map<string, Entry>();

  constructor(ports: UdpPorts) {
    this.#ports = ports;
  }

  add(entry: Entry): void {
    const endpoints = this.#ports.get(entry.sentTo);
    if (!endpoints || endpoints.has(entry.answeredBy)) return;
    this.#found.set(`${entry.sentTo} ${entry.answeredBy}`, entry);
  }

  get entries(): readonly Entry[] {
    return [...this.#found.values()];
  }
}
