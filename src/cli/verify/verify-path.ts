import type { Cause, ClusterExplanation } from '../../model/explain/explanation.ts';
import type { ObjectRef } from '../../model/problem.ts';
import type { ExplainAnswer } from '../../roles/controller/api.ts';
import type { NodeLine } from '../../roles/controller/node-lines.ts';
import { addressToBigInt, cidrContains, parseCidr } from '../../wire/address.ts';
import type { Connected, Hop, Probes, Verification } from './hop.ts';

export interface VerifyPathOptions {
  readonly answer: ExplainAnswer;
  readonly nodes: readonly NodeLine[];
  readonly probes: Probes;
  /** `address[:port]` that is asked in the place of the one that is configured here. */
  readonly resolver?: string;
  /** `address[:port]` of a causeway dns, asked beside the resolver when that does not know the name. */
  readonly dns?: string;
  /** The node that we are on; default: it is found out. */
  readonly node?: string;
  /** Called with each hop as soon as it is known. */
  readonly onHop?: (hop: Hop) => void;
}

/** Connections that are tried to a VIP: several, because each may meet another endpoint. */
const tries = 5;
/** Endpoints of a cluster that are tried. */
const maxEndpoints = 10;

/** Walks the path of a name with real packets, hop by hop, all of them also behind a broken one. */
export async function verifyPath(options: VerifyPathOptions): Promise<Verification> {
  const { answer, probes } = options;
  const hops: Hop[] = [];
  const add = (hop: Hop): void => {
    hops.push(hop);
    options.onHop?.(hop);
  };
  add(wantedHop(answer));
  if (answer.frontend) {
    add(await dnsHop(options));
    add(nodeHop(options));
    for (const hop of await trafficHops(options)) add(hop);
  }
  return {
    asked: answer.asked,
    cluster: answer.cluster,
    from: probes.from,
    works: hops.every(({ result }) => result !== 'Broken'),
    hops,
  };
}

/** What the controller says should happen. */
function wantedHop({ asked, cluster, causes, frontend }: ExplainAnswer): Hop {
  const stop = causes.find(({ stops }) => stops);
  const endpoints = clustersOf(frontend?.ports ?? []).reduce((sum, c) => sum + c.endpoints.length, 0);
  const base = { hop: 'Wanted', what: `controller ${cluster}`, ms: 0 } as const;
  if (stop) return { ...base, result: 'Broken', found: stop.reason, cause: stop };
  return { ...base, result: 'Good', found: `${asked} should lead to ${endpoints} endpoints` };
}

function clustersOf(ports: NonNullable<ExplainAnswer['frontend']>['ports']): readonly ClusterExplanation[] {
  return ports.flatMap(({ backends }) => backends.flatMap(({ clusters }) => clusters));
}

function cause(reason: string, ref: ObjectRef, message: string, next: string): Cause {
  return { stops: true, reason, ref, field: '', message, next };
}

