import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDocument, stringify } from 'yaml';
import { defaultLimits, parseYaml } from './yaml-documents.ts';

const messages = (source: string, limits = defaultLimits): string[] => {
  const { documents, fault } = parseYaml(source, limits);
  return [...documents.flatMap((d) => d.faults), ...(fault ? [fault] : [])].map(
    ({ place, message }) => `${place.line}:${place.column} ${message}`,
  );
};

describe('documents', () => {
  test('are plain data, empty ones left out', () => {
    const { documents, fault } = parseYaml(
      '---\na: 1\n---\n---\n# nothing\n---\n[x, true, null, "1"]\n...\n',
    );
    expect(fault).toBeUndefined();
    expect(documents.map((d) => d.value)).toEqual([{ a: 1 }, ['x', true, null, '1']]);
  });

  test('are JSON as well', () => {
    expect(parseYaml('{"a": [1, {"b": "c"}]}').documents[0]?.value).toEqual({ a: [1, { b: 'c' }] });
  });

  test('with inherited names as keys keep them as keys', () => {
    const value = parseYaml('{__proto__: {polluted: true}, constructor: 1, toString: 2}').documents[0]
      ?.value as object;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'toString']);
    expect('polluted' in {}).toBe(false);
  });

  test('of YAML 1.1 give no dates, bytes or big numbers', () => {
    const source = '%YAML 1.1\n---\na: 2026-01-01\nb: !!binary aGk=\nc: 1_000\n';
    expect(parseYaml(source).documents[0]?.value).toEqual({ a: '2026-01-01', b: 'aGk=', c: 1000 });
  });

  test('say the same as the library does, for whatever JSON can hold', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.boolean(), (value, flow) => {
        const source = stringify(value, {
          collectionStyle: flow ? 'flow' : 'any',
          aliasDuplicateObjects: false,
        });
        const [document] = parseYaml(source).documents;
        const expected = parseDocument(source).toJS();
        if (expected === null) expect(document).toBeUndefined();
        else expect(JSON.stringify(document?.value)).toBe(JSON.stringify(expected));
      }),
    );
  });
});

describe('places', () => {
  const source = `kind: List
items:
- metadata: {name: a}
  spec:
    rules:
    - backendRefs:
      - name: b
        port: http
  labels: {"a.b/c": d}
`;
  const { documents } = parseYaml(source);
  test.each([
    ['items[0].spec.rules[0].backendRefs[0].port', 8, 9],
    ['items[0].metadata.name', 3, 14],
    ['items[0].labels["a.b/c"]', 9, 12],
    ['items[0].spec.rules[0].backendRefs[3].port', 6, 7],
    ['items[0].spec.nothing.at.all', 4, 3],
    ['', 1, 1],
    ['items[', 2, 1],
  ])('of %s', (path, line, column) => {
    expect(documents[0]?.locate(path)).toEqual({ line, column });
  });

  test('behind an alias', () => {
    const [document] = parseYaml('a: &x\n  b: 1\nc: *x\n').documents;
    expect(document?.locate('c.b')).toEqual({ line: 2, column: 3 });
  });
});

describe('what is refused says where and why', () => {
  test.each([
    ['a: 1\nb: {c: 1,\n  c: 2}\n', '3:3 expected each key once, found "c" again'],
    ['a: &x [1]\n<<: *x\n', '2:1 expected plain keys, found a merge key "<<", which is not read'],
    ['a: *nobody\n', '1:4 expected an anchor &nobody that ends before this alias, found none'],
    ['a: &x [*x]\n', '1:8 expected an anchor &x that ends before this alias, found none'],
    ['? [a]\n: 1\n', '1:3 expected a word as the key of a map, found a list, a map or an alias'],
    ['a: "x\n', '2:1 not YAML: expected the closing " of a text, found the end of the file'],
    ['a:\n\t- b\n', '2:1 not YAML: expected spaces as indentation, found a tab'],
    [
      'a: b: c\n',
      '1:4 not YAML: expected one key on a line, or quotes around a text with ": " in it, found "b: c"',
    ],
    [
      'a:\n  b: 1\n   c: 2\n',
      '3:4 not YAML: expected the indentation of the lines of the same level, found "c: 2"',
    ],
    [
      'a:\n  b: 1\n c: 2\n',
      '3:1 not YAML: expected the indentation of the lines of the same level, found "c: 2"',
    ],
    [
      'a:\n  - x\n - y\n',
      '3:1 not YAML: expected the indentation of the lines of the same level, found "- y"',
    ],
    ['a: [1, 2\nb: 3\n', '2:1 not YAML: expected the closing } or ], found "b: 3"'],
    ['a: @x\n', '1:4 not YAML: expected quotes around a text that begins so, found "@x"'],
    ['a\nb: 1\n', '1:1 not YAML: expected a key and its ":" on one line, found "a"'],
    ['- a\nb: 1\n', '2:1 not YAML: expected the next key or item, or the end of the document, found "b: 1"'],
    ['a: "\\q"\n', '1:5 not YAML: expected an escape sequence of YAML after "\\"'],
  ])('%j', (source, expected) => {
    expect(messages(source).join('\n')).toContain(expected);
  });

  test('whatever the text, what is wrong is said in our words and once for a line', () => {
    const characters = [
      'a',
      ' ',
      '\n',
      ':',
      '-',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '#',
      '&',
      '*',
      '!',
      '|',
      '>',
      '%',
      '@',
      ',',
      '?',
      '\t',
      '\\',
    ];
    let seed = 1;
    const random = (n: number): number => {
      seed = (seed * 48_271) % 0x7fff_ffff;
      return seed % n;
    };
    for (let i = 0; i < 3_000; i++) {
      const source = Array.from({ length: 1 + random(24) }, () => characters[random(characters.length)]).join(
        '',
      );
      const all = parseYaml(source).documents.flatMap(({ faults }) => faults);
      for (const { message } of all)
        expect(message, JSON.stringify(source)).toMatch(/^(not YAML: )?expected .+, found .+$/);
    }
  });

  test('a broken document leaves its neighbours', () => {
    const { documents } = parseYaml('a: 1\n---\nb: [\n---\nc: 3\n');
    expect(documents.map((d) => (d.faults.length > 0 ? 'broken' : d.value))).toEqual([
      { a: 1 },
      'broken',
      { c: 3 },
    ]);
  });
});

