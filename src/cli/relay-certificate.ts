import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CaFolder } from '../runtime/ca-folder.ts';
import { AppError } from '../runtime/errors.ts';
import { formatSpiffeId, type PeerIdentity } from '../runtime/identity.ts';
import { readPeerCertificate } from '../runtime/peer-certificate.ts';

export interface RelayCertificateOptions extends Omit<PeerIdentity, 'set'> {
  /** Where `causeway relay init` made the CA. */
  readonly state: string;
  /** Milliseconds of validity. */
  readonly ttl: number;
  readonly dns: readonly string[];
  readonly ips: readonly string[];
  readonly out: string;
}

/** `causeway relay certificate`: a certificate for one role of one cluster. Resolves with the exit code. */
export async function runRelayCertificate(options: RelayCertificateOptions): Promise<number> {
  const { state, out, ...identity } = options;
  if (identity.role !== 'proxy' && (identity.role === 'agent') !== (identity.node !== undefined)) {
    const message =
      '--node: expected the name of a node for --role agent, one or none for proxy, none for others';
    throw new AppError('E_USAGE', message);
  }
  const ca = CaFolder.open(state);
  const files = await ca.issueInto(out, { ...identity, now: Date.now() });
  const id = formatSpiffeId({ ...identity, set: ca.set });
  const { serial } = readPeerCertificate(new X509Certificate(readFileSync(files.cert)).raw);
  process.stdout.write(`${id}: ${files.cert}, ${files.key} and ${files.ca}\nserial ${serial}\n`);
  return 0;
}
