import type { Cause, Explanation } from '../../model/explain/explanation.ts';
import type { ObjectRef } from '../../model/problem.ts';
import { type FileProblem, inFolder } from '../../sources/file/file-problem.ts';

/** What is broken in the folder's files, and where objects in force stand. */
export interface BrokenFiles {
  readonly folder: string;
  readonly problems: readonly FileProblem[];
  /** Relative to the folder; undefined: no file has this object. */
  readonly fileOf: (ref: ObjectRef) => string | undefined;
}

/** All that is broken in files, each with file and line. */
export const fileCauses = ({ folder, problems }: BrokenFiles): readonly Cause[] =>
  problems.filter(isBroken).map((problem) => causeOf(problem, folder));

/**
 * Those that an explanation rests on: of objects that it names, and of whole files that have one of them. Of the
 * others, which may be what is missing, the number and the first.
 */
export function fileCausesOf(explanation: Explanation, files: BrokenFiles): readonly Cause[] {
  const named = refsOf(explanation);
  const keys = new Set(named.map(keyOf));
  const broken = files.problems.filter(isBroken);
  if (broken.length === 0) return [];
  const inFiles = new Set(named.map(files.fileOf));
  const isOn = (problem: FileProblem): boolean =>
    problem.kind === '' || problem.name === '' ? inFiles.has(problem.file) : keys.has(keyOf(problem));
  const [first, ...others] = broken.filter((problem) => !isOn(problem));
  return [
    ...broken.filter(isOn).map((problem) => causeOf(problem, files.folder)),
    ...(first ? [elsewhere(first, others.length, files.folder)] : []),
  ];
}

const isBroken = ({ severity }: FileProblem): boolean => severity === 'error';

const keyOf = ({ kind, namespace, name }: ObjectRef): string => `${kind}/${namespace}/${name}`;

function refsOf({ causes, frontend, offer }: Explanation): readonly ObjectRef[] {
  const ofPorts = (frontend?.ports ?? []).flatMap(({ route, notUsed, backends, causes: own }) => [
    ...(route ? [route] : []),
    ...notUsed,
    ...backends,
    ...[...own, ...backends.flatMap((backend) => backend.causes)].map(({ ref }) => ref),
  ]);
  const gateway = frontend
    ? [
        { kind: 'Gateway', namespace: frontend.namespace, name: frontend.name },
        { kind: 'GatewayClass', namespace: '', name: frontend.class },
      ]
    : [];
  // The Gateway of that name may be what is broken.
  const offered = offer
    ? ['CompositeBackend', 'Gateway'].map((kind) => ({ kind, namespace: offer.namespace, name: offer.name }))
    : [];
  return [...gateway, ...ofPorts, ...offered, ...causes.map(({ ref }) => ref)];
}

const placeOf = ({ file, line }: FileProblem, folder: string): string => `${inFolder(folder, file)}:${line}`;

function causeOf(problem: FileProblem, folder: string): Cause {
  const { kind, namespace, name, path, message, keptFrom, file } = problem;
  const whole = kind === '' || name === '';
  const stays = keptFrom === undefined ? 'nothing of it is in force' : 'the last good version stays in force';
  return {
    stops: false,
    reason: 'FileBroken',
    ref: whole ? { kind: 'File', namespace: '', name: inFolder(folder, file) } : { kind, namespace, name },
    field: path,
    message: `${placeOf(problem, folder)}: ${message}; ${stays}`,
    next: problem.hint ?? 'correct the file: it is read as soon as it is saved',
  };
}

const elsewhere = (first: FileProblem, others: number, folder: string): Cause => ({
  stops: false,
  reason: 'FileBroken',
  ref: { kind: 'File', namespace: '', name: inFolder(folder, first.file) },
  field: '',
  message: `${placeOf(first, folder)}: ${first.message}${others === 0 ? '' : `; ${others} more in files`}: of nothing that this path names`,
  next: 'causeway get frontends shows what is broken in files, and the controller’s /debug/problems all of it',
});
