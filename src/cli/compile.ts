import type { Compiled } from '../model/compiled.ts';
import { dumpCompiled } from '../model/dump.ts';
import { dumpIr } from '../model/dump-ir.ts';
import type { Change } from '../model/inputs.ts';
import type { Frontend } from '../model/ir.ts';
import { Model } from '../model/model.ts';
import { defaultModelConfig } from '../model/model-config.ts';
import type { Problem } from '../model/problem.ts';
import { problemCodes } from '../model/problem-codes.ts';
import { Zone } from '../outputs/dns/zone.ts';
import { formatZone } from '../outputs/dns/zone-text.ts';
import { renderTable } from '../outputs/nft/wanted-table.ts';
import { noClaims } from '../outputs/objects/claim-state.ts';
import { decide } from '../outputs/objects/decide.ts';
import { ReservedAddresses } from '../outputs/objects/reserved.ts';
import { describeResources } from '../outputs/xds/describe.ts';
import { render } from '../outputs/xds/render.ts';
import { AppError, messageOf } from '../runtime/errors.ts';
import type { FieldPlaces } from '../sources/file/field-places.ts';
import { type FileProblem, formatProblem, inFolder } from '../sources/file/file-problem.ts';
import { readFolder } from '../sources/file/read-folder.ts';
import { yamlText } from '../wire/yaml-text.ts';
import { textTable } from './text-table.ts';

export interface CompileOptions {
  readonly dir: string;
  readonly cluster: string;
  readonly region: string;
  readonly network: string;
  readonly serviceCidrs: readonly string[];
  readonly zone: string;
  readonly controllerName: string;
  readonly output: OutputFormat;
}

export type OutputFormat = 'table' | 'json' | 'yaml';

/**
 * Compiles a folder without a cluster, a kernel or privileges, and prints what would be served. The same folder
 * gives the same output. Returns 0, or 1 when something in the folder is wrong. Throws E_USAGE.
 */
export async function runCompile(
  options: CompileOptions,
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const {
    changes,
    problems: fileProblems,
    places,
  } = await readFolder(options.dir).catch((error: unknown) => {
    throw new AppError('E_USAGE', `--dir: expected a readable folder, found: ${messageOf(error)}`, {
      cause: error,
    });
  });
  const assumed = assumedClass(changes, options.controllerName);
  const model = new Model({
    ...defaultModelConfig,
    cluster: options.cluster,
    region: options.region,
    network: options.network,
    zone: options.zone,
    controllerName: options.controllerName,
    serviceCidrs: options.serviceCidrs,
  });
  model.update([...changes, ...assumed], 0);
  claimAddresses(model, changes, options.serviceCidrs);
  const { compiled } = model;
  const wrong = compiled.problems.filter(isWrong);
  if (options.output === 'table') {
    print(tables(compiled, wrong, fileProblems, places, assumed.length > 0, options.dir));
  } else {
    const result = everything(compiled, fileProblems, places, options);
    print(options.output === 'json' ? `${JSON.stringify(result, null, 2)}\n` : yamlText(result));
  }
  return wrong.length > 0 || fileProblems.some((p) => p.severity === 'error') ? 1 : 0;
}

/** In a cluster the class is there before anything else; a folder of Gateways alone means it, too. */
function assumedClass(changes: readonly Change[], controllerName: string): Change[] {
  if (changes.some(({ kind }) => kind === 'GatewayClass')) return [];
  const metadata = {
    name: 'cluster-ip',
    namespace: '',
    uid: 'assumed',
    generation: 1,
    creationTimestamp: '',
    labels: {},
    annotations: {},
  };
  return [{ kind: 'GatewayClass', key: 'cluster-ip', value: { metadata, spec: { controllerName } } }];
}

/** People read no more; the rest is counted. */
const maxShown = 50;

/** As the controller does it, with nobody who could hold an address. */
function claimAddresses(model: Model, changes: readonly Change[], ranges: readonly string[]): void {
  const reserved = new ReservedAddresses();
  reserved.follow(changes);
  const { state, failures } = decide(noClaims, {
    wanted: model.compiled.claims,
    ranges,
    reserved: reserved.holders,
    connected: new Set(),
    rendered: Number.MAX_SAFE_INTEGER,
    nodeObjects: undefined,
    acknowledged: () => 0,
    refuses: () => false,
  });
  model.update(
    [
      ...[...state.claims.values()].map(
        ({ address, gateway }): Change => ({
          kind: 'Claim',
          key: address,
          value: { address, gateway, state: 'bound' },
        }),
      ),
      ...[...failures].map(([key, value]): Change => ({ kind: 'ClaimFailure', key, value })),
    ],
    0,
  );
}

/** What a condition says is not as it should be. That no node has it yet is no fault here. */
function isWrong({ code }: Problem): boolean {
  const mapping = problemCodes[code];
  if (mapping === null) return code === 'Internal';
  if (code === 'ProgrammingPending') return false;
  return mapping.type === 'Conflicted' ? mapping.status === 'True' : mapping.status === 'False';
}

