import { Metadata, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { epochHeader } from '../../outputs/relay/publish-link.ts';
import type { Admission } from '../../runtime/admission.ts';
import { type BytesCall, bytesMethod, serveBytesCall } from '../../runtime/bytes-call.ts';
import type { Clock } from '../../runtime/clock.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { identifyCall } from '../../runtime/tls.ts';
import { methods } from '../../wire/proto/methods.ts';
import type { RelayHub } from './hub.ts';

export interface PublishServiceOptions {
  readonly hub: RelayHub;
  readonly set: string;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly log: Log;
}

/** causeway.v1.Relay: takes the publish links of members. */
export function publishService(options: PublishServiceOptions): {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
} {
  return {
    definition: { Publish: bytesMethod(methods.publish) },
    implementation: { Publish: (call: BytesCall) => accept(options, call) },
  };
}

/** Of one response of a publisher, which sends at most 1 MiB, or one resource that is bigger. */
const maxResponseBytes = 4 * 1024 * 1024;

function accept({ hub, set, admission, clock, log }: PublishServiceOptions, call: BytesCall): void {
  serveBytesCall(call, {
    admission,
    open: (fail) => {
      const peer = identifyCall(call, { set, roles: ['controller', 'relay'] });
      const epoch = Number(call.metadata.get(epochHeader)[0]);
      if (!Number.isSafeInteger(epoch) || epoch < 0) {
        throw new AppError('E_XDS_STREAM', `expected the publisher's epoch in ${epochHeader}`);
      }
      call.sendMetadata(new Metadata());
      const connection = { send: (message: Buffer) => void call.write(message), fail };
      const feed = hub.link(peer, epoch, connection);
      const who = peer.role === 'relay' ? { relay: peer.cluster } : { cluster: peer.cluster };
      log.info({ ...who, peer: call.getPeer(), epoch }, 'member publishes');
      return {
        receive: (message) => {
          if (message.length > maxResponseBytes) {
            const text = `expected a response of at most ${maxResponseBytes} bytes, found ${message.length}`;
            throw new AppError('E_XDS_STREAM', text);
          }
          const delay = feed.receive(connection, message);
          if (delay <= 0) return;
          call.pause();
          clock.after(delay, () => call.resume());
        },
        closed: () => hub.unlink(feed, connection),
      };
    },
    failed: ({ code, message }, refused) => {
      const what = refused ? 'refused' : 'ended by us';
      log.warn({ peer: call.getPeer(), code }, `publish link ${what}: ${message}`);
    },
  });
}
