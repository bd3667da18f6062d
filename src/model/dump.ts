import { apiVersionOf, type KindDefinition } from '../api/kind.ts';
import { kinds } from '../api/kinds.ts';
import type { Compiled, Status } from './compiled.ts';
import type { Condition } from './conditions.ts';
import type { InputKind, RemoteEndpoint } from './inputs.ts';
import type { Backend, Endpoint, Frontend, Group, Ir, Port } from './ir.ts';
import { portSegment } from './keys.ts';
import type { ModelConfig } from './model-config.ts';
import type { Problem } from './problem.ts';

/**
 * The text format of /debug/inputs and /debug/ir, which is that of the golden files: plain values, for YAML or
 * JSON. So what a running controller shows is a test case.
 */

type Plain = Readonly<Record<string, unknown>>;

const definitions: ReadonlyMap<string, KindDefinition> = new Map(Object.entries(kinds));

/** One document for each: the configuration, then objects with their apiVersion, then our own records with keys. */
export function dumpInputs(
  config: ModelConfig,
  inputs: Iterable<readonly [kind: InputKind, key: string, value: unknown]>,
): readonly Plain[] {
  const objects: Plain[] = [];
  const own: Plain[] = [];
  for (const [kind, key, value] of inputs) {
    const definition = definitions.get(kind);
    if (definition) objects.push({ apiVersion: apiVersionOf(definition), kind, ...(value as Plain) });
    else own.push({ kind, key, ...(value as Plain) });
  }
  return [{ kind: 'Config', ...config }, ...objects, ...own];
}

/** What data planes see. */
export function dumpIr({ frontends, backends, nodes }: Ir): Plain {
  return {
    frontends: dumpMap(frontends, dumpFrontend),
    backends: dumpMap(backends, dumpBackend),
    nodes: dumpMap(nodes, ({ name: _, ...facts }) => facts),
  };
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

function dumpMap<V>(map: ReadonlyMap<string, V>, dump: (value: V) => unknown): Plain {
  return Object.fromEntries([...map].map(([key, value]) => [key, dump(value)]));
}

function dumpFrontend({ generation, names, ttl, vips, ports }: Frontend): Plain {
  return { generation, names, ttl, vips, ports: Object.fromEntries(ports.map(dumpPort)) };
}

/** A target as `<weight> <back end>`, or `<weight> rejected`. */
function dumpPort({ protocol, port, listeners, appProtocol, targets }: Port): readonly [string, Plain] {
  const dumped = {
    listeners,
    ...(appProtocol === undefined ? {} : { appProtocol }),
    targets: targets.map(({ backend, weight }) => `${weight} ${backend ?? 'rejected'}`),
  };
  return [portSegment(protocol, port), dumped];
}

function dumpBackend({ policy, groups, withheld }: Backend): Plain {
  return { policy, ...(withheld ? { withheld } : {}), groups: groups.map(dumpGroup) };
}

function dumpGroup({ endpoints, ...group }: Group): Plain {
  return { ...group, endpoints: endpoints.map(dumpEndpoint) };
}

/** `10.1.0.4:8080`, `10.1.0.4|fd00::4 :8080` for two families; then what is not usual. */
function dumpEndpoint({ addresses, port, health, weight, snat }: Endpoint): string {
  return [
    place(addresses, port),
    ...(health === 'Healthy' ? [] : [health]),
    ...(weight === 1 ? [] : [`weight ${weight}`]),
    ...(snat ? ['snat'] : []),
  ].join(' ');
}

function dumpRemote({ addresses, port, health, zone }: RemoteEndpoint): string {
  return [
    place(addresses, port),
    ...(zone === '' ? [] : [`zone ${zone}`]),
    ...(health === 'Healthy' ? [] : [health]),
  ].join(' ');
}

const place = (addresses: readonly string[], port: number): string =>
  addresses.length === 1 && !addresses[0]?.includes(':')
    ? `${addresses[0]}:${port}`
    : `${addresses.join('|')} :${port}`;

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
