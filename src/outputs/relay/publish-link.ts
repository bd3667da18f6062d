import { decodeRelayNode, type RefusedSubscriber } from '../../model/relay/refused-subscribers.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Dialer, DuplexLoop } from '../../runtime/duplex-loop.ts';
import type { AppError } from '../../runtime/errors.ts';
import { methods } from '../../wire/proto/methods.ts';
import { DeltaServerStream, type StreamObserver } from '../xds/delta-server-stream.ts';
import type { ResourceLog } from '../xds/resource-log.ts';
import type { View } from '../xds/view.ts';

/** Header of a Publish call: the epoch of its publisher. */
export const epochHeader = 'causeway-epoch';

/** What is published. */
export interface Publishable {
  readonly log: ResourceLog;
  /** Start of the publisher's life, epoch milliseconds. */
  readonly epoch: number;
  /** Calls `fn` once there is something to tell. */
  whenOpen(fn: () => void): void;
}

export interface PublishLinkOptions {
  readonly dialer: Dialer;
  readonly target: string;
  readonly state: Publishable;
  /** Of its log. Default: everything. */
  readonly view?: View;
  readonly clock: Clock;
  readonly random: () => number;
  /** What the relay refused, name by name. */
  readonly refused?: (name: string, message: string) => void;
  /** Who asks the relay for what we do not offer them; empty when the call ends. */
  readonly asked?: (refused: readonly RefusedSubscriber[]) => void;
  /** The call ended, or could not be made; it is tried again. Not called twice for the same reason. */
  readonly lost?: (error: AppError) => void;
}

const everything: View = { key: 'relay', stable: true, sees: () => true };

/**
 * Publishes over a call that we dial: delta xDS with the roles swapped, we are the server on it. The call is made
 * once there is something to tell, so that a controller that starts does not take the place of one that is there.
 */
export class PublishLink {
  #loop: DuplexLoop | undefined;
  #closed = false;

  constructor(options: PublishLinkOptions) {
    options.state.whenOpen(() => {
      if (!this.#closed) this.#loop = dial(options);
    });
  }

  close(): void {
    this.#closed = true;
    this.#loop?.close();
  }
}

function dial(options: PublishLinkOptions): DuplexLoop {
  const { dialer, target, state, view = everything, clock, random } = options;
  const observer: StreamObserver = {
    node: (node) => options.asked?.(decodeRelayNode(node)),
    answered: (_typeUrl, _told, refused) => {
      for (const { name, message } of refused) options.refused?.(name, message);
    },
  };
  let reason = '';
  return new DuplexLoop({
    dialer,
    target,
    path: methods.publish,
    headers: () => ({ [epochHeader]: String(state.epoch) }),
    clock,
    random,
    open: (duplex) => {
      const stream = new DeltaServerStream({
        log: state.log,
        view,
        send: (message) => duplex.send(message),
        fail: (error) => duplex.fail(error),
        observer,
      });
      return {
        receive: (message) => {
          reason = '';
          stream.receive(message);
        },
        drained: () => stream.drained(),
        replaced: () => stream.close(),
        closed: (error) => {
          stream.close();
          options.asked?.([]);
          if (error.message !== reason) options.lost?.(error);
          reason = error.message;
        },
      };
    },
  });
}
