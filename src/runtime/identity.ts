import { type DerValue, derTags, readDer, readDerChildren, writeDerText } from './der.ts';
import { AppError } from './errors.ts';
import {
  dnsLabel,
  dnsSubdomain,
  labelKey,
  labelValue,
  namespacePattern,
  topologyName,
} from './name-patterns.ts';

export const peerRoles = ['controller', 'relay', 'agent', 'dns', 'proxy', 'admin'] as const;
export type PeerRole = (typeof peerRoles)[number];

/**
 * Who holds a certificate: its one URI SAN `spiffe://<set>/cluster/<cluster>/<role>[/<node>]` and what the CA
 * bound to it in the identity extension.
 */
export interface PeerIdentity {
  readonly set: string;
  /** DNS label. Of a relay: the relay's name. */
  readonly cluster: string;
  readonly role: PeerRole;
  readonly node?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Namespaces this cluster may speak for: names, or a prefix and `*`. Empty: none. */
  readonly namespaces: readonly string[];
  /** Empty: not said. */
  readonly region: string;
  readonly network: string;
}

/** What the other end must be. An absent field admits any. */
export interface ExpectedPeer {
  readonly set?: string;
  readonly roles: readonly PeerRole[];
  readonly cluster?: string;
}

/**
 * The private extension: a non-critical UTF8String of JSON {labels, namespaces, region, network}. The arc 2.25
 * needs no registration (ITU-T X.667).
 */
export const identityExtensionOid = '2.25.529471587';
const identityOidBody = Buffer.from('6981fcbcb063', 'hex');
const altNameOidBody = Buffer.from('551d11', 'hex');

const maxCertificateBytes = 16_384;
const maxExtensionBytes = 8_192;
const maxLabels = 64;
const maxNamespaces = 256;

const refuse = (message: string, cause?: unknown): AppError =>
  new AppError('E_PEER_IDENTITY', message, { cause });
const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 200) ?? 'nothing';

/** Throws E_USAGE when a field cannot be part of an identity. */
export function validateIdentity(identity: PeerIdentity): void {
  const wrong = wrongField(identity);
  if (wrong) throw new AppError('E_USAGE', wrong);
}

function wrongField(i: PeerIdentity): string | undefined {
  if (!dnsSubdomain.test(i.set)) return `expected a DNS name as set, found ${shown(i.set)}`;
  if (!dnsLabel.test(i.cluster)) return `expected a DNS label as cluster, found ${shown(i.cluster)}`;
  if (!peerRoles.includes(i.role))
    return `expected one of ${peerRoles.join(', ')} as role, found ${shown(i.role)}`;
  if (i.node !== undefined && !dnsSubdomain.test(i.node)) {
    return `expected a DNS name as node, found ${shown(i.node)}`;
  }
  const labels = Object.entries(i.labels);
  if (labels.length > maxLabels) return `expected at most ${maxLabels} labels, found ${labels.length}`;
  for (const [key, value] of labels) {
    if (!labelKey.test(key) || typeof value !== 'string' || !labelValue.test(value)) {
      return `expected a label key and value, found ${shown(key)}: ${shown(value)}`;
    }
  }
  if (i.namespaces.length > maxNamespaces) {
    return `expected at most ${maxNamespaces} namespaces, found ${i.namespaces.length}`;
  }
  for (const pattern of i.namespaces) {
    if (typeof pattern !== 'string' || !namespacePattern.test(pattern)) {
      return `expected a namespace or a prefix and *, found ${shown(pattern)}`;
    }
  }
  for (const field of ['region', 'network'] as const) {
    if (typeof i[field] !== 'string' || !topologyName.test(i[field])) {
      return `expected letters, digits and ._- as ${field}, found ${shown(i[field])}`;
    }
  }
  return undefined;
}

export function formatSpiffeId(i: Pick<PeerIdentity, 'set' | 'cluster' | 'role' | 'node'>): string {
  return `spiffe://${i.set}/cluster/${i.cluster}/${i.role}${i.node === undefined ? '' : `/${i.node}`}`;
}

/** The value of the identity extension. */
export function encodeIdentityExtension(i: PeerIdentity): Uint8Array {
  const { labels, namespaces, region, network } = i;
  return writeDerText(JSON.stringify({ labels, namespaces, region, network }));
}

/**
 * Reads the identity from a certificate in DER whose chain was verified by TLS. Never from the text of its
 * names: a comma or quote inside one could pose as another. Throws E_PEER_IDENTITY.
 */
export function parsePeerIdentity(rawDer: Uint8Array): PeerIdentity {
  if (rawDer.length > maxCertificateBytes)
    throw refuse(`the certificate is over ${maxCertificateBytes} bytes`);
  let extensions: readonly Extension[];
  try {
    extensions = readExtensions(rawDer);
  } catch (cause) {
    throw refuse('the certificate cannot be read', cause);
  }
  const id = parseSpiffeId(onlyUri(only(extensions, altNameOidBody, 'subject alternative names')?.value));
  const bound = parseBound(only(extensions, identityOidBody, 'identity extension')?.value);
  const identity: PeerIdentity = { ...id, ...bound };
  const wrong = wrongField(identity);
  if (wrong) throw refuse(`the peer's certificate: ${wrong}`);
  return identity;
}

