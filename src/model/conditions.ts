import type { Problem } from './problem.ts';
import { type ConditionMapping, type ConditionStatus, problemCodes } from './problem-codes.ts';

const order = Object.keys(problemCodes);
const strength = ({ code }: Problem): number => order.indexOf(code);

/** Without lastTransitionTime, which the output that writes it adds. */
export interface Condition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

export interface DefaultCondition extends ConditionMapping {
  readonly message?: string;
}

/** What a message of a condition may grow to: the rest is counted. */
const maxMessages = 8;

/**
 * The conditions of an object: each default holds unless a problem says otherwise. A problem whose condition is
 * not among the defaults has no place on this object.
 */
export function conditionsOf(
  generation: number,
  defaults: readonly DefaultCondition[],
  problems: readonly Problem[],
): readonly Condition[] {
  return defaults.map(({ message, ...fallback }) => {
    const own = problems
      .filter(({ code }) => problemCodes[code]?.type === fallback.type)
      .sort((a, b) => strength(a) - strength(b));
    const strongest = own[0];
    const mapping = strongest ? problemCodes[strongest.code] : null;
    return {
      ...(mapping ?? fallback),
      message: own.length === 0 ? (message ?? '') : joinMessages(own),
      observedGeneration: generation,
    };
  });
}

function joinMessages(problems: readonly Problem[]): string {
  const messages = [...new Set(problems.map(({ message }) => message))];
  const shown = messages.slice(0, maxMessages).join('; ');
  return messages.length > maxMessages ? `${shown}; and ${messages.length - maxMessages} more` : shown;
}
