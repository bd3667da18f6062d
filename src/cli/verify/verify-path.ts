import type { Cause, ClusterExplanation } from '../../model/explain/explanation.ts';
import type { ObjectRef } from '../../model/problem.ts';
import type { ExplainAnswer } from '../../roles/controller/api.ts';
import type { NodeLine } from '../../roles/controller/node-lines.ts';
import { addressToBigInt, cidrContains, parseCidr } from '../../wire/address.ts';
import type { Hop, Probes, Verification } from './hop.ts';
import { trafficHops } from './traffic-hops.ts';

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
  /** What the application answers by UDP. Absent: it may answer nothing. */
  readonly datagram?: Buffer;
  /** Called with each hop as soon as it is known. */
  readonly onHop?: (hop: Hop) => void;
}

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
function wantedHop({ asked, cluster, causes, frontend, offer }: ExplainAnswer): Hop {
  const stop = causes.find(({ stops }) => stops);
  const endpoints = clustersOf(frontend?.ports ?? []).reduce((sum, c) => sum + c.endpoints.length, 0);
  const base = { hop: 'Wanted', what: `controller ${cluster}`, ms: 0 } as const;
  if (stop) return { ...base, result: 'Broken', found: stop.reason, cause: stop };
  if (!frontend) {
    const ref = { kind: 'CompositeBackend', namespace: offer?.namespace ?? '', name: offer?.name ?? asked };
    const message = `nothing was sent: ${cluster} contributes to it, and no Gateway here is called so`;
    const next = 'run this in a cluster whose Gateway leads to it, with the name of that Gateway';
    return {
      ...base,
      result: 'Broken',
      found: 'NothingSent',
      cause: cause('NothingSent', ref, message, next),
    };
  }
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
  // Who forwards to a server that is not there says SERVFAIL as well.
  const maybe = dns === undefined && found.rcode === 'SERVFAIL';
  const why = maybe
    ? `does not forward the zone ${zone}, or causeway dns is not reached by it or not ready yet`
    : `does not forward the zone ${zone}`;
  const message = `the resolver ${server} ${why}: it says ${said} for ${asked}${sure}`;
  const forward = `forward ${zone} to causeway dns (docs/dns.md has the stanza)`;
  const next = maybe
    ? `run this with --dns ADDRESS of a causeway dns to tell which; then ${forward}`
    : forward;
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
