import { Client } from '@grpc/grpc-js';
import type { Clock } from './clock.ts';
import type { ExpectedPeer } from './identity.ts';
import { channelCredentials, type TlsFiles } from './tls.ts';

/**
 * A connection to another cluster's relay, made when it is first used and again when it breaks. A peer that does
 * not answer pings for 5 s counts as lost. Throws E_TLS_LOAD.
 */
export function peerClient(options: {
  /** `host:port` */
  readonly target: string;
  readonly tls: TlsFiles;
  readonly expect: ExpectedPeer;
  readonly clock?: Clock;
}): Client {
  return new Client(options.target, channelCredentials(options.tls, options.expect, options.clock), {
    'grpc.keepalive_time_ms': 5_000,
    'grpc.keepalive_timeout_ms': 5_000,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.min_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1_000,
    'grpc.max_receive_message_length': 16 * 1024 * 1024,
    'grpc.max_send_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
  });
}
