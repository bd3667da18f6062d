import { expect, test } from 'vitest';
import { AppError } from '../../runtime/errors.ts';
import { type Fuzz, fuzz } from '../../runtime/fuzz-bed.ts';
import { DeltaClientStream } from '../../sources/xds/delta-client-stream.ts';
import {
  acknowledgement,
  type DeltaRequest,
  decodeDeltaResponse,
  encodeDeltaRequest,
} from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { DeltaServerStream, defaultStreamLimits } from './delta-server-stream.ts';
import { ResourceLog } from './resource-log.ts';
import type { View } from './view.ts';

const cases = 120_000;
const { cluster, assignment, listener, originStatus } = typeUrls;
const types = [cluster, assignment, listener];
const names = [...Array.from({ length: 30 }, (_, i) => `n${i}`), 'xdstp://s/t/v1/p/e', 'xdstp://s/t/v1/p/w'];
const wishes = [...names, '*', 'xdstp://s/t/v1/p/*', 'absent', 'barrier/1', ''];
/** Sees half of it, another half from time to time. */
let turn = 0;
const view: View = {
  ...{ key: 'half', stable: false },
  sees: (_type, { name }) => (name.length + turn) % 3 > 0,
};

function request(random: Fuzz, nonce: string): Buffer {
  const typeUrl = random.pick([...types, originStatus, 'type.googleapis.com/other.Type']);
  const list = () => Array.from({ length: random.below(4) }, () => random.pick(wishes));
  const versions = new Map(list().map((name) => [name, random.pick(['?', '', 'abc'])]));
  const plain: DeltaRequest = {
    typeUrl,
    subscribe: list(),
    unsubscribe: list(),
    initialVersions: versions,
    nonce: '',
  };
  const refusals = list().map((name) => ({ name, message: 'no' }));
  return encodeDeltaRequest(random.chance(50) ? plain : acknowledgement(typeUrl, nonce, refusals));
}

/** A stream of a client that says whatever it likes. */
class Victim {
  readonly stream: DeltaServerStream;
  nonce = '';
  bytes = 0;
  failed = false;

  constructor(log: ResourceLog, seesAll: boolean) {
    this.stream = new DeltaServerStream({
      log,
      view: seesAll ? { key: 'all', stable: true, sees: () => true } : view,
      limits: { ...defaultStreamLimits, names: 200, responseBytes: 2_000 },
      send: (message) => {
        this.bytes += message.length;
        this.nonce = decodeDeltaResponse(message).nonce;
        if (message.length > 3_000) throw new Error(`a response of ${message.length} bytes`);
        return true;
      },
      fail: () => {
        this.failed = true;
      },
    });
  }

  receive(frame: Buffer): void {
    try {
      this.stream.receive(frame);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'E_XDS_STREAM') throw error;
      this.failed = true;
    }
    if (this.failed) this.stream.close();
  }
}

/** What a client that behaves is told of a type. */
async function toldTo(log: ResourceLog, typeUrl: string): Promise<ReadonlyMap<string, string>> {
  const held = new Map<string, string>();
  const client = new DeltaClientStream({
    node: () => new Uint8Array(),
    apply: ({ upserts }) => {
      for (const { name, body } of upserts) held.set(name, Buffer.from(body).toString());
      return [];
    },
  });
  const inbox: Buffer[] = [];
  const server = new DeltaServerStream({
    ...{ log, view: { key: 'all', stable: true, sees: () => true }, fail: () => {} },
    send: (message) => inbox.push(message) > 0,
  });
  client.subscribe(typeUrl, ['*']);
  client.opened({ send: (message) => server.receive(message), fail: (error) => expect.fail(error.message) });
  for (const message of inbox) client.receive(message);
  await new Promise((resolve) => setImmediate(resolve));
  server.close();
  return held;
}

test(`${cases} frames of a client: each is taken or ends its stream, answers are bounded, others are served`, async () => {
  const log = new ResourceLog({ slack: 16, maxTombstones: 40 });
  for (const typeUrl of types) {
    for (const name of names) log.set(typeUrl, { name, body: Buffer.from(`${name} at first`) });
  }
  log.open();
  let victim = new Victim(log, true);
  let [taken, ended] = [0, 0];
  await fuzz(cases, (random, i) => {
    if (victim.failed || random.chance(1)) {
      victim.stream.close();
      victim = new Victim(log, random.chance(50));
    }
    if (random.chance(5)) {
      const [typeUrl, name] = [random.pick(types), random.pick(names)];
      const change = random.below(3);
      if (change === 0) log.remove(typeUrl, name);
      else if (change === 1) log.withhold(typeUrl, name);
      else log.set(typeUrl, { name, body: Buffer.from(`${name} ${i}`) });
      turn = random.below(3);
      victim.stream.refresh();
      log.flush();
    }
    const frame = request(random, victim.nonce);
    const sent = random.chance(70) ? random.mutatedMessage(frame, request(random, victim.nonce)) : frame;
    victim.bytes = 0;
    victim.receive(sent);
    if (victim.failed) ended += 1;
    else taken += 1;
    // Everything of every type once, and each name that was asked for.
    const most = types.length * names.length * 150 + 4 * sent.length + 4_096;
    if (victim.bytes > most) throw new Error(`${victim.bytes} bytes for a frame of ${sent.length}`);
  });
  expect(taken).toBeGreaterThan(cases / 3);
  expect(ended).toBeGreaterThan(cases / 100);
  log.flush();
  for (const typeUrl of types) {
    const wanted = [...log.entries(typeUrl)].map(({ name }) => name);
    expect([...(await toldTo(log, typeUrl)).keys()].sort()).toEqual(wanted.sort());
  }
}, 300_000);
