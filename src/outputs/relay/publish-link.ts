import type { Client } from '@grpc/grpc-js';
import type { Clock } from '../../runtime/clock.ts';
import { DuplexLoop } from '../../runtime/duplex-loop.ts';
import type { AppError } from '../../runtime/errors.ts';
import { DeltaServerStream, type StreamObserver } from '../xds/delta-server-stream.ts';
import type { View } from '../xds/view.ts';
import type { PublishedState } from './published-state.ts';

export const publishPath = '/causeway.v1.Relay/Publish';
/** Header of a Publish call: the epoch of its publisher. */
export const epochHeader = 'causeway-epoch';

export interface PublishLinkOptions {
  readonly client: Client;
  readonly target: string;
  readonly state: PublishedState;
  readonly clock: Clock;
  readonly random: () => number;
  /** What the relay refused, name by name. */
  readonly refused?: (name: string, message: string) => void;
  readonly lost?: (error: AppError) => void;
}

const everything: View = { key: 'relay', stable: true, sees: () => true };

/** Publishes over a call that we dial: delta xDS with the roles swapped, we are the server on it. */
export class PublishLink {
  readonly #loop: DuplexLoop;

  constructor(options: PublishLinkOptions) {
    const { client, target, state, clock, random } = options;
    const observer: StreamObserver = {
      answered: (_typeUrl, _told, refused) => {
        for (const { entry, message } of refused) options.refused?.(entry.name, message);
      },
    };
    this.#loop = new DuplexLoop({
      client,
      target,
      path: publishPath,
      headers: () => ({ [epochHeader]: String(state.epoch) }),
      clock,
      random,
      open: (duplex) => {
        const stream = new DeltaServerStream({
          log: state.log,
          view: everything,
          send: (message) => duplex.send(message),
          fail: (error) => duplex.fail(error),
          observer,
        });
        return {
          receive: (message) => stream.receive(message),
          drained: () => stream.drained(),
          closed: (error) => {
            stream.close();
            options.lost?.(error);
          },
        };
      },
    });
  }

  close(): void {
    this.#loop.close();
  }
}
