import type { Compiled } from '../model/compiled.ts';
import { dumpCompiled, dumpIr } from '../model/dump.ts';
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
import { type FileProblem, formatProblem } from '../sources/file/file-problem.ts';
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
  const { changes, problems: fileProblems } = await readFolder(options.dir).catch((error: unknown) => {
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
    print(tables(compiled, wrong, fileProblems, assumed.length > 0, options.dir));
  } else {
    const result = everything(compiled, fileProblems, options);
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
  options: CompileOptions,
): Record<string, unknown> {
  const { statuses = {}, claims = {}, exports = {}, imports = [], problems = [] } = dumpCompiled(compiled);
  const nodes = [...compiled.nodes.keys()];
  return {
    files,
    problems,
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
  parts.push(...wrong.map((p) => problemText('✖', p)), ...notes.map((p) => problemText('●', p)));
  parts.push(...files.map((p) => formatProblem(p, dir)));
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

function problemText(mark: string, { ref, path, message, code }: Problem): string {
  const name = ref.namespace === '' ? ref.name : `${ref.namespace}/${ref.name}`;
  const condition = problemCodes[code];
  const reason = condition === null ? code : `${condition.type} ${condition.status}, ${condition.reason}`;
  return `${mark} ${ref.kind} ${name}  ${reason}\n  ${path === '' ? '' : `${path}: `}${message}`;
}