/** The set of a CA certificate: its URI SAN `spiffe://<set>`. Throws E_PEER_IDENTITY. */
export function parseCaSet(rawDer: Uint8Array): string {
  let extensions: readonly Extension[];
  try {
    extensions = readExtensions(rawDer);
  } catch (cause) {
    throw refuse('the CA certificate cannot be read', cause);
  }
  const uri = onlyUri(only(extensions, altNameOidBody, 'subject alternative names')?.value);
  const set = /^spiffe:\/\/([^/]+)$/.exec(uri)?.[1];
  if (set === undefined || !dnsSubdomain.test(set))
    throw refuse(`expected spiffe://<set>, found ${shown(uri)}`);
  return set;
}

/** Throws E_PEER_IDENTITY, saying what was expected and what was found. */
export function checkPeer(found: PeerIdentity, expected: ExpectedPeer): void {
  const roles = expected.roles.join(' or ');
  const as = formatSpiffeId(found);
  if (expected.set !== undefined && found.set !== expected.set) {
    throw refuse(`expected a peer of set ${expected.set}, found ${as}`);
  }
  if (!expected.roles.includes(found.role)) throw refuse(`expected a peer with role ${roles}, found ${as}`);
  if (expected.cluster !== undefined && found.cluster !== expected.cluster) {
    throw refuse(`expected a peer of cluster ${expected.cluster}, found ${as}`);
  }
}

interface Extension {
  readonly oid: Uint8Array;
  readonly value: Uint8Array;
}

/** RFC 5280 section 4.1: Certificate, TBSCertificate, `[3] EXPLICIT Extensions`. */
function readExtensions(rawDer: Uint8Array): readonly Extension[] {
  const certificate = readDer(rawDer);
  const tbs = readDerChildren(certificate.body)[0];
  if (certificate.tag !== derTags.sequence || tbs?.tag !== derTags.sequence)
    throw new RangeError('no certificate');
  const wrapped = readDerChildren(tbs.body).find((v) => v.tag === 0xa3);
  if (!wrapped) return [];
  return readDerChildren(readDer(wrapped.body).body).map((v) => {
    const fields = readDerChildren(v.body);
    const oid = fields[0];
    const value = fields.at(-1);
    if (oid?.tag !== derTags.oid || value?.tag !== derTags.octetString) throw new RangeError('no extension');
    return { oid: oid.body, value: value.body };
  });
}

function only(extensions: readonly Extension[], oid: Uint8Array, name: string): Extension | undefined {
  const found = extensions.filter((e) => Buffer.compare(e.oid, oid) === 0);
  if (found.length > 1) throw refuse(`expected one ${name} in the peer's certificate, found ${found.length}`);
  return found[0];
}

/** GeneralName `[6] IA5String` is a URI (RFC 5280 section 4.2.1.6). */
function onlyUri(value: Uint8Array | undefined): string {
  let names: readonly DerValue[] = [];
  try {
    if (value) names = readDerChildren(readDer(value).body);
  } catch (cause) {
    throw refuse("the names in the peer's certificate cannot be read", cause);
  }
  const uris = names.filter((v) => v.tag === 0x86);
  const uri = uris[0];
  if (!uri || uris.length > 1) {
    throw refuse(`expected one URI in the names of the peer's certificate, found ${uris.length}`);
  }
  return Buffer.from(uri.body).toString('latin1');
}

function parseSpiffeId(uri: string): Pick<PeerIdentity, 'set' | 'cluster' | 'role' | 'node'> {
  const match = /^spiffe:\/\/([^/]+)\/cluster\/([^/]+)\/([^/]+)(?:\/([^/]+))?$/.exec(uri);
  if (!match) throw refuse(`expected spiffe://<set>/cluster/<id>/<role>[/<node>], found ${shown(uri)}`);
  const [, set = '', cluster = '', role = '', node] = match;
  return { set, cluster, role: role as PeerRole, ...(node === undefined ? {} : { node }) };
}

type Bound = Pick<PeerIdentity, 'labels' | 'namespaces' | 'region' | 'network'>;

function parseBound(value: Uint8Array | undefined): Bound {
  if (!value) return { labels: {}, namespaces: [], region: '', network: '' };
  if (value.length > maxExtensionBytes)
    throw refuse(`the identity extension is over ${maxExtensionBytes} bytes`);
  let json: unknown;
  try {
    const text = readDer(value);
    if (text.tag !== derTags.utf8String) throw new RangeError('expected a UTF8String');
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(text.body));
  } catch (cause) {
    throw refuse("the identity extension of the peer's certificate cannot be read", cause);
  }
  const { labels = {}, namespaces = [], region = '', network = '' } = (json ?? {}) as Partial<Bound>;
  if (typeof labels !== 'object' || labels === null || Array.isArray(labels) || !Array.isArray(namespaces)) {
    throw refuse("the identity extension of the peer's certificate has fields of a wrong type");
  }
  return { labels: { ...labels }, namespaces: [...namespaces], region, network };
}
