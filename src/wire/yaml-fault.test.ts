import { expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { firstYamlFault } from './yaml-fault.ts';

const faultOf = (source: string, pretty: boolean) =>
  firstYamlFault(parseDocument(source, { prettyErrors: pretty }).errors, source);

test.each([
  ['a: 1\na: 2\n', 'line 2 is not YAML: expected each key once, found "a: 2"'],
  ['a: 1\n---\nb: 2\n', 'line 2 is not YAML: expected one document, found "---"'],
  [
    'members:\n  - cluster: a\n - cluster: b\n',
    'line 3 is not YAML: expected the indentation of the lines of the same level, found "- cluster: b"',
  ],
  ['members: [{cluster: a]\n', 'line 1 is not YAML: expected the closing } or ], found "]"'],
  ['a: 1\n', undefined],
])('%j', (source, expected) => {
  for (const pretty of [true, false]) expect(faultOf(source, pretty)).toBe(expected);
});
