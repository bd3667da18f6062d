import type { Clock } from '../../runtime/clock.ts';
import { type Dialer, DuplexLoop } from '../../runtime/duplex-loop.ts';
import type { AppError } from '../../runtime/errors.ts';
import { methods } from '../../wire/proto/methods.ts';
import type { ClientConnection } from '../xds/delta-client-stream.ts';

export interface Subscriber {
  opened(connection: ClientConnection): void;
  receive(message: Uint8Array): void;
  /** Another connection follows at once. */
  replaced(): void;
  closed(error: AppError): void;
}

/** Keeps a subscription to a relay open. Returns how to end it. */
export function subscribeLoop(
  subscriber: Subscriber,
  options: {
    readonly dialer: Dialer;
    readonly target: string;
    readonly clock: Clock;
    readonly random: () => number;
  },
): () => void {
  const loop = new DuplexLoop({
    ...options,
    path: methods.deltaAds,
    open: (duplex) => {
      subscriber.opened({
        send: (message) => void duplex.send(message),
        fail: (error) => duplex.fail(error),
      });
      return {
        receive: (message) => subscriber.receive(message),
        drained: () => {},
        replaced: () => subscriber.replaced(),
        closed: (error) => subscriber.closed(error),
      };
    },
  });
  return () => loop.close();
}
