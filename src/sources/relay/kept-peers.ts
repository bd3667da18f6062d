import { createHash } from 'node:crypto';
import { parseCompositePortKey } from '../../model/keys.ts';
import type { Told } from './link-contents.ts';

/** What peers gave, as it is kept over restarts. */
export interface KeptPeers {
  readonly set: string;
  /** Ours. */
  readonly cluster: string;
  /** Keys of the imports that a relay has answered completely. */
  readonly ports: readonly string[];
  /** Of those that serve though none has answered. */
  readonly unanswered: readonly string[];
  /** Cluster → epoch milliseconds of the wall clock; only of those that are Stale. */
  readonly staleSince: ReadonlyMap<string, number>;
  /** By the relay's address. */
  readonly links: ReadonlyMap<string, KeptLink>;
  /** Which endpoints took no connections, as `Probe` records name them, by their keys. Absent: none is known. */
  readonly failing?: ReadonlyMap<string, readonly string[]>;
}

/** What one relay told. */
export interface KeptLink {
  readonly resources: readonly Told[];
  readonly origins: readonly KeptOrigin[];
}

interface KeptOrigin {
  readonly cluster: string;
  /** Its last OriginStatus. */
  readonly body: Uint8Array;
  readonly isGone: boolean;
}

const format = 'causeway peers 1';

/** Two lines: a checksum, and JSON. So half a file, or one that was changed, is not taken for a whole one. */
export function formatKeptPeers({
  set,
  cluster,
  ports,
  unanswered,
  staleSince,
  links,
  failing,
}: KeptPeers): string {
  const text = JSON.stringify({
    format,
    set,
    cluster,
    ports,
    unanswered,
    staleSince: Object.fromEntries(staleSince),
    relays: [...links].map(([relay, { resources, origins }]) => ({
      relay,
      resources: resources.map(({ name, version, body }) => [name, version, base64(body)]),
      origins: origins.map((o) => [o.cluster, base64(o.body), o.isGone]),
    })),
    failing: failing && Object.fromEntries(failing),
  });
  return `${checksum(text)}\n${text}\n`;
}

/** A text: why it cannot be trusted. What is inside resources is checked where they are used. */
export function parseKeptPeers(
  text: string,
  own: { readonly set: string; readonly cluster: string },
): KeptPeers | string {
  const [sum, json, rest, ...more] = text.split('\n');
  if (json === undefined || rest !== '' || more.length > 0) return 'expected a checksum and a line of JSON';
  if (sum !== checksum(json)) return 'its checksum is not that of its content';
  try {
    const read = JSON.parse(json) as Readonly<Record<string, unknown>>;
    if (read.format !== format)
      return `expected the format "${format}", found ${JSON.stringify(read.format)}`;
    for (const field of ['set', 'cluster'] as const) {
      if (read[field] !== own[field])
        return `expected ${field} ${own[field]}, found ${JSON.stringify(read[field])}`;
    }
    const staleSince = Object.entries(record(read.staleSince)).map(
      ([cluster, since]) => [cluster, time(since)] as const,
    );
    return {
      ...own,
      ports: list(read.ports).map(portKey),
      unanswered: list(read.unanswered).map(portKey),
      staleSince: new Map(staleSince),
      links: new Map(list(read.relays).map(keptLink)),
      ...(read.failing === undefined ? {} : { failing: keptFailing(read.failing) }),
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const keptFailing = (value: unknown): KeptPeers['failing'] & {} =>
  new Map(Object.entries(record(value)).map(([key, places]) => [key, list(places).map(word)] as const));

function keptLink(value: unknown): readonly [relay: string, link: KeptLink] {
  const { relay, resources, origins } = record(value);
  const link = {
    resources: list(resources).map((r) => {
      const [name, version, body] = list(r);
      return { name: word(name), version: word(version), body: bytes(body) };
    }),
    origins: list(origins).map((o) => {
      const [cluster, body, isGone] = list(o);
      return { cluster: word(cluster), body: bytes(body), isGone: isGone === true };
    }),
  };
  return [word(relay), link];
}

const checksum = (text: string): string => createHash('sha256').update(text).digest('hex');
const base64 = (body: Uint8Array): string => Buffer.from(body).toString('base64');
const bytes = (value: unknown): Buffer => Buffer.from(word(value), 'base64');

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`expected a list, found ${shown(value)}`);
  return value;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`expected a mapping, found ${shown(value)}`);
  return value as Readonly<Record<string, unknown>>;
}

function word(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`expected a text, found ${shown(value)}`);
  return value;
}

function time(value: unknown): number {
  if (!Number.isFinite(value)) throw new Error(`expected epoch milliseconds, found ${shown(value)}`);
  return value as number;
}

function portKey(value: unknown): string {
  const key = word(value);
  if (!parseCompositePortKey(key)) throw new Error(`expected the key of a port, found ${shown(key)}`);
  return key;
}

const shown = (value: unknown): string => String(JSON.stringify(value)).slice(0, 100);
