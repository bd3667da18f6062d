import { dispatchRules, isVerdictMap, schemaText, tableName } from './schema.ts';

export interface ElementOperation {
  readonly op: 'add' | 'delete';
  readonly set: string;
  /** `a . b . c`. */
  readonly key: string;
  /** Absent in sets. */
  readonly data?: string;
  /** Carried over where a verdict is switched: deleting an element loses its counter. */
  readonly counter?: Counter;
}

export interface Counter {
  readonly packets: number;
  readonly bytes: number;
}

/**
 * What must be committed together. Steps may be committed one after the other: each leaves a table in which
 * every connection is answered.
 */
export interface Step {
  readonly addChains?: readonly string[];
  readonly deleteChains?: readonly string[];
  readonly elements: readonly ElementOperation[];
}

export interface Transaction {
  readonly text: string;
  readonly commands: number;
  readonly elements: number;
}

/**
 * Order inside a transaction: chains, slots, sets, verdicts; what is deleted goes in the opposite order, before
 * what is added to the same set (nft refuses to add a key that has other data).
 */
export function transaction(steps: readonly Step[], table = tableName): Transaction {
  const commands: string[] = [];
  const added = new Set(steps.flatMap((s) => s.addChains ?? []));
  if (added.size > 0) commands.push(chainBlock(table, [...added].sort()));
  const groups: Record<ElementOperation['op'], Map<string, string[]>> = { add: new Map(), delete: new Map() };
  let elements = 0;
  for (const step of steps) {
    for (const operation of step.elements) {
      const ofOp = groups[operation.op];
      const group = ofOp.get(operation.set);
      if (group) group.push(elementText(operation));
      else ofOp.set(operation.set, [elementText(operation)]);
      elements += 1;
    }
  }
  const ordered = (['add', 'delete'] as const).flatMap((op) =>
    [...groups[op]].map(([set, texts]) => ({ order: `${phase(op, set)} ${set}`, op, set, texts })),
  );
  for (const { op, set, texts } of ordered.sort((a, b) => (a.order < b.order ? -1 : 1))) {
    commands.push(`${op} element ${table} ${set} {\n${texts.join(',\n')}\n}\n`);
  }
  for (const chain of new Set(steps.flatMap((s) => s.deleteChains ?? []))) {
    commands.push(`delete chain ${table} ${chain}\n`);
  }
  return { text: commands.join(''), commands: commands.length, elements };
}

/** Sorts as text. Slots before sets before verdicts; within a set, `delete` runs before `add`. */
function phase(op: ElementOperation['op'], set: string): string {
  const order = isVerdictMap(set) ? 2 : set.startsWith('e') ? 0 : 1;
  return `${order}${op === 'delete' ? 0 : 1}`;
}

function elementText({ op, key, data, counter }: ElementOperation): string {
  if (op === 'delete' || data === undefined) return key;
  const count = counter ? ` counter packets ${counter.packets} bytes ${counter.bytes}` : '';
  return `${key}${count} : ${data}`;
}

function chainBlock(table: string, names: readonly string[]): string {
  const chains = names.map(
    (n) =>
      `  chain ${n} {\n${dispatchRules(n)
        .map((r) => `    ${r}\n`)
        .join('')}  }\n`,
  );
  return `table ${table} {\n${chains.join('')}}\n`;
}

/** One atomic replacement of the whole table; also where there is none. */
export function replacement(steps: readonly Step[]): Transaction {
  const { text, commands, elements } = transaction(steps);
  const head = `add table ${tableName}\ndelete table ${tableName}\n${schemaText()}`;
  return { text: head + text, commands: commands + 3, elements };
}

/** Makes a table of another name and deletes it again in the same transaction: proves that the kernel takes it. */
export function rehearsal(steps: readonly Step[]): string {
  const scratch = `${tableName}-check`;
  return `${schemaText(scratch)}${transaction(steps, scratch).text}delete table ${scratch}\n`;
}
