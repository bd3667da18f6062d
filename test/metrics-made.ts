import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const src = join(import.meta.dirname, '..', 'src');

export interface MadeMetric {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** Without the prefix `causeway_`. */
  readonly name: string;
  readonly labels: readonly string[];
}

/** Every metric that is made in src, sorted; one that several roles make is there once if it is the same in all. */
export function metricsMade(): readonly MadeMetric[] {
  const sources = (readdirSync(src, { recursive: true }) as string[])
    .filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'))
    .map((f) => readFileSync(join(src, f), 'utf8'))
    .join('\n');
  const calls = sources.matchAll(/\.(counter|gauge|histogram)\(\{\s*name: '([a-z_]+)'([^}]*?)\}/g);
  const made = [...calls].map(([, kind, name, rest]) => {
    const labels = [...(/labels: \[([^\]]*)\]/.exec(rest ?? '')?.[1]?.matchAll(/'(\w+)'/g) ?? [])];
    return { kind, name, labels: labels.map((m) => m[1]) } as MadeMetric;
  });
  const distinct = new Map(made.map((metric) => [JSON.stringify(metric), metric]));
  return [...distinct.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
