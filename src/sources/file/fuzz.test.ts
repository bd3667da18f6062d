import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Fuzz, fuzz } from '../../runtime/fuzz-bed.ts';
import { parseFile } from './parse-file.ts';

const cases = 10_000;
const root = join(import.meta.dirname, '..', '..', '..');

/** Objects as users write them, one document each. */
function seeds(): readonly string[] {
  const files = globSync(['examples/**/*.yaml', 'testdata/*/in.yaml'], { cwd: root }).sort();
  const documents = files.flatMap((file) => readFileSync(join(root, file), 'utf8').split(/^---$/m));
  return documents.filter((text) => text.trim() !== '' && text.length < 3_000);
}

const odd: readonly unknown[] = [
  ...[
    null,
    true,
    0,
    -1,
    1.5,
    2 ** 53,
    Number.NaN,
    '',
    ' ',
    'x'.repeat(300),
    '__proto__',
    'constructor',
    '10.0.0.0/8',
  ],
  ...[[], {}, [[]], [null], { a: { b: { c: {} } } }, new Date(0)],
];

/** One value of it is another, gone, or twice there. */
function changed(random: Fuzz, value: unknown): unknown {
  if (random.chance(15)) return random.pick(odd);
  if (Array.isArray(value) && value.length > 0) {
    const at = random.below(value.length);
    if (random.chance(20)) return [...value, value[at]];
    return value.map((item, i) => (i === at ? changed(random, item) : item));
  }
  if (typeof value !== 'object' || value === null) return random.pick(odd);
  const keys = Object.keys(value);
  const key = keys.length === 0 ? 'a' : random.pick(keys);
  const { [key]: held, ...others } = value as Record<string, unknown>;
  const action = random.below(6);
  if (action === 0) return others;
  if (action === 1) return { ...others, [random.pick(['__proto__', 'toString', 'kind', 'spec', ''])]: held };
  return { ...others, [key]: changed(random, held) };
}

/** Lines left out, repeated, indented otherwise; signs of YAML where they should not be. */
function scrambled(random: Fuzz, text: string): string {
  const lines = text.split('\n');
  for (let changes = 1 + random.below(3); changes > 0; changes -= 1) {
    const at = random.below(lines.length);
    const line = lines[at] ?? '';
    const change = random.below(6);
    if (change === 0) lines.splice(at, 1);
    else if (change === 1) lines.splice(at, 0, random.pick(lines) ?? '');
    else if (change === 2) lines[at] = `${' '.repeat(random.below(5))}${line.trimStart()}`;
    else if (change === 3) lines[at] = line.slice(0, random.below(line.length + 1));
    else {
      const sign = random.pick([
        '&a ',
        '*a',
        '!!binary ',
        '<<: *a',
        '{',
        '[',
        '"',
        "'",
        '|',
        '\t',
        '? ',
        '---',
        '%',
        '\0',
        '\u2028',
      ]);
      const split = random.below(line.length + 1);
      lines[at] = line.slice(0, split) + sign + line.slice(split);
    }
  }
  return lines.join('\n');
}

test(`${cases} documents: each is read or told with its place, and nothing is thrown`, async () => {
  const documents = seeds();
  let [objects, broken] = [0, 0];
  await fuzz(cases, (random) => {
    const seed = random.pick(documents);
    const value = random.chance(50) ? changed(random, parse(seed, { logLevel: 'silent' })) : undefined;
    const text =
      value === undefined
        ? random.chance(85)
          ? scrambled(random, seed)
          : random.mutated(Buffer.from(seed), Buffer.from(random.pick(documents))).toString()
        : stringify(value);
    const read = parseFile('x.yaml', text);
    objects += read.objects.length;
    broken += read.problems.length;
    const lines = text.split('\n').length;
    for (const { line, column, message } of read.problems) {
      if (!(line >= 1 && line <= lines && column >= 1) || message === '')
        throw new Error(`${line}:${column} ${message}`);
    }
  });
  expect(objects).toBeGreaterThan(cases / 50);
  expect(broken).toBeGreaterThan(cases / 10);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
}, 300_000);
