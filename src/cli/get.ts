import type { Cause } from '../model/explain/explanation.ts';
import type { FrontendLine } from '../model/explain/lists.ts';
import type { CertificateLine, ClustersAnswer, OfferedLine } from '../roles/controller/api.ts';
import type { NodeLine } from '../roles/controller/node-lines.ts';
import { AppError } from '../runtime/errors.ts';
import { askAdmin, notReady } from './ask-admin.ts';
import { causeText } from './explain-text.ts';
import { paintFor } from './paint.ts';
import { formatValue } from './print-value.ts';
import { textTable } from './text-table.ts';

const getKinds = ['frontends', 'backends', 'clusters', 'nodes'] as const;
type GetKind = (typeof getKinds)[number];

export interface GetOptions {
  readonly kind: string;
  /** `<namespace>/<name>` or the name alone, or the name of a cluster or node; default: all. */
  readonly name?: string;
  /** `host:port` of a controller's admin pages. */
  readonly admin: string | undefined;
  readonly output: string;
}

/** Prints a list. Returns 0, or 1 when nothing of `name` is there. */
export async function runGet(
  { kind, name, admin, output }: GetOptions,
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const known = getKinds.find((k) => k === kind);
  if (!known) {
    throw new AppError('E_USAGE', `expected ${getKinds.join(', ')}, found ${JSON.stringify(kind)}`);
  }
  const { value, table, size } = await lists[known](admin, name);
  const broken = isOfFiles.has(known) ? await askAdmin<readonly Cause[]>(admin, 'files') : [];
  const waitsFor = size === 0 ? await notReady(admin) : undefined;
  const yet = waitsFor === undefined ? '' : ` yet, the controller is starting: ${waitsFor}`;
  const nothing = `no ${kind}${name ? ` of ${name}` : ''}${yet}\n`;
  print(formatValue(output, value, () => (size === 0 ? nothing : table()) + brokenText(broken)));
  return name !== undefined && size === 0 ? 1 : 0;
}

/** Lists that rest on what people write into files. */
const isOfFiles: ReadonlySet<GetKind> = new Set(['frontends', 'backends']);
const shownBroken = 10;

/** Below a list: what of the files is not in it as they say. */
function brokenText(broken: readonly Cause[]): string {
  const paint = paintFor(process.stdout, process.env);
  const shown = broken.slice(0, shownBroken).map((cause) => `\n${causeText(cause, paint)}\n`);
  const left = broken.length - shown.length;
  return `${shown.join('')}${left > 0 ? `\n● ${left} more in files: the controller’s /debug/problems has all\n` : ''}`;
}

interface Listed {
  readonly value: unknown;
  readonly size: number;
  readonly table: () => string;
}

/** `<namespace>/<name>`, or a name in any namespace. */
const isNamed = (wanted: string | undefined, namespace: string, name: string): boolean =>
  wanted === undefined || wanted === name || wanted === `${namespace}/${name}`;

const lists: Readonly<Record<GetKind, (admin: string | undefined, name?: string) => Promise<Listed>>> = {
  frontends: async (admin, name) => {
    const all = await askAdmin<readonly FrontendLine[]>(admin, 'frontends');
    const value = all.filter((f) => isNamed(name, f.namespace, f.name) || f.dnsName === name);
    return { value, size: value.length, table: () => frontendTable(value) };
  },
  backends: async (admin, name) => {
    const all = await askAdmin<readonly OfferedLine[]>(admin, 'backends');
    const value = all.filter((b) => isNamed(name, b.namespace, b.name));
    const table = () => (name === undefined ? backendTable(value) : value.map(candidateTable).join('\n'));
    return { value, size: value.length, table };
  },
  clusters: async (admin, name) => {
    const answer = await askAdmin<ClustersAnswer>(admin, 'clusters');
    const clusters = answer.clusters.filter(({ cluster }) => name === undefined || cluster === name);
    const value = { ...answer, clusters };
    return { value, size: clusters.length, table: () => clusterTable(value) };
  },
  nodes: async (admin, name) => {
    const all = await askAdmin<readonly NodeLine[]>(admin, 'nodes');
    const value = all.filter(({ node }) => name === undefined || node === name);
    return { value, size: value.length, table: () => nodeTable(value) };
  },
};