function everything(
  compiled: Compiled,
  files: readonly FileProblem[],
  places: FieldPlaces,
  options: CompileOptions,
): Record<string, unknown> {
  const { statuses = {}, claims = {}, exports = {}, imports = [] } = dumpCompiled(compiled);
  const nodes = [...compiled.nodes.keys()];
  return {
    files,
    problems: compiled.problems.map((problem) => plainProblem(problem, places)),
    claims,
    ir: dumpIr(compiled),
    exports,
    imports,
    statuses,
    xds: describeResources(render(compiled)),
    nft: Object.fromEntries(nodes.map((node) => [node, nftOf(compiled, node, options.cluster)])),
    dns: zoneOf(compiled, options.zone),
  };
}

/** With the place of the field, or of the object; absent where no file has it. */
function plainProblem({ code, ref, path, message }: Problem, places: FieldPlaces): Record<string, unknown> {
  return { code, ...ref, path, message, ...places.of(ref, path) };
}

function nftOf(compiled: Compiled, node: string, cluster: string): Record<string, unknown> {
  const { text, refused } = renderTable(compiled, { node, cluster });
  return { table: text, ...(refused.size > 0 ? { refused: Object.fromEntries(refused) } : {}) };
}

function zoneOf(compiled: Compiled, name: string): string {
  const zone = new Zone({ zone: name });
  zone.update(compiled.frontends, 1);
  zone.complete();
  return formatZone(zone);
}

function tables(
  compiled: Compiled,
  wrong: readonly Problem[],
  files: readonly FileProblem[],
  places: FieldPlaces,
  classAssumed: boolean,
  dir: string,
): string {
  const parts: string[] = [];
  const rows = [...compiled.frontends.values()].flatMap((frontend) => frontendRows(compiled, frontend));
  parts.push(
    rows.length > 0
      ? textTable(['NAME', 'ADDRESS', 'PORT', 'SHARE', 'TO', 'ENDPOINTS'], rows)
      : `no front ends: no Gateway of a class of ours in ${dir} has an address`,
  );
  const notes = compiled.problems.filter((p) => !wrong.includes(p) && p.code !== 'ProgrammingPending');
  const errors = files.filter(({ severity }) => severity === 'error');
  const fileNotes = files.filter(({ severity }) => severity !== 'error');
  const texts = [
    ...wrong.map((p) => () => problemText('✖', p, places, dir)),
    ...errors.map((p) => () => formatProblem(p, dir)),
    ...notes.map((p) => () => problemText('●', p, places, dir)),
    ...fileNotes.map((p) => () => formatProblem(p, dir)),
  ];
  parts.push(...texts.slice(0, maxShown).map((text) => text()));
  if (texts.length > maxShown) {
    parts.push(
      `… and ${texts.length - maxShown} more, ${wrong.length + errors.length} mistakes and ${notes.length + fileNotes.length} notes in all: -o json lists them`,
    );
  }
  if (classAssumed && compiled.frontends.size > 0) {
    parts.push('● no GatewayClass in the folder: "cluster-ip" is taken as ours');
  }
  return `${parts.join('\n\n')}\n`;
}

function frontendRows(compiled: Compiled, { key, names, vips, ports }: Frontend): string[][] {
  return ports.flatMap(({ protocol, port, targets }) => {
    const all = targets.reduce((sum, { weight }) => sum + weight, 0);
    const place = [names[0] ?? key, vips.join(' ') || '-', `${protocol} ${port}`];
    if (targets.length === 0) return [[...place, '-', 'nothing (rejected)', '-']];
    return targets.map(({ backend, weight }) => [
      ...place,
      all === 0 ? '0 %' : `${Math.round((weight / all) * 100)} %`,
      backend ?? 'nothing (rejected)',
      backend === null ? '-' : endpointCount(compiled, backend),
    ]);
  });
}

function endpointCount(compiled: Compiled, key: string): string {
  const endpoints = compiled.backends.get(key)?.groups.flatMap((group) => group.endpoints) ?? [];
  const draining = endpoints.filter(({ health }) => health === 'Draining').length;
  return draining === 0 ? `${endpoints.length}` : `${endpoints.length - draining} (${draining} draining)`;
}

function problemText(mark: string, problem: Problem, places: FieldPlaces, dir: string): string {
  const { ref, path, message, code } = problem;
  const name = ref.namespace === '' ? ref.name : `${ref.namespace}/${ref.name}`;
  const place = places.of(ref, path);
  const where = place ? `${inFolder(dir, place.file)}:${place.line}  ` : '';
  const condition = problemCodes[code];
  const isNote = condition === null || condition.reason === 'Accepted';
  const reason = isNote ? code : `${condition.type} ${condition.status}, ${condition.reason}`;
  return `${mark} ${where}${ref.kind} ${name}  ${reason}\n  ${path === '' ? '' : `${path}: `}${message}`;
}
