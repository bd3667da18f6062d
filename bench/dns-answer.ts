import type { Frontend } from '../src/model/ir.ts';
import { answer } from '../src/outputs/dns/answer.ts';
import { Zone } from '../src/outputs/dns/zone.ts';
import { recordTypes } from '../src/wire/dns/codes.ts';
import { encodeQuery } from '../src/wire/dns/encode.ts';

/**
 * Processor time of building a zone, of one change in it, and of one answer of each kind, in this process and
 * without sockets. `node bench/dns-answer.ts [front ends]`.
 */
const count = Number(process.argv[2] ?? 10_000);
const zone = new Zone({ zone: 'gw.cluster.local' });

const frontend = (i: number, generation = 1): Frontend => ({
  key: `gateway/team-${i % 100}/web-${i}/tcp-80`,
  generation,
  names: [`web-${i}.team-${i % 100}.gw.cluster.local`],
  ttl: 5,
  vips: [`10.96.${i >> 8}.${(i + generation) & 255}`, `fd00:96::${(i + 1).toString(16)}`],
  ports: [{ protocol: 'TCP', port: 80, listeners: ['http'], targets: [] }],
});

/** Microseconds of processor time per call. */
function cpu(calls: number, run: (i: number) => void): number {
  const start = process.cpuUsage();
  for (let i = 0; i < calls; i += 1) run(i);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / calls;
}

const frontends = Array.from({ length: count }, (_, i) => frontend(i));
const before = process.memoryUsage().heapUsed + process.memoryUsage().external;
const load = cpu(1, () =>
  zone.update(
    frontends.map((f) => [f.key, f] as const),
    1,
  ),
);
zone.complete();
const bytes = process.memoryUsage().heapUsed + process.memoryUsage().external - before;
const change = cpu(2000, (i) => {
  const f = frontend(i % count, 2 + i);
  zone.update([[f.key, f]], 2 + i);
});

const query = (name: string, type: number, udpSize?: number): Buffer =>
  encodeQuery({ id: 1, name: `${name}.gw.cluster.local`, type, ...(udpSize ? { udpSize } : {}) }) as Buffer;
const kinds: readonly (readonly [string, (i: number) => Buffer])[] = [
  ['A', (i) => query(`web-${i}.team-${i % 100}`, recordTypes.A)],
  ['A, EDNS', (i) => query(`web-${i}.team-${i % 100}`, recordTypes.A, 1232)],
  ['AAAA', (i) => query(`web-${i}.team-${i % 100}`, recordTypes.AAAA, 1232)],
  ['SRV + addresses', (i) => query(`_http._tcp.web-${i}.team-${i % 100}`, recordTypes.SRV, 1232)],
  ['no data', (i) => query(`team-${i % 100}`, recordTypes.A, 1232)],
  ['NXDOMAIN', (i) => query(`none-${i}.team-${i % 100}`, recordTypes.A, 1232)],
];

const lines = [
  `front ends            ${count}`,
  `load                  ${(load / 1000).toFixed(0)} ms, ${(bytes / 1e6).toFixed(1)} MB`,
  `one change            ${change.toFixed(1)} µs`,
];
for (const [name, make] of kinds) {
  const queries = Array.from({ length: count }, (_, i) => make(i));
  let octets = 0;
  const run = (i: number): void => {
    octets = answer(zone, queries[i % count] as Buffer, 'udp')?.packet.length ?? 0;
  };
  cpu(100_000, run);
  const best = Math.min(...Array.from({ length: 5 }, () => cpu(200_000, run)));
  lines.push(`${name.padEnd(22)}${best.toFixed(2)} µs, ${octets} B`);
}
process.stdout.write(`${lines.join('\n')}\n`);
