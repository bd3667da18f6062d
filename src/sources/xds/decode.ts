import type { Backend, Endpoint, Frontend, Group, NodeFacts, Target } from '../../model/ir.ts';
import { canonicalAddress } from '../../wire/address.ts';
import { isAppProtocol } from '../../wire/app-protocol.ts';
import {
  type AddressMessage,
  healthStatus,
  type LbEndpointMessage,
  type LocalityEndpointsMessage,
} from '../../wire/proto/messages.ts';
import { codec } from '../../wire/proto/registry.ts';
import type { Json } from '../../wire/proto/struct.ts';
import { metadataKey } from '../../wire/proto/type-urls.ts';
import { fromMetadata } from '../../wire/proto/typed-config.ts';

/** What was expected and what was found in a resource that cannot be used. */
export interface Refused {
  readonly refused: string;
}

const limits = {
  names: 64,
  vips: 8,
  listeners: 256,
  targets: 1024,
  groups: 4096,
  endpoints: 100_000,
  cidrs: 64,
};
const maxWeight = 0xffff_ffff;
const dnsName = /^(?=.{1,253}$)[a-z0-9_]([-a-z0-9_]{0,62})(\.[a-z0-9_]([-a-z0-9_]{0,62}))*$/;
const keyPattern = /^[a-z]+\/[-a-z0-9.]{1,253}\/[-a-z0-9.]{1,253}$/;

class Mismatch extends Error {}

/** Runs a decoder on bytes of a peer: anything wrong with them is a refusal, never a throw. */
function guarded<T>(decode: () => T): T | Refused {
  try {
    return decode();
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) };
  }
}

function expected(what: string, found: unknown): Mismatch {
  return new Mismatch(`expected ${what}, found ${JSON.stringify(found)?.slice(0, 120) ?? 'nothing'}`);
}

/** A Listener as a front end with one port; its key is the resource's name. Its filters are not read. */
export function decodeListener(name: string, body: Uint8Array): Frontend | Refused {
  return guarded(() => {
    const message = codec('envoy.config.listener.v3.Listener').decode(body);
    sameName(name, message.name);
    const facts = fromMetadata(message.metadata);
    if (facts.key === undefined) throw expected(`filter_metadata["${metadataKey}"]`, undefined);
    const key = text(facts, 'key', keyPattern);
    const protocol = facts.protocol === 'UDP' ? 'UDP' : 'TCP';
    const port = integer(facts, 'port', 1, 65_535);
    if (name !== `${key}/${protocol.toLowerCase()}-${port}`)
      throw expected('the name of its key and port', name);
    const { appProtocol } = facts;
    if (appProtocol !== undefined && !isAppProtocol(appProtocol))
      throw expected('an application protocol', appProtocol);
    return {
      key: name,
      generation: integer(facts, 'generation', 0, Number.MAX_SAFE_INTEGER),
      names: texts(facts, 'names', limits.names, dnsName),
      ttl: integer(facts, 'ttl', 0, 0x7fff_ffff),
      vips: texts(facts, 'vips', limits.vips, /./).map(address),
      ports: [
        {
          protocol,
          port,
          listeners: texts(facts, 'listeners', limits.listeners, /^.{1,253}$/),
          ...(appProtocol === undefined ? {} : { appProtocol }),
          targets: list(facts, 'targets', limits.targets).map(target),
        },
      ],
    };
  });
}

/** What a Cluster says of a back end; its groups come with the assignment. */
export function decodeCluster(name: string, body: Uint8Array): Pick<Backend, 'key' | 'policy'> | Refused {
  return guarded(() => {
    const message = codec('envoy.config.cluster.v3.Cluster').decode(body);
    sameName(name, message.name);
    const { policy } = fromMetadata(message.metadata);
    if (policy !== 'Even' && policy !== 'PreferLocal' && policy !== 'Ordered') {
      throw expected(`filter_metadata["${metadataKey}"].policy Even, PreferLocal or Ordered`, policy);
    }
    return { key: name, policy };
  });
}

export function decodeAssignment(name: string, body: Uint8Array): readonly Group[] | Refused {
  return guarded(() => {
    const message = codec('envoy.config.endpoint.v3.ClusterLoadAssignment').decode(body);
    sameName(name, message.cluster_name);
    const localities = message.endpoints ?? [];
    if (localities.length > limits.groups)
      throw expected(`at most ${limits.groups} localities`, localities.length);
    const total = localities.reduce((sum, l) => sum + (l.lb_endpoints?.length ?? 0), 0);
    if (total > limits.endpoints) throw expected(`at most ${limits.endpoints} endpoints`, total);
    const groups = localities.map(group);
    const seen = new Set(groups.map((g) => `${g.cluster} ${g.zone} ${g.priority}`));
    if (seen.size !== groups.length)
      throw expected('one locality per cluster, zone and priority', groups.length);
    return groups;
  });
}