describe('bounds', () => {
  test('of nesting', () => {
    for (const open of ['[', '{a: ', '- ', '? ', '{']) {
      expect(messages(`x: 1\n---\n${open.repeat(300_000)}`)).toContainEqual(
        expect.stringMatching(/expected at most 64 levels of nesting|not YAML/),
      );
    }
    const nested = (n: number) => `${'['.repeat(n)}${']'.repeat(n)}`;
    expect(messages(nested(64))).toEqual([]);
    expect(messages(nested(65))).toEqual(['1:66 expected at most 64 levels of nesting']);
  });

  test('of aliases: a bomb is refused, a few aliases are not', () => {
    const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 12; i += 1)
      bomb.push(
        `a${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    expect(messages(bomb.join('\n'))[0]).toMatch(
      /^4:45 expected aliases for at most 10000 values, found more$/,
    );
    expect(messages(bomb.slice(0, 3).join('\n'))).toEqual([]);
  });

  test('of size, documents, tokens and broken documents', () => {
    expect(messages('x'.repeat(101), { ...defaultLimits, length: 100 })).toEqual([
      '1:1 expected at most 100 characters in a file, found 101',
    ]);
    expect(messages('a\n---\n'.repeat(5), { ...defaultLimits, documents: 3 })[0]).toMatch(
      /expected at most 3 documents/,
    );
    expect(messages(`[${'a,'.repeat(100)}]`, { ...defaultLimits, tokens: 50 })[0]).toMatch(
      /at most 50 tokens/,
    );
    expect(messages('"\n---\n'.repeat(50)).at(-1)).toMatch(/more than 20 broken documents/);
  });

  test('what came before a bound is still there', () => {
    const { documents, fault } = parseYaml(`a: 1\n---\nb: ${'['.repeat(1000)}`);
    expect(documents.map((d) => d.value)).toEqual([{ a: 1 }]);
    expect(fault?.place.line).toBe(3);
  });
});

test('any text gives documents or faults, with places inside the text', () => {
  const token = fc.constantFrom(
    ...[
      'a',
      ': ',
      '- ',
      '\n',
      '  ',
      '[',
      ']',
      '{',
      '}',
      ',',
      '"',
      "'",
      '&a ',
      '*a',
      '? ',
      '|',
      '>',
      '---\n',
      '...\n',
      '#',
      '!t ',
      '%YAML 1.1\n',
      '\t',
      '\u0000',
      '\ufeff',
      '<<: ',
      '1',
      'é',
      '\u2028',
      '\r\n',
    ],
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.array(token, { maxLength: 60 }).map((t) => t.join('')),
      ),
      (source) => {
        const lines = source.split('\n').length;
        const { documents, fault } = parseYaml(source);
        for (const { place, message } of [...documents.flatMap((d) => d.faults), ...(fault ? [fault] : [])]) {
          expect(place.line).toBeGreaterThan(0);
          expect(place.line).toBeLessThanOrEqual(lines);
          expect(message).not.toBe('');
        }
        for (const document of documents) document.locate('a[0].b["c"]');
      },
    ),
    { numRuns: 500 },
  );
});
