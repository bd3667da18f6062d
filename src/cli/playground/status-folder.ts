import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

export interface StatusFields {
  readonly addresses?: readonly { readonly value: string }[];
  readonly conditions?: readonly Condition[];
  readonly clusters?: readonly { readonly name: string; readonly state: string; readonly reason?: string }[];
  /** Of routes. */
  readonly parents?: readonly { readonly conditions?: readonly Condition[] }[];
}

/** What a controller has written about an object into its state folder; empty until it has. */
export function readStatus(stateDir: string, kind: string, namespace: string, name: string): StatusFields {
  try {
    const text = readFileSync(join(stateDir, 'status', kind, `${namespace}_${name}.yaml`), 'utf8');
    return (parse(text) as { status?: StatusFields } | null)?.status ?? {};
  } catch {
    return {};
  }
}

/** Cluster → state, as a composite's status shows them. */
export function compositeStates(stateDir: string, namespace: string, name: string): Record<string, string> {
  const { clusters = [] } = readStatus(stateDir, 'CompositeBackend', namespace, name);
  return Object.fromEntries(clusters.map((c) => [c.name, c.state]));
}

export interface GatewayState {
  readonly programmed: boolean;
  /** What the condition says, for people. */
  readonly message: string;
  readonly addresses: readonly string[];
}

export function gatewayState(stateDir: string, namespace: string, name: string): GatewayState {
  const { addresses = [], conditions = [] } = readStatus(stateDir, 'Gateway', namespace, name);
  const condition = conditions.find((c) => c.type === 'Programmed');
  return {
    programmed: condition?.status === 'True',
    message: condition ? `${condition.reason ?? ''}: ${condition.message ?? ''}` : 'no Programmed condition',
    addresses: addresses.map((a) => a.value),
  };
}
