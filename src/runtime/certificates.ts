import 'reflect-metadata';
import { createPrivateKey, randomBytes, type webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { AppError } from './errors.ts';
import {
  encodeIdentityExtension,
  formatSpiffeId,
  identityExtensionOid,
  type PeerIdentity,
  parseCaSet,
  validateIdentity,
} from './identity.ts';

/** PEM texts. The key is PKCS #8 and must never be printed. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface IssueOptions extends PeerIdentity {
  readonly ca: KeyPair;
  /** Milliseconds of validity. */
  readonly ttl: number;
  /** Epoch milliseconds. */
  readonly now: number;
  /** For clients that check the host name; our own peers check the SPIFFE id instead. */
  readonly dns?: readonly string[];
  readonly ips?: readonly string[];
}

const day = 86_400_000;
/** Clocks of clusters differ: a certificate is valid from a little before it was made. */
const skew = 5 * 60_000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** A new certificate authority for `set` (ECDSA P-256), able to sign end certificates only. */
export async function makeCa(options: { set: string; now: number; ttl?: number }): Promise<KeyPair> {
  validateIdentity({ ...nobody, set: options.set });
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(options.now, options.ttl ?? 3650 * day),
    name: `CN=causeway ${options.set}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      new SubjectAlternativeNameExtension([{ type: 'url', value: `spiffe://${options.set}` }]),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: `${certificate.toString('pem')}\n`, key: await exportKey(keys.privateKey) };
}

/** A certificate with a new key for `options`' identity. Throws E_USAGE for an identity that cannot be. */
export async function issue(options: IssueOptions): Promise<KeyPair> {
  validateIdentity(options);
  const ca = new X509Certificate(options.ca.certificate);
  const set = parseCaSet(new Uint8Array(ca.rawData));
  if (set !== options.set) {
    throw new AppError('E_USAGE', `expected an identity of the CA's set ${set}, found ${options.set}`);
  }
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.create({
    ...validity(options.now, options.ttl),
    subject: `CN=${options.cluster}`,
    issuer: ca.subjectName,
    publicKey: keys.publicKey,
    signingKey: await importKey(options.ca.key),
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension([
        { type: 'url', value: formatSpiffeId(options) },
        ...(options.dns ?? []).map((value) => ({ type: 'dns' as const, value })),
        ...(options.ips ?? []).map((value) => ({ type: 'ip' as const, value })),
      ]),
      new Extension(identityExtensionOid, false, encodeIdentityExtension(options).slice().buffer),
      await AuthorityKeyIdentifierExtension.create(ca.publicKey),
    ],
  });
  return { certificate: `${certificate.toString('pem')}\n`, key: await exportKey(keys.privateKey) };
}

const nobody: PeerIdentity = {
  set: 'set',
  cluster: 'cluster',
  role: 'admin',
  labels: {},
  namespaces: [],
  region: '',
  network: '',
};

function validity(now: number, ttl: number): { notBefore: Date; notAfter: Date; serialNumber: string } {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  return {
    notBefore: new Date(now - skew),
    notAfter: new Date(now + ttl),
    serialNumber: serial.toString('hex'),
  };
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return `${PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' });
  return crypto.subtle.importKey('pkcs8', new Uint8Array(der), algorithm, false, ['sign']);
}
