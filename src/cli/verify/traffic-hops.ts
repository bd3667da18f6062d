import type { Cause, ClusterExplanation, FrontendExplanation } from '../../model/explain/explanation.ts';
import type { ObjectRef } from '../../model/problem.ts';
import type { ExplainAnswer } from '../../roles/controller/api.ts';
import type { Hop, Probes, Tried } from './hop.ts';

export interface TrafficOptions {
  readonly answer: ExplainAnswer;
  readonly probes: Probes;
  readonly node?: string;
  /** What is sent by UDP. The application answers it: silence is a failure. Absent: it may not. */
  readonly datagram?: Buffer;
}

/** Connections, or sockets that send a datagram, for a VIP: several, because each may meet another endpoint. */
const tries = 5;
/** Endpoints of a cluster that are tried. */
const maxEndpoints = 10;
/** What an application that is asked nothing certain gets. */
const anything = Buffer.from('causeway verify\n');

interface Port {
  readonly protocol: string;
  readonly port: number;
  readonly clusters: readonly ClusterExplanation[];
  /** As `80/TCP`, where there are several. */
  readonly label: string;
}

interface Tries {
  readonly results: readonly { readonly end: string; readonly tried: Tried }[];
  readonly ms: number;
}

/** The endpoints of every port by themselves, then its addresses. */
export async function trafficHops(options: TrafficOptions): Promise<readonly Hop[]> {
  const { frontend } = options.answer;
  if (!frontend) return [];
  const ports = frontend.ports.map(
    ({ protocol, port, backends }): Port => ({
      protocol,
      port,
      clusters: backends.flatMap(({ clusters }) => clusters).filter(({ endpoints }) => endpoints.length > 0),
      label: frontend.ports.length > 1 ? ` (port ${port}/${protocol})` : '',
    }),
  );
  const hops: Hop[] = [];
  for (const port of ports) hops.push(...(await portHops(options, frontend, port)));
  if (hops.length > 0 && hops.every(isNotSent)) return hops.map((hop) => nothingSent(frontend, hop));
  // The nearest cause first: what is broken behind the VIP is why the VIP is.
  return [...hops.filter(({ hop }) => hop === 'Endpoint'), ...hops.filter(({ hop }) => hop === 'VIP')];
}

async function portHops(
  options: TrafficOptions,
  { addresses, namespace, name }: FrontendExplanation,
  port: Port,
): Promise<readonly Hop[]> {
  const { probes, answer, node } = options;
  const behind: { readonly cluster: ClusterExplanation; readonly tries: Tries }[] = [];
  const skipped: Hop[] = [];
  const has = (end: string): boolean => probes.addresses.some((own) => own.includes(':') === isSix(end));
  for (const cluster of port.clusters) {
    const ends = cluster.endpoints.filter(has).slice(0, maxEndpoints);
    if (ends.length > 0) behind.push({ cluster, tries: await tryEnds(options, port, ends) });
    else skipped.push(notSent('Endpoint', cluster.cluster, cluster.endpoints[0] ?? ''));
  }
  const fronts: { readonly what: string; readonly tries: Tries }[] = [];
  for (const address of addresses) {
    const what = address.includes(':') ? `[${address}]:${port.port}` : `${address}:${port.port}`;
    const ends = Array.from({ length: tries }, () => what);
    if (has(what)) fronts.push({ what, tries: await tryEnds(options, port, ends) });
    else skipped.push(notSent('VIP', what, what));
  }
  const all = [...behind, ...fronts].flatMap((each) => each.tries.results);
  const judge = judgeOf(
    port,
    options.datagram !== undefined || all.some(({ tried }) => tried === 'answered'),
  );
  const isReached = behind.some(({ tries: { results } }) =>
    results.every(({ tried }) => tried === 'answered'),
  );
  const ref = { kind: 'Gateway', namespace, name };
  const see = `causeway explain ${answer.asked}${node === undefined ? '' : ` --node ${node}`}`;
  return [
    ...behind.map(({ cluster, tries: t }) =>
      judge('Endpoint', cluster.cluster, t, (bad) => endpointCause(cluster, t, bad, port)),
    ),
    ...fronts.map(({ what, tries: t }) =>
      judge('VIP', what, t, (bad) => vipCause(ref, what, t, bad, { isReached, port, see })),
    ),
    ...skipped,
  ];
}

const isSix = (end: string): boolean => end.startsWith('[');

const nothingSentBecause = 'nothing is sent: ';
const isNotSent = ({ found }: Hop): boolean => found.startsWith(nothingSentBecause);

/** Of a path of which nothing was tried nobody may say that it works. */
function nothingSent({ namespace, name }: FrontendExplanation, hop: Hop): Hop {
  const ref = { kind: 'Gateway', namespace, name };
  const next = 'run this on a machine or in a pod that has addresses of a family of the Gateway';
  return { ...hop, result: 'Broken', cause: cause('NothingSent', ref, `${hop.what}: ${hop.found}`, next) };
}