/** The assignment `nodes`: by name. */
export function decodeNodes(name: string, body: Uint8Array): ReadonlyMap<string, NodeFacts> | Refused {
  return guarded(() => {
    const message = codec('envoy.config.endpoint.v3.ClusterLoadAssignment').decode(body);
    sameName(name, message.cluster_name);
    const nodes = new Map<string, NodeFacts>();
    for (const locality of message.endpoints ?? []) {
      for (const { metadata } of locality.lb_endpoints ?? []) {
        const facts = fromMetadata(metadata);
        const node = text(facts, 'name', /^.{1,253}$/);
        const podCIDRs = texts(facts, 'podCIDRs', limits.cidrs, /^[0-9a-fA-F:.]+\/\d{1,3}$/);
        const zone = locality.locality?.zone ?? '';
        nodes.set(node, {
          name: node,
          zone,
          podCIDRs,
          ...(facts.reserved === true ? { reserved: true } : {}),
        });
      }
    }
    if (nodes.size > limits.endpoints) throw expected(`at most ${limits.endpoints} nodes`, nodes.size);
    return new Map([...nodes].sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function group(message: LocalityEndpointsMessage): Group {
  const { network } = fromMetadata(message.metadata);
  const weight = message.load_balancing_weight?.value ?? 0;
  if (weight > maxWeight) throw expected('a weight of 32 bits', weight);
  if ((message.priority ?? 0) > 128) throw expected('a priority of at most 128', message.priority);
  return {
    cluster: message.locality?.sub_zone ?? '',
    network: typeof network === 'string' ? network : '',
    region: message.locality?.region ?? '',
    zone: message.locality?.zone ?? '',
    priority: message.priority ?? 0,
    weight,
    endpoints: (message.lb_endpoints ?? []).filter(isUsable).map(endpoint),
  };
}

/** Servers of other makers may list endpoints that are not to be used. */
const isUsable = ({ health_status: health = 0 }: LbEndpointMessage): boolean =>
  health === healthStatus.unknown || health === healthStatus.healthy || health === healthStatus.draining;

const noFacts: { readonly [key: string]: Json } = {};

function endpoint(message: LbEndpointMessage): Endpoint {
  const first = socket(message.endpoint?.address);
  const others = (message.endpoint?.additional_addresses ?? []).map((a) => socket(a.address));
  if (others.length > 1) throw expected('at most one address per family', others.length + 1);
  for (const other of others) if (other.port !== first.port) throw expected(`port ${first.port}`, other.port);
  const weight = message.load_balancing_weight?.value ?? 1;
  if (weight < 1) throw expected('an endpoint weight of at least 1', weight);
  const facts = message.metadata ? fromMetadata(message.metadata) : noFacts;
  const draining = facts.draining === true || message.health_status === healthStatus.draining;
  return {
    addresses: [first, ...others].map((s) => s.address),
    port: first.port,
    health: draining ? 'Draining' : 'Healthy',
    weight,
    ...(facts.snat === true ? { snat: true } : {}),
  };
}

function socket(message: AddressMessage | null | undefined): { address: string; port: number } {
  const found = message?.socket_address;
  const port = found?.port_value ?? 0;
  if (!found || port < 1 || port > 65_535) throw expected('an IP address and port', found ?? undefined);
  return { address: address(found.address ?? ''), port };
}

function address(value: string): string {
  const canonical = canonicalAddress(value);
  if (canonical === undefined) throw expected('an IP address', value);
  return canonical;
}

function target(value: Json): Target {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw expected('a target', value);
  const facts = value as { readonly [key: string]: Json };
  const weight = integer(facts, 'weight', 0, 1_000_000);
  if (facts.backend === null) return { backend: null, weight };
  return { backend: text(facts, 'backend', /^[-a-z0-9./]{1,600}$/), weight };
}

function sameName(name: string, found: string | undefined): void {
  if (found !== name) throw expected(`the resource ${name}`, found);
}

type Facts = { readonly [key: string]: Json };

function list(facts: Facts, field: string, most: number): readonly Json[] {
  const value = facts[field];
  if (!Array.isArray(value) || value.length > most) throw expected(`at most ${most} ${field}`, value);
  return value;
}

function texts(facts: Facts, field: string, most: number, pattern: RegExp): string[] {
  return list(facts, field, most).map((value) => {
    if (typeof value !== 'string' || !pattern.test(value))
      throw expected(`${field} like ${pattern.source}`, value);
    return value;
  });
}

function text(facts: Facts, field: string, pattern: RegExp): string {
  const value = facts[field];
  if (typeof value !== 'string' || !pattern.test(value))
    throw expected(`${field} like ${pattern.source}`, value);
  return value;
}

function integer(facts: Facts, field: string, least: number, most: number): number {
  const value = facts[field];
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    throw expected(`${field} from ${least} to ${most}`, value);
  }
  return value;
}
