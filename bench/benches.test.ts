import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { benches, selectBenches } from './benches.ts';
import { renderFigures, targetText } from './table.ts';

const figures = benches.flatMap((bench) => bench.figures);

test('every figure has a name of its own, and a target or why it has none', () => {
  const names = figures.map(({ name }) => name);
  expect(new Set([...names, ...benches.map(({ name }) => name)]).size).toBe(names.length + benches.length);
  for (const { name, unit, target, peer } of figures) {
    expect(name).toMatch(/^[a-z0-9-]+$/);
    expect(targetText(target, unit)).toMatch(/^(≤ \+?[\d.,]+ ?\S+( \(.+\))?|none: .{3,})$/);
    if ('ratioAtMost' in target || 'overPeerAtMost' in target) expect(peer, name).toBeDefined();
  }
});

test('each bench is a file that runs alone', () => {
  for (const { name } of benches) {
    const file = join(import.meta.dirname, `${name}.ts`);
    expect(existsSync(file), file).toBe(true);
    expect(readFileSync(file, 'utf8')).toMatch(/if \(import\.meta\.main\) \{?\s*await runAlone\(/);
  }
});

test('docs/benchmarks.md lists exactly the figures there are, with their targets', () => {
  const text = readFileSync(join(import.meta.dirname, '..', 'docs', 'benchmarks.md'), 'utf8');
  const section = /\n## The figures\n([\s\S]*?)\n## /.exec(text)?.[1] ?? '';
  expect(section.trim()).toBe(renderFigures(figures).trim());
});

test('--only takes names of benches and of figures, and nothing else', () => {
  expect(selectBenches([])).toBe(benches);
  expect(selectBenches(['memory']).map(({ name }) => name)).toEqual(['memory']);
  expect(selectBenches(['dns-cpu-file']).map(({ name }) => name)).toEqual(['dns-server']);
  expect(() => selectBenches(['memory', 'nothing'])).toThrow(/found nothing$/);
});
