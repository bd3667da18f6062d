import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { connect, isIP } from 'node:net';
import type { LoadLine, LoadPlan } from './load-plan.ts';
import { Tally } from './tally.ts';

/**
 * A client: `load.ts PLAN` with a `LoadPlan` as JSON. It asks who is there, counts the answers and prints
 * `LoadLine`s; SIGTERM ends it in good order. A reason for failure is a code of the system, `dns` or `timeout`.
 */

interface Target {
  readonly address: string;
  readonly family: number;
}

class Failure extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

const plan = JSON.parse(process.argv[2] ?? '{}') as LoadPlan;
const timeoutMs = plan.timeoutMs ?? 3_000;
const started = performance.now();
const total = new Tally();
let delta = new Tally();
let begun = 0;
let running = 0;
let stopping = false;

let target: Promise<Target> | undefined;
let resolvedAt = 0;

function resolve(): Promise<Target> {
  const literal = isIP(plan.host);
  if (literal) return Promise.resolve({ address: plan.host, family: literal });
  if (target === undefined || performance.now() - resolvedAt > 1_000) {
    resolvedAt = performance.now();
    target = lookup(plan.host, { family: plan.family ?? 0 }).catch((error: NodeJS.ErrnoException) => {
      target = undefined;
      throw new Failure(`dns ${error.code ?? ''}`.trim());
    });
  }
  return target;
}

const whoOf = (text: string): string => text.split(/\s/, 1)[0] || '?';

function askTcp(to: Target): Promise<string> {
  return new Promise((done, failed) => {
    const socket = connect({ host: to.address, port: plan.port, noDelay: true });
    let text = '';
    const end = (act: () => void): void => {
      clearTimeout(limit);
      act();
    };
    const limit = setTimeout(() => {
      failed(new Failure('timeout'));
      socket.destroy();
    }, timeoutMs);
    socket.setEncoding('utf8');
    socket.once('connect', () => socket.write('who\n'));
    socket.on('data', (chunk) => {
      text += chunk;
      if (!text.includes('\n')) return;
      end(() => done(whoOf(text)));
      socket.end();
    });
    socket.on('error', (error: NodeJS.ErrnoException) =>
      end(() => failed(new Failure(error.code ?? 'error'))),
    );
    socket.on('close', () => end(() => failed(new Failure('closed'))));
  });
}

let shared: UdpSocket | undefined;

function askUdp(to: Target): Promise<string> {
  return new Promise((done, failed) => {
    const fresh = !(plan.oneSocket && shared);
    const socket = (fresh ? undefined : shared) ?? createSocket(to.family === 6 ? 'udp6' : 'udp4');
    if (plan.oneSocket) shared = socket;
    const end = (act: () => void): void => {
      clearTimeout(limit);
      socket.removeAllListeners();
      socket.on('error', () => {});
      if (!plan.oneSocket) socket.close();
      act();
    };
    const limit = setTimeout(() => end(() => failed(new Failure('timeout'))), timeoutMs);
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(() => failed(new Failure(error.code ?? 'error'))),
    );
    socket.once('message', (data) => end(() => done(whoOf(data.toString('utf8')))));
    const send = (): void => socket.send('who\n', (error) => error && socket.emit('error', error));
    // Connected: a port that is not there is an error at once instead of silence.
    if (fresh) socket.connect(plan.port, to.address, send);
    else send();
  });
}

async function request(): Promise<void> {
  const at = performance.now();
  const begun = Date.now();
  try {
    const to = await resolve();
    const who = await (plan.protocol === 'UDP' ? askUdp(to) : askTcp(to));
    const ms = performance.now() - at;
    total.answer(who, ms);
    delta.answer(who, ms);
  } catch (error) {
    const reason = error instanceof Failure ? error.reason : String(error);
    total.fail(reason);
    delta.fail(reason);
    if (plan.tellFailures) say({ failed: { begun, ended: Date.now(), reason } });
  }
}

const say = (line: LoadLine): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

function finished(): boolean {
  if (stopping) return true;
  if (plan.requests !== undefined && begun >= plan.requests) return true;
  return plan.seconds !== undefined && performance.now() - started >= plan.seconds * 1_000;
}

/** Starts what is due, and comes back when the next is or one has ended. */
function pump(): void {
  while (!finished() && running < (plan.concurrency ?? 8)) {
    if (plan.rate !== undefined) {
      const due = started + (begun * 1_000) / plan.rate;
      const early = due - performance.now();
      if (early > 0) {
        setTimeout(pump, Math.max(1, early));
        return;
      }
    }
    begun += 1;
    running += 1;
    void request().finally(() => {
      running -= 1;
      if (running === 0 && finished()) end();
      else pump();
    });
  }
  if (running === 0 && finished()) end();
}

let ended = false;
function end(): void {
  if (ended) return;
  ended = true;
  if (plan.everyMs !== undefined) say({ delta: delta.toJSON() });
  say({ total: total.toJSON() });
  process.stdout.end(() => process.exit(0));
}

process.on('SIGTERM', () => {
  stopping = true;
  pump();
});
if (plan.everyMs !== undefined) {
  setInterval(() => {
    say({ delta: delta.toJSON() });
    delta = new Tally();
  }, plan.everyMs);
}
pump();
