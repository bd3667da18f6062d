import type {
  BackendExplanation,
  Cause,
  ClusterExplanation,
  FrontendExplanation,
  OfferExplanation,
  PortExplanation,
} from '../model/explain/explanation.ts';
import type { PathOnNode, Reached } from '../outputs/nft/path-on-node.ts';
import type { ExplainAnswer } from '../roles/controller/api.ts';
import { fitLine, type Paint } from './paint.ts';

/** A line of the tree: cells are aligned, and what is below a stop is `would be`. */
interface Row {
  readonly depth: number;
  readonly cells: readonly string[];
  readonly causes: readonly Cause[];
  readonly wouldBe: boolean;
  readonly last: boolean;
}

/** The answer first, then the path as a tree, then what is worth knowing. */
export function explainText(
  answer: ExplainAnswer & { readonly paths?: readonly PathOnNode[] },
  paint: Paint,
): string {
  const { causes, frontend, offer } = answer;
  const blocks = (stops: boolean) =>
    causes.filter((cause) => cause.stops === stops).map((cause) => causeText(cause, paint));
  const parts = [...blocks(true)];
  if (frontend) parts.push(treeText(rowsOf(answer, frontend), paint));
  if (offer) parts.push(treeText(offerRows(answer.cluster, offer), paint));
  const onNode = [
    ...(answer.client ? [clientText(answer.client)] : []),
    ...(answer.paths ? [pathsText(answer, answer.paths, paint)] : []),
  ];
  if (onNode.length > 0) parts.push(onNode.join('\n'));
  parts.push(...blocks(false));
  return `${parts.join('\n\n')}\n`;
}

function clientText({ kind, namespace, name, node, addresses, hostNetwork }: Client): string {
  const who = kind === 'Node' ? `node ${name}` : `pod ${namespace}/${name} on node ${node}`;
  const network = hostNetwork && kind === 'Pod' ? ', with the network of the node' : '';
  return `from ${who}${network}   ${addresses.join(' ') || 'address not known'}`;
}

type Client = NonNullable<ExplainAnswer['client']>;

/** What one node's kernel does, by address and port. */
function pathsText(answer: ExplainAnswer, paths: readonly PathOnNode[], paint: Paint): string {
  return paths
    .flatMap(({ node, address, port, protocol, wanted, listed, missing, extra, reached = [] }) => {
      const same = missing.length + extra.length === 0;
      const mark = same ? paint.good('✔') : paint.bad('✖');
      const place = `node ${node}   ${address} ${protocol.toUpperCase()} ${port}`;
      return [
        `${mark} ${place}   wanted: ${shorten(wanted)}${same ? '   in the kernel: the same' : `   in the kernel: ${shorten(listed)}`}`,
        ...reachedLines(answer, address, reached),
      ];
    })
    .join('\n');
}

const shownReached = 20;

/** What the client's connections meet, and who they seem to be from. */
function reachedLines(
  { client, frontend }: ExplainAnswer,
  to: string,
  reached: readonly Reached[],
): readonly string[] {
  const clusters = (frontend?.ports ?? []).flatMap(({ backends }) => backends.flatMap((b) => b.clusters));
  const own = client?.addresses.find((address) => address.includes(':') === to.includes(':'));
  const lines = reached.slice(0, shownReached).map(({ end, share, source }) => {
    const cluster = clusters.find(({ endpoints }) => endpoints.includes(end))?.cluster ?? '';
    const seen =
      source === 'kept' ? `seen as ${own ?? 'its own address'}` : `seen as node ${client?.node ?? '?'}`;
    return `    ${end}   ${cluster}   ${percent(share)}   ${seen}`;
  });
  const more = reached.length - lines.length;
  return more > 0 ? [...lines, `    … and ${more} more`] : lines;
}

const shorten = (ends: readonly string[]): string =>
  `${ends.slice(0, shownEndpoints).join(' ')}${ends.length > shownEndpoints ? ` … (${ends.length})` : ''}`;

/** Three lines: what and where, what was found, what to do. */
export function causeText({ stops, reason, ref, field, message, next }: Cause, paint: Paint): string {
  const name = ref.namespace === '' ? ref.name : `${ref.namespace}/${ref.name}`;
  const [mark, color] = stops ? ['✖', paint.bad] : ['●', paint.note];
  const place = [`${ref.kind} ${name}`, field, reason].filter((part) => part !== '').join('  ');
  return [`${color(mark)} ${place}`, `  ${message}`, `  next: ${next}`].join('\n');
}

function rowsOf(answer: ExplainAnswer, frontend: FrontendExplanation): readonly Row[] {
  const { namespace, name, names, addresses, ttl, causes, ports } = frontend;
  const records = addresses.map((address) => `${address.includes(':') ? 'AAAA' : 'A'} ${address}`);
  const stopped = causes.some(({ stops }) => stops);
  const head = names[0] ?? '(no name)';
  return [
    row(0, [head, records.length === 0 ? 'no address' : `${records.join(', ')}, TTL ${ttl} s`], false),
    {
      ...row(1, [`Gateway ${namespace}/${name}`, `class ${frontend.class}`, programmedText(answer)], false),
      causes,
    },
    ...ports.flatMap((port, i) => portRows(port, stopped, i === ports.length - 1)),
  ];
}

