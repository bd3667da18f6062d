import { apiVersionOf, type KindDefinition } from '../api/kind.ts';
import { kinds } from '../api/kinds.ts';
import type { Compiled, Status } from './compiled.ts';
import type { Condition } from './conditions.ts';
import { dumpIr, dumpMap, type Plain, placeText } from './dump-ir.ts';
import type { InputKind, RemoteEndpoint } from './inputs.ts';
import type { ModelConfig } from './model-config.ts';
import type { Problem } from './problem.ts';

/**
 * The text format of /debug/inputs and /debug/ir, which is that of the golden files: plain values, for YAML or
 * JSON. So what a running controller shows is a test case.
 */

const definitions: ReadonlyMap<string, KindDefinition> = new Map(Object.entries(kinds));

/**
 * One document for each: the configuration with the time of the last update (epoch milliseconds), then objects with their
 * apiVersion, then our own records with keys.
 */
export function dumpInputs(
  config: ModelConfig,
  inputs: Iterable<readonly [kind: InputKind, key: string, value: unknown]>,
  now = 0,
): readonly Plain[] {
  const objects: Plain[] = [];
  const own: Plain[] = [];
  for (const [kind, key, value] of inputs) {
    const definition = definitions.get(kind);
    if (definition) objects.push({ apiVersion: apiVersionOf(definition), kind, ...(value as Plain) });
    else own.push({ kind, key, ...(value as Plain) });
  }
  return [{ kind: 'Config', ...config, ...(now === 0 ? {} : { now }) }, ...objects, ...own];
}

/** All that the model says. Empty tables are left out. */
export function dumpCompiled(compiled: Compiled): Plain {
  const all: Plain = {
    ...dumpIr(compiled),
    statuses: dumpMap(compiled.statuses, dumpStatus),
    claims: dumpMap(compiled.claims, ({ families, requested }) => ({ families, requested })),
    exports: dumpMap(
      compiled.exports,
      ({ appProtocol, kinds: behind, ready, selected, to, as, endpoints }) => ({
        ...(appProtocol === undefined ? {} : { appProtocol }),
        kinds: behind,
        ready,
        selected,
        to,
        ...(as ? { as } : {}),
        endpoints: endpoints.map((endpoint) => dumpRemote(endpoint)),
      }),
    ),
    imports: [...compiled.imports],
    probes: dumpMap(compiled.probes, ({ places }) => places),
    problems: compiled.problems.map(problemText),
  };
  return Object.fromEntries(
    Object.entries(all).filter(([, table]) => Object.keys(table as object).length > 0),
  );
}

function dumpRemote({ addresses, port, health, zone }: RemoteEndpoint): string {
  return [
    placeText(addresses, port),
    ...(zone === '' ? [] : [`zone ${zone}`]),
    ...(health === 'Healthy' ? [] : [health]),
  ].join(' ');
}

function dumpStatus({ generation, status }: Status): unknown {
  return compact(status, generation);
}

/** Conditions become `<type>: <status> <reason>: <message>`; a generation is shown where it is not the object's. */
function compact(value: unknown, generation: number): unknown {
  if (Array.isArray(value)) return value.map((item) => compact(item, generation));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      key === 'conditions'
        ? compactConditions(field as readonly Condition[], generation)
        : compact(field, generation),
    ]),
  );
}

function compactConditions(conditions: readonly Condition[], generation: number): Plain {
  return Object.fromEntries(
    conditions.map(({ type, status, reason, message, observedGeneration }) => [
      type,
      [
        `${status} ${reason}`,
        ...(observedGeneration === generation ? [] : [` @${observedGeneration}`]),
        ...(message === '' ? [] : [`: ${message}`]),
      ].join(''),
    ]),
  );
}

/** A problem on one line. */
export const problemText = ({ code, ref, path, message }: Problem): string =>
  `${code} ${ref.kind} ${ref.namespace}/${ref.name}${path === '' ? '' : ` ${path}`}: ${message}`;
