import type { ProblemCode } from './problem-codes.ts';

/** A user's mistake, as data. It becomes a condition (`problem-codes.ts`) and a line of `/debug/problems`; it never throws. */
export interface Problem {
  /** Listed in docs/errors.md. */
  readonly code: ProblemCode;
  readonly ref: ObjectRef;
  /** Field, as `spec.listeners[0].port`. Empty: the whole object. */
  readonly path: string;
  /** What was expected and what was found; no trailing period. */
  readonly message: string;
}

export interface ObjectRef {
  readonly kind: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}