/** What a cluster contributes to a composite, port by port. */
function offerRows(cluster: string, { namespace, name, causes, ports }: OfferExplanation): readonly Row[] {
  const head = row(0, [`CompositeBackend ${namespace}/${name}`, `what ${cluster} offers to others`], false);
  return [
    { ...head, causes },
    ...ports.map(({ protocol, port, offered, to, own }, i): Row => {
      const ready = `${own.ready} of ${own.selected} ready`;
      const whom = offered ? `offered to ${to.join(', ')}` : 'offered to nobody';
      const cells = [`port ${port}/${protocol}`, ready, whom, podsText(own.notUsed)];
      return { ...row(1, cells, false, i === ports.length - 1), causes: own.causes };
    }),
  ];
}

const row = (depth: number, cells: readonly string[], wouldBe: boolean, last = true): Row => ({
  depth,
  cells,
  causes: [],
  wouldBe,
  last,
});

function programmedText({ nodes, frontend }: ExplainAnswer): string {
  const held = nodes.filter(({ holds }) => holds === 'Yes').length;
  const condition = frontend?.conditions.find(({ type }) => type === 'Programmed');
  if (!condition) return '';
  const word = condition.status === 'True' ? 'Programmed' : `not Programmed: ${condition.reason}`;
  return nodes.length === 0 ? word : `${word}, on ${held} of ${nodes.length} nodes`;
}

function portRows(port: PortExplanation, above: boolean, last: boolean): readonly Row[] {
  const { listener, protocol, route, notUsed, backends, causes } = port;
  const stopped = above || causes.some(({ stops }) => stops);
  const others = notUsed.map(({ namespace, name, reason }) => `${namespace}/${name} (${reason})`);
  const rows: Row[] = [
    { ...row(2, [`listener ${listener}`, `${protocol} ${port.port}`], above, last), causes },
  ];
  if (!route) return rows;
  const also = others.length === 0 ? '' : `not used: ${others.join(', ')}`;
  const state = route.attached ? 'Accepted' : 'not attached';
  rows.push(row(3, [`${route.kind} ${route.namespace}/${route.name}`, state, also], stopped));
  const ends = backends.flatMap((b, i) => backendRows(b, stopped, i === backends.length - 1));
  return [...rows, ...ends];
}

function backendRows(backend: BackendExplanation, above: boolean, last: boolean): readonly Row[] {
  const { kind, namespace, name, port, share, policy, causes, clusters } = backend;
  const stopped = above || causes.some(({ stops }) => stops);
  const label = `${kind} ${namespace}/${name}${port === undefined ? '' : ` port ${port}`}`;
  return [
    { ...row(4, [label, policy ?? '-', percent(share)], above, last), causes },
    ...clusters.flatMap((c, i) => clusterRows(c, stopped, i === clusters.length - 1)),
  ];
}

/** Depth of the line under a cluster that names pods. */
const pods = 6;
const shownEndpoints = 3;
const shownPods = 4;

function clusterRows(cluster: ClusterExplanation, wouldBe: boolean, last: boolean): readonly Row[] {
  const { path, network, ready, selected, share, why, endpoints, notUsed, causes } = cluster;
  const way =
    path === 'direct' ? `direct, ${network}` : path === 'own' ? 'own' : `no way to ${network || '?'}`;
  const more = endpoints.length > shownEndpoints ? ' …' : '';
  const waits = share === 0 && endpoints.length > 0;
  const where = waits ? why : `${endpoints.slice(0, shownEndpoints).join(' ')}${more}`;
  const rows = [
    {
      ...row(
        5,
        [`${cluster.cluster}  ${way}`, `${ready} of ${selected} ready`, percent(share), where],
        wouldBe,
        last,
      ),
      causes,
    },
  ];
  if (notUsed.length === 0) return rows;
  return [...rows, row(pods, ['not used', podsText(notUsed)], wouldBe, true)];
}

function podsText(notUsed: ClusterExplanation['notUsed']): string {
  const named = notUsed.slice(0, shownPods).map(({ name, why }) => `${name} ${why}`);
  const rest = notUsed.length > shownPods ? ` · and ${notUsed.length - shownPods} more` : '';
  return `${named.join(' · ')}${rest}`;
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`;

function treeText(rows: readonly Row[], paint: Paint): string {
  const labels = labelsOf(rows);
  const widths = [0, 1, 2].map((column) =>
    Math.max(...rows.map((r, i) => widthOf(r, column, labels[i] ?? ''))),
  );
  return rows
    .map(({ cells, causes, wouldBe }, i) => {
      const shown = [labels[i] ?? '', ...cells.slice(1)].map((cell, column) =>
        cell.padEnd(widths[column] ?? 0),
      );
      const line = fitLine(shown.join('   ').trimEnd(), paint.width);
      const marks = causes.map((c) => `${c.stops ? paint.bad('✖') : paint.note('●')} ${c.reason}`);
      const text = wouldBe ? `${paint.dim(line)}   would be` : line;
      return [text, ...new Set(marks)].join('   ');
    })
    .join('\n');
}

/** What a cell asks of its column; texts that nothing stands beside ask nothing. */
function widthOf({ depth, cells }: Row, column: number, label: string): number {
  if (column === 0) return label.length;
  if (depth === pods || (column === 2 && depth < 4)) return 0;
  return (cells[column] ?? '').length;
}

/** With the lines of the tree before them. */
function labelsOf(rows: readonly Row[]): readonly string[] {
  /** Whether the row above at each depth was the last of its level. */
  const lasts: boolean[] = [];
  return rows.map(({ depth, last, cells }) => {
    lasts.length = depth;
    const above = Array.from({ length: Math.max(0, depth - 1) }, (_, i) => (lasts[i + 1] ? '  ' : '│ '));
    lasts[depth] = last;
    const branch = depth === 0 ? '' : depth === pods ? '  ' : last ? '└ ' : '├ ';
    return `${above.join('')}${branch}${cells[0] ?? ''}`;
  });
}
