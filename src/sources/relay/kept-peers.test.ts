import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatKeptPeers, type KeptPeers, parseKeptPeers } from './kept-peers.ts';

const own = { set: 'demo', cluster: 'east' };
const body = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const port = fc.nat(65_535).map((p) => `shop/store/tcp-${p}`);
const named = <T>(value: fc.Arbitrary<T>) =>
  fc.dictionary(fc.string(), value).map((o) => new Map(Object.entries(o)));
const needed = ['set', 'cluster', 'ports', 'unanswered', 'staleSince', 'links'] as const;
const model = {
  set: fc.constant('demo'),
  cluster: fc.constant('east'),
  ports: fc.array(port, { maxLength: 3 }),
  unanswered: fc.array(port, { maxLength: 3 }),
  staleSince: named(fc.nat()),
  links: named(
    fc.record({
      resources: fc.array(fc.record({ name: fc.string(), version: fc.string(), body }), { maxLength: 5 }),
      origins: fc.array(fc.record({ cluster: fc.string(), body, isGone: fc.boolean() }), { maxLength: 3 }),
    }),
  ),
  failing: named(fc.array(fc.string(), { maxLength: 3 })),
};
const arbitraryKept: fc.Arbitrary<KeptPeers> = fc.record(model, { requiredKeys: [...needed] });

test('what is kept is read back', () => {
  fc.assert(
    fc.property(arbitraryKept, (kept) => {
      expect(parseKeptPeers(formatKeptPeers(kept), own)).toEqual(kept);
    }),
  );
});

test('a file that was cut, changed or written for somebody else is not used, and it says why', () => {
  fc.assert(
    fc.property(arbitraryKept, fc.nat(), fc.integer({ min: 1, max: 255 }), (kept, where, by) => {
      const text = Buffer.from(formatKeptPeers(kept));
      const at = where % text.length;
      expect(parseKeptPeers(text.subarray(0, at).toString(), own)).toBeTypeOf('string');
      text[at] = (text[at] as number) ^ by;
      expect(parseKeptPeers(text.toString(), own)).toBeTypeOf('string');
    }),
  );
  const [kept] = fc.sample(arbitraryKept, { numRuns: 1, seed: 3 }) as [KeptPeers];
  expect(parseKeptPeers(formatKeptPeers({ ...kept, cluster: 'west' }), own)).toBe(
    'expected cluster east, found "west"',
  );
  expect(parseKeptPeers(formatKeptPeers({ ...kept, ports: ['x'] }), own)).toBe(
    'expected the key of a port, found "x"',
  );
  const failing = new Map([['shop/store/tcp-80/west', 7]]) as unknown as Map<string, string[]>;
  expect(parseKeptPeers(formatKeptPeers({ ...kept, failing }), own)).toBe('expected a list, found 7');
});

test('whatever is in it with a right checksum, reading never throws', () => {
  const parsed = fc.property(fc.json(), (json) => {
    const text = JSON.parse(formatKeptPeersOf(json)) as string;
    expect(parseKeptPeers(text, own)).toBeTypeOf('string');
  });
  fc.assert(parsed);
});

/** The text of a file whose JSON is something else, as JSON. */
function formatKeptPeersOf(json: string): string {
  const odd = { set: 'demo', cluster: 'east', ports: JSON.parse(json) as readonly string[] };
  const text = formatKeptPeers({ ...odd, unanswered: [], staleSince: new Map(), links: new Map() });
  return JSON.stringify(Array.isArray(odd.ports) && odd.ports.length === 0 ? 'empty' : text);
}
