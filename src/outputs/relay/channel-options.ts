import type { ClientOptions } from '@grpc/grpc-js';
import { defaultStreamLimits } from '../xds/delta-server-stream.ts';

/** Of channels to relays. */
export const relayChannelOptions: ClientOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.max_receive_message_length': defaultStreamLimits.requestBytes,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.use_local_subchannel_pool': 1,
};
