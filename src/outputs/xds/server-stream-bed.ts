import type { AppError } from '../../runtime/errors.ts';
import {
  type DeltaRequest,
  type DeltaResponse,
  decodeDeltaResponse,
  encodeDeltaRequest,
} from '../../wire/proto/discovery.ts';
import { DeltaServerStream, defaultStreamLimits, type StreamLimits } from './delta-server-stream.ts';
import { ResourceLog, type ResourceLogOptions } from './resource-log.ts';
import type { View } from './view.ts';

export const everything: View = { key: 'all', stable: true, sees: () => true };

interface Setup {
  readonly view?: View;
  readonly limits?: Partial<StreamLimits>;
  readonly log?: ResourceLogOptions;
  readonly open?: boolean;
  readonly held?: boolean;
}

/** For tests: a log and a client's stream of it, open unless said otherwise. */
export function setUp(options: Setup = {}) {
  const log = new ResourceLog(options.log);
  if (options.open !== false) log.open();
  return { log, ...connect(log, options) };
}

/** For tests: a stream of a log that is there. */
export function connect(log: ResourceLog, options: Setup = {}) {
  const sent: DeltaResponse[] = [];
  const refusals: string[] = [];
  let room = Number.POSITIVE_INFINITY;
  let failure: AppError | undefined;
  const stream = new DeltaServerStream({
    log,
    view: options.view ?? everything,
    held: options.held ?? false,
    limits: { ...defaultStreamLimits, ...options.limits },
    send: (message) => {
      sent.push(decodeDeltaResponse(message));
      room -= 1;
      return room > 0;
    },
    fail: (error) => {
      failure = error;
    },
    observer: {
      answered: (_t, _told, refused) => refusals.push(...refused.map((r) => `${r.name}: ${r.message}`)),
    },
  });
  const receive = (request: Partial<DeltaRequest> & { typeUrl: string }): void =>
    stream.receive(
      encodeDeltaRequest({
        subscribe: [],
        unsubscribe: [],
        initialVersions: new Map(),
        nonce: '',
        ...request,
      }),
    );
  return {
    stream,
    refusals,
    receive,
    failure: () => failure,
    /** Takes so many more messages. */
    setRoom: (messages: number) => {
      room = messages;
    },
    /** What was sent since the last call: `+name` and `-name` per response, after the last word of its type. */
    taken: () =>
      sent.splice(0).map((r) => {
        const names = [...r.resources.map((x) => `+${x.name}`), ...r.removals.map((x) => `-${x}`)];
        return [r.typeUrl.split('.').at(-1), ...names].join(' ');
      }),
    raw: () => sent.splice(0),
  };
}

export const put = (log: ResourceLog, typeUrl: string, ...names: string[]): void => {
  for (const name of names) log.set(typeUrl, { name, body: Buffer.from(`${name}${log.position}`) });
};
