import { X509Certificate } from 'node:crypto';
import { type PeerIdentity, parsePeerIdentity } from './identity.ts';

/** What counts of a certificate that TLS has verified. */
export interface PeerCertificate {
  readonly identity: PeerIdentity;
  /** `<cluster>/<role>[/<node>]` */
  readonly name: string;
  /** Lower-case hexadecimal without leading zeros. */
  readonly serial: string;
  /** Epoch milliseconds. */
  readonly from: number;
  readonly until: number;
}

/** Reads a certificate in DER. Throws E_PEER_IDENTITY. */
export function readPeerCertificate(raw: Uint8Array): PeerCertificate {
  const identity = parsePeerIdentity(raw);
  const { serialNumber, validFromDate, validToDate } = new X509Certificate(raw);
  return {
    identity,
    name: nameOfPeer(identity),
    serial: serialNumber.toLowerCase().replace(/^0+(?=.)/, ''),
    from: validFromDate.getTime(),
    until: validToDate.getTime(),
  };
}

/** `<cluster>/<role>[/<node>]` */
export const nameOfPeer = ({ cluster, role, node }: PeerIdentity): string =>
  [cluster, role, node].filter((part) => part !== undefined).join('/');
