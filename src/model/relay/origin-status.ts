import { withoutFields } from '../../wire/proto/raw-fields.ts';
import { codec } from '../../wire/proto/registry.ts';

export interface OriginStatus {
  /** Start of the origin's current life, epoch milliseconds. */
  readonly epoch: number;
  readonly sequence: number;
  readonly synced: boolean;
  readonly sentAt: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly region: string;
  readonly network: string;
}

const message = 'causeway.v1.OriginStatus';
/** labels, region and network: a relay says them, from the origin's certificate. */
const ofIdentity: ReadonlySet<number> = new Set([6, 7, 8]);

export function encodeOriginStatus(status: {
  readonly epoch: number;
  readonly sequence: number;
  readonly synced: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly sentAt: number;
}): Buffer {
  const { epoch, sequence, synced, counts, sentAt } = status;
  return codec(message).encode({ epoch, sequence, synced, counts: { ...counts }, sent_at: sentAt });
}

/** Throws on malformed bytes. */
export function decodeOriginStatus(body: Uint8Array): OriginStatus {
  const {
    epoch = 0,
    sequence = 0,
    synced = false,
    sent_at = 0,
    labels,
    region = '',
    network = '',
  } = codec(message).decode(body);
  return { epoch, sequence, synced, sentAt: sent_at, labels: { ...labels }, region, network };
}

/** The status as it goes on to consumers: what the certificate says replaces what the origin says of itself. */
export function withIdentity(
  body: Uint8Array,
  identity: {
    readonly labels: Readonly<Record<string, string>>;
    readonly region: string;
    readonly network: string;
  },
): Buffer {
  const labels: Record<string, string> = {};
  for (const key of Object.keys(identity.labels).sort()) labels[key] = identity.labels[key] as string;
  const own = codec(message).encode({ labels, region: identity.region, network: identity.network });
  return Buffer.concat([withoutFields(body, ofIdentity), own]);
}
