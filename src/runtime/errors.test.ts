import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { problemCodes } from '../model/problem-codes.ts';
import { errorCodes } from './errors.ts';

const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'errors.md'), 'utf8');
const sections = text.split(/^### /m).slice(1);
const codeOf = (section: string): string => /^`(.+)`\n/.exec(section)?.[1] ?? '';

test('docs/errors.md has a section for every code, and for nothing else', () => {
  const codes = [...Object.keys(problemCodes), ...Object.keys(errorCodes)];
  expect(sections.map(codeOf).sort()).toEqual(codes.sort());
});

test('each section tells the condition of its problem, and what to do next', () => {
  for (const section of sections) {
    const code = codeOf(section);
    const mapping = problemCodes[code as keyof typeof problemCodes];
    if (mapping) expect(section, code).toContain(`\`${mapping.type}=${mapping.status}/${mapping.reason}\``);
    expect(section, code).toMatch(/^Next: .+/m);
  }
});
