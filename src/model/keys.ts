import type { BackendKey, Protocol } from './ir.ts';

const backendKinds = ['composite', 'selector', 'service', 'xbackend'] as const;
export type BackendKind = (typeof backendKinds)[number];

/** `tcp-80`. */
export const portSegment = (protocol: Protocol, port: number): string => `${protocol.toLowerCase()}-${port}`;

/** `<namespace>/<name>/<tcp|udp>-<port>`: keys of exports, imports and contributions, with the composite's key. */
export const compositePortKey = (composite: string, protocol: Protocol, port: number): string =>
  `${composite}/${portSegment(protocol, port)}`;

export interface CompositePort {
  /** `<namespace>/<name>`. */
  readonly composite: string;
  readonly protocol: Protocol;
  readonly port: number;
}

/** Undefined: not such a key. */
export function parseCompositePortKey(key: string): CompositePort | undefined {
  const match = /^([^/]+\/[^/]+)\/(tcp|udp)-(\d{1,5})$/.exec(key);
  if (!match) return undefined;
  const [, composite = '', protocol, port] = match;
  return { composite, protocol: protocol === 'tcp' ? 'TCP' : 'UDP', port: Number(port) };
}

/**
 * Whose contribution it is, the last segment of its key: `<cluster>`, or `<cluster>:<namespace>:<name>` where the
 * cluster's own composite (`from`, `<namespace>/<name>`) is called otherwise than the one that it contributes to.
 */
export const contributionSource = (cluster: string, from?: string): string =>
  from === undefined ? cluster : `${cluster}:${from.replace('/', ':')}`;

/** `object`: `<namespace>/<name>`. */
export const backendKey = (kind: BackendKind, object: string, protocol: Protocol, port: number): BackendKey =>
  `${kind}/${object}/${portSegment(protocol, port)}`;

export interface ParsedBackendKey {
  readonly kind: BackendKind;
  /** `<namespace>/<name>`. */
  readonly object: string;
  readonly protocol: Protocol;
  readonly port: number;
}

/** Undefined: not such a key. */
export function parseBackendKey(key: BackendKey): ParsedBackendKey | undefined {
  const slash = key.indexOf('/');
  const kind = backendKinds.find((k) => k === key.slice(0, slash));
  const rest = parseCompositePortKey(key.slice(slash + 1));
  return kind && rest && { kind, object: rest.composite, protocol: rest.protocol, port: rest.port };
}
