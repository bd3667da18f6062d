import { createSocket } from 'node:dgram';
import { recordTypes } from '../src/wire/dns/codes.ts';
import { encodeQuery } from '../src/wire/dns/encode.ts';

/**
 * The client of dns-server.ts, in a process of its own: `dns-load.ts PORT COUNT NAMES ZONE` asks a server on loopback
 * for A records of `web-<i>.<zone>`, 16 questions in flight on each of 4 sockets, and prints what came as JSON. A
 * question without an answer after a second is asked again.
 */
export interface DnsLoad {
  readonly answers: number;
  readonly wrong: number;
  readonly again: number;
  readonly ms: number;
}

const [port = 0, count = 0, names = 0] = process.argv.slice(2, 5).map(Number);
const zone = process.argv[5] ?? '';
const inFlight = 16;

const queries = Array.from(
  { length: names },
  (_, i) => encodeQuery({ id: 0, name: `web-${i}.${zone}`, type: recordTypes.A }) as Buffer,
);
let asked = 0;
let answers = 0;
let wrong = 0;
let again = 0;
let done: () => void = () => {};
const all = new Promise<void>((resolve) => {
  done = resolve;
});
const started = performance.now();

for (let s = 0; s < 4; s += 1) {
  const socket = createSocket('udp4');
  const since = new Map<number, number>();
  const ask = (slot: number): void => {
    if (asked >= count) return;
    // Names in an order that no cache of the processor follows.
    const query = Buffer.from(queries[(asked * 7919) % names] as Buffer);
    asked += 1;
    query.writeUInt16BE(slot, 0);
    since.set(slot, performance.now());
    socket.send(query);
  };
  socket.on('message', (answer) => {
    const slot = answer.readUInt16BE(0);
    if (!since.delete(slot)) return;
    answers += 1;
    // NOERROR and an answer.
    if ((answer[3] as number) % 16 !== 0 || answer.readUInt16BE(6) === 0) wrong += 1;
    if (answers === count) done();
    ask(slot);
  });
  socket.connect(port, '127.0.0.1', () => {
    for (let slot = 0; slot < inFlight; slot += 1) ask(slot);
  });
  setInterval(() => {
    for (const [slot, at] of since) {
      if (performance.now() - at < 1000) continue;
      again += 1;
      asked -= 1;
      ask(slot);
    }
  }, 500);
}
await all;
console.log(JSON.stringify({ answers, wrong, again, ms: performance.now() - started } satisfies DnsLoad));
process.exit(0);
