import type { Problem } from '../problem.ts';
import { problemCodes } from '../problem-codes.ts';
import type { Cause } from './explanation.ts';
import { nextSteps } from './next-steps.ts';

/** Problems that stop nothing by themselves. */
const notes: ReadonlySet<Problem['code']> = new Set([
  'ProgrammingPending',
  'PortNotOffered',
  'OlderRouteCarries',
  'RouteKindInvalid',
  'ClassNotFound',
]);

/** A problem as a cause. It stops the path where its condition says that something is not as it should be. */
export function causeOf({ code, ref, path, message }: Problem): Cause {
  const mapping = problemCodes[code];
  const good = mapping?.type === 'Conflicted' ? 'False' : 'True';
  const stops = !notes.has(code) && mapping?.status !== good;
  return { stops, reason: code, ref, field: path, message, next: nextSteps[code] ?? '' };
}
