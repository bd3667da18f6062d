import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface CompositeStatus {
  readonly status?: { readonly clusters?: readonly { readonly name: string; readonly state: string }[] };
}

/** Cluster → state, as a controller's state folder shows them for a composite; empty until it has written them. */
export function compositeStates(stateDir: string, namespace: string, name: string): Record<string, string> {
  const file = join(stateDir, 'status', 'CompositeBackend', `${namespace}_${name}.yaml`);
  let composite: CompositeStatus;
  try {
    composite = parse(readFileSync(file, 'utf8')) as CompositeStatus;
  } catch {
    return {};
  }
  return Object.fromEntries((composite.status?.clusters ?? []).map((c) => [c.name, c.state]));
}