const dash = (text: string): string => (text === '' ? '-' : text);

const frontendTable = (lines: readonly FrontendLine[]): string =>
  `${textTable(
    ['NAME', 'DNS NAME', 'ADDRESS', 'PORTS', 'BACKENDS', 'STATE'],
    lines.map((f) => [
      `${f.namespace}/${f.name}`,
      dash(f.dnsName),
      dash(f.addresses.join(' ')),
      dash(f.ports.join(' ')),
      `${f.backends}`,
      f.message === '' ? f.state : `${f.state}: ${f.message}`,
    ]),
  )}\n`;

const backendTable = (lines: readonly OfferedLine[]): string =>
  `${textTable(
    ['NAME', 'KIND', 'PORT', 'CLUSTERS', 'ENDPOINTS', 'READY', 'POLICY', 'REFUSES', 'STATE'],
    lines.map((b) => [
      `${b.namespace}/${b.name}`,
      b.kind,
      b.port,
      `${b.clustersUsed}/${b.clusters}`,
      `${b.endpoints}`,
      `${b.ready}`,
      dash(b.policy),
      dash(b.refused.join(' ')),
      b.state,
    ]),
  )}\n`;

/** One back end with everybody who could stand behind it. */
function candidateTable(line: OfferedLine): string {
  const { namespace, name, kind, port, policy, candidates, refused } = line;
  const rows = candidates.map((c) => [
    c.cluster,
    dash(c.region),
    c.path,
    `${c.ready}/${c.selected}`,
    `${c.endpoints.length}`,
    `${Math.round(c.share * 1000) / 10} %`,
    c.preferred ? 'yes' : 'no',
    c.ownZones.length === 0 ? c.why : `${c.why}; nodes in ${c.ownZones.join(', ')} use those of their zone`,
  ]);
  const table = textTable(
    ['CLUSTER', 'REGION', 'PATH', 'READY', 'ENDPOINTS', 'SHARE', 'PREFERRED', 'WHY'],
    rows,
  );
  const asking = refused.length === 0 ? '' : `\nnot offered to ${refused.join(', ')}, which asks for it\n`;
  return `${kind} ${namespace}/${name} ${port}  ${dash(policy)}\n\n${table}\n${asking}`;
}

function clusterTable({ clusters, relays, time }: ClustersAnswer): string {
  const rows = clusters.map((c) => [
    c.cluster,
    c.network,
    dash(c.region),
    c.path,
    c.staleSince === undefined
      ? c.state
      : `${c.state} ${ageText(Date.parse(time) - Date.parse(c.staleSince))}`,
    `${c.offers}`,
    c.heardAt === undefined ? '-' : `${ageText(Date.parse(time) - Date.parse(c.heardAt))} ago`,
    certificateText(c.certificate),
  ]);
  const table = textTable(
    ['CLUSTER', 'NETWORK', 'REGION', 'PATH', 'STATE', 'OFFERS', 'HEARD', 'CERTIFICATE'],
    rows,
  );
  if (relays.length === 0) return `${table}\n`;
  const links = relays.map(({ relay, connected, error, certificate }) => [
    relay,
    connected ? 'connected' : `✖ not connected${error === undefined ? '' : `: ${error}`}`,
    certificateText(certificate),
  ]);
  return `${table}\n\n${textTable(['RELAY', 'LINK', 'CERTIFICATE'], links)}\n`;
}

const nodeTable = (lines: readonly NodeLine[]): string =>
  `${textTable(
    ['NODE', 'ZONE', 'READY', 'AGENT', 'ADMIN', 'REFUSES', 'STATE'],
    lines.map((n) => [
      n.node,
      dash(n.zone),
      n.ready ? 'yes' : 'no',
      n.connected ? 'connected' : '✖ not connected',
      dash(n.admin),
      `${n.refused.length}`,
      n.state,
    ]),
  )}\n`;

/** What is left of it: `364 d`, `⚠ 5 d`, `✖ ended`. */
function certificateText(certificate: CertificateLine | undefined): string {
  if (!certificate) return '-';
  const left = certificate.secondsLeft * 1000;
  if (left <= 0) return '✖ ended';
  return certificate.endsSoon ? `⚠ ${ageText(left)}` : ageText(left);
}

/** `41 s`, `12 min`, `5 h`, `3 d`. */
function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
