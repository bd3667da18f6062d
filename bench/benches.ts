import type { Bench } from './bench.ts';
import { borderBytes } from './border-bytes.ts';
import { churn } from './churn.ts';
import { compile } from './compile.ts';
import { dnsServer } from './dns-server.ts';
import { manyClusters } from './many-clusters.ts';
import { memory } from './memory.ts';
import { programming } from './programming.ts';
import { propagation } from './propagation.ts';
import { xdsFanout } from './xds-fanout.ts';

/** All of them, in the order in which they run. */
export const benches: readonly Bench[] = [
  compile,
  dnsServer,
  xdsFanout,
  programming,
  propagation,
  borderBytes,
  churn,
  memory,
  manyClusters,
];

/** Those with a figure that `only` names, or that it names themselves; throws where it names nothing. */
export function selectBenches(only: readonly string[]): readonly Bench[] {
  const names = ({ name, figures }: Bench): string[] => [name, ...figures.map((figure) => figure.name)];
  const known = benches.flatMap(names);
  const unknown = only.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    const there = benches.map(({ name }) => name).join(' ');
    throw new Error(`--only: expected names of benches (${there}) or of figures, found ${unknown.join(' ')}`);
  }
  return only.length === 0 ? benches : benches.filter((b) => names(b).some((name) => only.includes(name)));
}