async function dnsHop({ answer, probes, dns, ...options }: VerifyPathOptions): Promise<Hop> {
  const { names = [], addresses = [], namespace = '', name = '' } = answer.frontend ?? {};
  const asked = names[0];
  const server = options.resolver ?? probes.resolver;
  const base = { hop: 'DNS', what: asked ?? `${namespace}/${name}`, ms: 0 } as const;
  if (asked === undefined) return { ...base, result: 'Skipped', found: 'it has no name' };
  if (server === undefined) return { ...base, result: 'Skipped', found: 'no resolver is configured here' };
  const wanted = [...addresses].sort();
  const started = probes.now();
  const found = await lookUp(probes, server, asked, wanted);
  const ms = probes.now() - started;
  const ref = { kind: 'Resolver', namespace: '', name: server };
  if (found.rcode === 'NOERROR' && found.addresses.join() === wanted.join()) {
    return { ...base, result: 'Good', found: `${wanted.join(' ')} from ${server}`, ms };
  }
  const said =
    found.addresses.length > 0
      ? `other addresses: ${found.addresses.join(' ')}`
      : found.rcode === 'NOERROR'
        ? 'no address'
        : found.rcode;
  const broken = { ...base, result: 'Broken', found: `${server} says ${said}`, ms } as const;
  if (found.rcode === 'TIMEOUT') {
    const message = `expected an answer from the resolver ${server}, found none`;
    const next = 'see whether the resolver runs and is reached from here';
    return { ...broken, cause: cause('ResolverSilent', ref, message, next) };
  }
  if (found.addresses.length > 0) {
    const message = `expected ${wanted.join(' ')} for ${asked} from ${server}, found ${found.addresses.join(' ')}`;
    const next = 'wait for the TTL; then see whether another server answers for the zone';
    return { ...broken, cause: cause('OtherAddresses', ref, message, next) };
  }
  const zone = asked.slice(`${name}.${namespace}.`.length);
  const direct = dns === undefined ? undefined : await lookUp(probes, dns, asked, wanted);
  if (dns !== undefined && direct?.rcode !== 'NOERROR') {
    const message = `expected ${wanted.join(' ')} for ${asked} from causeway dns at ${dns}, found ${direct?.rcode}`;
    const dnsRef = { kind: 'Resolver', namespace: '', name: dns };
    const next = 'look at /readyz and the log of causeway dns';
    return { ...broken, cause: cause('DnsNotAnswering', dnsRef, message, next) };
  }
  const sure = dns === undefined ? '' : `; causeway dns at ${dns} answers it`;
  const message = `the resolver ${server} does not forward the zone ${zone}: it says ${said} for ${asked}${sure}`;
  const next = `forward ${zone} to causeway dns (docs/dns.md has the stanza)`;
  return { ...broken, cause: cause('ZoneNotForwarded', ref, message, next) };
}

/** The addresses of every family that is wanted, sorted. */
async function lookUp(probes: Probes, server: string, name: string, wanted: readonly string[]) {
  const families = new Set(wanted.map((address) => (address.includes(':') ? 'IPv6' : 'IPv4')));
  const results = await Promise.all(
    [...families].map((family) => probes.resolve(server, name, family as 'IPv4' | 'IPv6')),
  );
  return {
    rcode: results.find(({ rcode }) => rcode !== 'NOERROR')?.rcode ?? 'NOERROR',
    addresses: results.flatMap((r) => r.addresses).sort(),
  };
}

function nodeHop({ answer, nodes, probes, node: given }: VerifyPathOptions): Hop {
  const own =
    nodes.find(({ node }) => node === given) ??
    nodes.find(({ podCIDRs }) => probes.addresses.some((a) => podCIDRs.some((cidr) => isInCidr(cidr, a)))) ??
    nodes.find(({ node }) => node === probes.hostname);
  const base = { hop: 'Node', ms: 0 } as const;
  if (!own) {
    const found = 'this machine is none of the nodes: how packets get to one is not looked at';
    return { ...base, what: given ?? probes.hostname, result: 'Skipped', found };
  }
  const holding = answer.nodes.find(({ node }) => node === own.node);
  const what = own.node;
  if (holding?.holds === 'Yes') return { ...base, what, result: 'Good', found: holding.message };
  const message = holding?.message ?? 'its agent was never connected';
  const next = `see whether causeway agent runs on ${what} and reaches a controller`;
  const ref = { kind: 'Node', namespace: '', name: what };
  const reason = holding?.reason ?? 'AgentNotConnected';
  return { ...base, what, result: 'Broken', found: reason, cause: cause(reason, ref, message, next) };
}

function isInCidr(cidr: string, address: string): boolean {
  const [range, value] = [parseCidr(cidr), addressToBigInt(address)];
  return range !== undefined && value !== undefined && cidrContains(range, value);
}

