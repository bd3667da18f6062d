import { expect, test } from 'vitest';
import { type Figure, toRow } from './figure.ts';
import { once, spreadOf } from './spread.ts';
import { renderFigures, renderMarkdown, renderTable, significant } from './table.ts';

const figure = (over: Partial<Figure> = {}): Figure => ({
  name: 'thing',
  what: 'a thing',
  unit: 'ms',
  target: { none: 'none yet' },
  ...over,
});

test('a row has ours, peer, ratio, target and whether it is met', () => {
  const row = toRow('bench', figure({ peer: 'theirs', target: { ratioAtMost: 0.25 } }), {
    thing: { ours: spreadOf([3, 1, 2]), peer: once(10) },
  });
  expect(row).toMatchObject({ ratio: 0.2, met: true });
  const [headings, , line] = renderTable([row]).split('\n');
  expect(headings).toMatch(/^figure +ours +peer or baseline +ratio +target +met$/);
  expect(line).toMatch(/^a thing +2 ms \(1 to 3, n 3\) +10 ms, theirs +0\.2× +≤ 0\.25× +yes$/);
});

test('columns are aligned, whatever is in them', () => {
  const rows = [
    toRow('bench', figure({ what: 'µ → ×' }), { thing: { ours: once(1) } }),
    toRow('bench', figure({ what: 'a longer one' }), { thing: { ours: once(123456) } }),
  ];
  const at = renderTable(rows)
    .split('\n')
    .filter(Boolean)
    .map((line) => [...line].slice(0, 14).join(''));
  expect(at).toEqual(['figure        ', '────────────  ', 'µ → ×         ', 'a longer one  ']);
});

test('targets: an absolute limit, a ratio, a distance, and none', () => {
  const met = (target: Figure['target'], ours: number, peer?: number) =>
    toRow('bench', figure({ target }), {
      thing: { ours: once(ours), ...(peer === undefined ? {} : { peer: once(peer) }) },
    }).met;
  expect([met({ atMost: 2 }, 2), met({ atMost: 2 }, 2.1)]).toEqual([true, false]);
  expect([met({ ratioAtMost: 0.5 }, 1, 2), met({ ratioAtMost: 0.5 }, 1.1, 2)]).toEqual([true, false]);
  expect([met({ overPeerAtMost: 4 }, 34, 30), met({ overPeerAtMost: 4 }, 35, 30)]).toEqual([true, false]);
  // Without its peer nothing is met and nothing missed.
  expect([met({ ratioAtMost: 0.5 }, 1), met({ none: 'x' }, 1)]).toEqual([undefined, undefined]);
});

test('what was not run says why and misses nothing', () => {
  const row = toRow('bench', figure({ target: { atMost: 1 } }), { thing: { notRun: 'no Go' } });
  expect(row.met).toBeUndefined();
  expect(renderTable([row])).toContain('not run: no Go');
  expect(toRow('bench', figure(), {}).result).toEqual({ notRun: 'the bench gave no such figure' });
});

test('as Markdown a row of a run has the name of its figure', () => {
  const text = renderMarkdown([toRow('bench', figure(), { thing: { ours: once(1.2345) } })]);
  expect(text.split('\n')[2]).toBe('| `thing` | 1.23 ms |  |  | none: none yet |  |');
  const there = renderFigures([figure({ peer: 'theirs', target: { ratioAtMost: 0.5 } })]);
  expect(there.split('\n')[2]).toBe('| `thing` | a thing | theirs | ≤ 0.5× |');
});

test('numbers have three significant digits, whole numbers all of theirs', () => {
  expect([0.012345, 1.5, 99.94, 1000, 12345.6, 1 / 3, 0].map(significant)).toEqual([
    '0.0123',
    '1.5',
    '99.9',
    '1,000',
    '12,346',
    '0.333',
    '0',
  ]);
});