const notSent = (hop: 'VIP' | 'Endpoint', what: string, end: string): Hop => ({
  hop,
  what,
  result: 'Skipped',
  found: `${nothingSentBecause}this machine has no ${isSix(end) ? 'IPv6' : 'IPv4'} address`,
  ms: 0,
});

async function tryEnds(
  { probes, datagram }: TrafficOptions,
  port: Port,
  ends: readonly string[],
): Promise<Tries> {
  const started = probes.now();
  const results = await Promise.all(
    ends.map(async (end) => {
      const colon = end.lastIndexOf(':');
      const host = end.slice(0, colon).replace(/^\[|\]$/g, '');
      const number = Number(end.slice(colon + 1));
      const tried =
        port.protocol === 'UDP'
          ? await probes.exchange(host, number, datagram ?? anything)
          : await probes.connect(host, number);
      return { end, tried };
    }),
  );
  return { results, ms: probes.now() - started };
}

type Bad = Tries['results'];

/** `answers`: silence is a failure, as it always is for TCP. */
function judgeOf(port: Port, answers: boolean) {
  const isUdp = port.protocol === 'UDP';
  const noun = isUdp ? 'datagrams answered' : 'connections';
  return (hop: 'Endpoint' | 'VIP', what: string, { results, ms }: Tries, why: (bad: Bad) => Cause): Hop => {
    const bad = results.filter(({ tried }) => tried !== 'answered');
    const good = results.length - bad.length;
    const counted = `${good} of ${results.length} ${hop === 'VIP' ? noun : isUdp ? 'endpoints answered' : 'endpoints reached'}${port.label}`;
    if (bad.length === 0) return { hop, what, result: 'Good', found: counted, ms };
    const found = `${counted}, ${tally(bad, port)}`;
    const isSilent = bad.every(({ tried }) => tried === 'silent');
    if (isUdp && isSilent && !answers) {
      return {
        hop,
        what,
        result: 'Skipped',
        found: `${found}: it may not answer what it does not understand`,
        ms,
      };
    }
    return { hop, what, result: 'Broken', found: hop === 'VIP' ? found : counted, ms, cause: why(bad) };
  };
}

const word = (tried: Tried, { protocol }: Port): string =>
  tried === 'silent' ? (protocol === 'UDP' ? 'no answer' : 'timeout') : tried;

function tally(bad: Bad, port: Port): string {
  return [...Map.groupBy(bad, ({ tried }) => tried)]
    .map(([tried, of]) => `${of.length} ${word(tried, port)}`)
    .join(', ');
}

function cause(reason: string, ref: ObjectRef, message: string, next: string): Cause {
  return { stops: true, reason, ref, field: '', message, next };
}

function endpointCause(
  { cluster, network, path }: ClusterExplanation,
  { results }: Tries,
  bad: Bad,
  port: Port,
): Cause {
  const names = bad.slice(0, 3).map(({ end, tried }) => `${end} ${word(tried, port)}`);
  const more = bad.length > 3 ? `, and ${bad.length - 3} more` : '';
  const message = `of ${results.length} endpoints of ${cluster}${port.label} ${bad.length} are not reached: ${names.join(', ')}${more}`;
  const ref = { kind: 'Cluster', namespace: '', name: cluster };
  if (bad.every(({ tried }) => tried === 'refused')) {
    return cause('EndpointRefuses', ref, message, 'see whether the pods listen on this port');
  }
  if (bad.length === results.length && path !== 'own') {
    const cut = `no packet comes through to ${cluster} (network ${network}): ${message}`;
    return cause('NetworkCut', ref, cut, `see the route and the firewalls between here and ${cluster}`);
  }
  return cause('EndpointSilent', ref, message, 'see the network policy and the node of these pods');
}

interface Behind {
  readonly isReached: boolean;
  readonly port: Port;
  readonly see: string;
}

function vipCause(
  ref: ObjectRef,
  what: string,
  { results }: Tries,
  bad: Bad,
  { isReached, port, see }: Behind,
): Cause {
  const noun = port.protocol === 'UDP' ? 'datagrams' : 'connections';
  if (bad.every(({ tried }) => tried === 'refused')) {
    const message = `${bad.length} of ${results.length} ${noun} to ${what} are refused: nothing takes traffic behind it, or an endpoint refuses`;
    return cause('Rejected', ref, message, see);
  }
  if (isReached && bad.length === results.length) {
    const message = `endpoints answer when they are asked themselves and ${what} does not: this node does not translate it`;
    return cause('NotTranslated', ref, message, see);
  }
  return cause(
    'VipSilent',
    ref,
    `${bad.length} of ${results.length} ${noun} to ${what} fail: ${tally(bad, port)}`,
    see,
  );
}