async function trafficHops({ answer, probes, node }: VerifyPathOptions): Promise<readonly Hop[]> {
  const { addresses = [], ports = [], namespace = '', name = '' } = answer.frontend ?? {};
  const hops: Hop[] = [];
  for (const port of ports) {
    if (port.protocol !== 'TCP') {
      const found = `${port.protocol} has no handshake: nothing is sent`;
      hops.push({ hop: 'VIP', what: `port ${port.port}`, result: 'Skipped', found, ms: 0 });
      continue;
    }
    const endpoints = await endpointHops(probes, clustersOf([port]));
    const isReached = endpoints.some(({ result }) => result === 'Good');
    for (const address of addresses) {
      const started = probes.now();
      const results = await Promise.all(
        Array.from({ length: tries }, () => probes.connect(address, port.port)),
      );
      const ms = probes.now() - started;
      const what = address.includes(':') ? `[${address}]:${port.port}` : `${address}:${port.port}`;
      const bad = results.filter((result) => result !== 'connected');
      const found = `${results.length - bad.length} of ${results.length} connections`;
      if (bad.length === 0) {
        hops.push({ hop: 'VIP', what, result: 'Good', found, ms });
        continue;
      }
      const ref = { kind: 'Gateway', namespace, name };
      const why = vipCause(ref, what, bad, results.length, { isReached, node, asked: answer.asked });
      hops.push({ hop: 'VIP', what, result: 'Broken', found: `${found}, ${tally(bad)}`, ms, cause: why });
    }
    hops.push(...endpoints);
  }
  // The nearest cause first: what is broken behind the VIP is why the VIP is.
  return [...hops.filter(({ hop }) => hop === 'Endpoint'), ...hops.filter(({ hop }) => hop === 'VIP')];
}

interface Behind {
  readonly isReached: boolean;
  readonly node: string | undefined;
  readonly asked: string;
}

function vipCause(
  ref: ObjectRef,
  what: string,
  bad: readonly Connected[],
  all: number,
  { isReached, node, asked }: Behind,
): Cause {
  const see = `causeway explain ${asked}${node === undefined ? '' : ` --node ${node}`}`;
  if (bad.every((result) => result === 'refused')) {
    const message = `${bad.length} of ${all} connections to ${what} are refused: nothing takes traffic behind it, or an endpoint refuses`;
    return cause('Rejected', ref, message, see);
  }
  if (isReached && bad.length === all) {
    const message = `endpoints answer when they are asked themselves and ${what} does not: this node does not translate it`;
    return cause('NotTranslated', ref, message, see);
  }
  return cause('VipSilent', ref, `${bad.length} of ${all} connections to ${what} fail: ${tally(bad)}`, see);
}

function tally(results: readonly Connected[]): string {
  return [...Map.groupBy(results, (result) => result)]
    .map(([result, of]) => `${of.length} ${result}`)
    .join(', ');
}

/** Endpoints by cluster, each asked by itself. */
async function endpointHops(
  probes: Probes,
  clusters: readonly ClusterExplanation[],
): Promise<readonly Hop[]> {
  const hops: Hop[] = [];
  for (const { cluster, path, network, endpoints } of clusters) {
    if (endpoints.length === 0) continue;
    const started = probes.now();
    const results = await Promise.all(
      endpoints
        .slice(0, maxEndpoints)
        .map(async (endpoint) => ({ endpoint, result: await ask(probes, endpoint) })),
    );
    const ms = probes.now() - started;
    const bad = results.filter(({ result }) => result !== 'connected');
    const found = `${results.length - bad.length} of ${results.length} endpoints reached`;
    const base = { hop: 'Endpoint', what: cluster, ms } as const;
    if (bad.length === 0) {
      hops.push({ ...base, result: 'Good', found });
      continue;
    }
    const names = bad.slice(0, 3).map(({ endpoint, result }) => `${endpoint} ${result}`);
    const more = bad.length > 3 ? `, and ${bad.length - 3} more` : '';
    const message = `of ${results.length} endpoints of ${cluster} ${bad.length} are not reached: ${names.join(', ')}${more}`;
    const ref = { kind: 'Cluster', namespace: '', name: cluster };
    const why = bad.every(({ result }) => result === 'refused')
      ? cause('EndpointRefuses', ref, message, 'see whether the pods listen on this port')
      : bad.length === results.length && path !== 'own'
        ? cause(
            'NetworkCut',
            ref,
            `no packet comes through to ${cluster} (network ${network}): ${message}`,
            `see the route and the firewalls between here and ${cluster}`,
          )
        : cause('EndpointSilent', ref, message, 'see the network policy and the node of these pods');
    hops.push({ ...base, result: 'Broken', found, cause: why });
  }
  return hops;
}

function ask(probes: Probes, endpoint: string): Promise<Connected> {
  const colon = endpoint.lastIndexOf(':');
  return probes.connect(endpoint.slice(0, colon).replace(/^\[|\]$/g, ''), Number(endpoint.slice(colon + 1)));
}
