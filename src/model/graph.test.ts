import { expect, test } from 'vitest';
import { Cell, Graph, type Unit } from './graph.ts';

/** A graph over one table of numbers. */
function world(values: Record<string, number>) {
  const cells = new Map(Object.keys(values).map((key) => [key, new Cell()]));
  const reported: string[] = [];
  const faults: string[] = [];
  let now = 0;
  const graph: Graph = new Graph((g) => ({
    value(key: string) {
      g.record(cells.get(key) as Cell);
      return values[key] as number;
    },
    unit: <V>(unit: Unit<Reader, V>, key: string) => g.read(unit, key),
    reached(at: number) {
      if (now >= at) return true;
      g.wait(at);
      return false;
    },
  }));
  const settle = () => {
    reported.length = 0;
    faults.length = 0;
    graph.settle(
      (unit, key, value) => reported.push(`${unit.name} ${key} ${String(value)}`),
      (unit, key, error) => faults.push(`${unit.name} ${key} ${(error as Error).message}`),
    );
    return [...reported];
  };
  return {
    graph,
    faults,
    settle,
    set(key: string, value: number) {
      values[key] = value;
      graph.invalidate(cells.get(key) as Cell);
    },
    passTo(time: number) {
      now = time;
      graph.timePasses(now);
    },
    runs: (unit: string) => graph.runs.get(unit) ?? 0,
  };
}

interface Reader {
  value(key: string): number;
  unit<V>(unit: Unit<Reader, V>, key: string): V;
  reached(at: number): boolean;
}

const sign: Unit<Reader, number> = { name: 'sign', compute: (r, key) => Math.sign(r.value(key)) };
const text: Unit<Reader, string> = {
  name: 'text',
  compute: (r, key) => (r.unit(sign, key) > 0 ? 'plus' : 'minus'),
};

test('a value that comes out equal stops the wave', () => {
  const w = world({ a: 1 });
  w.graph.setRoot(text, 'a', true);
  expect(w.settle()).toEqual(['text a plus']);
  w.set('a', 2);
  expect(w.settle()).toEqual([]);
  expect([w.runs('sign'), w.runs('text')]).toEqual([2, 1]);
  w.set('a', -2);
  expect(w.settle()).toEqual(['text a minus']);
});

test('only what was read in the last run is waited for', () => {
  const either: Unit<Reader, number> = {
    name: 'either',
    compute: (r) => (r.value('which') === 0 ? r.value('a') : r.value('b')),
  };
  const w = world({ which: 0, a: 1, b: 2 });
  w.graph.setRoot(either, '', true);
  w.settle();
  w.set('b', 3);
  expect(w.settle()).toEqual([]);
  expect(w.runs('either')).toBe(1);
  w.set('which', 1);
  expect(w.settle()).toEqual(['either  3']);
  w.set('a', 9);
  expect(w.settle()).toEqual([]);
  expect(w.runs('either')).toBe(2);
});

test('a shared unit runs once for all that read it, and each root sees one consistent state', () => {
  const sum: Unit<Reader, number> = { name: 'sum', compute: (r) => r.value('a') + r.value('b') };
  const both: Unit<Reader, string> = {
    name: 'both',
    compute: (r, key) => `${key}:${r.unit(sum, '')}=${r.value('a')}+${r.value('b')}`,
  };
  const w = world({ a: 1, b: 1 });
  for (const key of ['x', 'y']) w.graph.setRoot(both, key, true);
  w.settle();
  w.set('a', 2);
  w.set('b', 3);
  expect(w.settle()).toEqual(['both x x:5=2+3', 'both y y:5=2+3']);
  expect(w.runs('sum')).toBe(2);
});

test('units that nobody reads are forgotten, roots are not', () => {
  const w = world({ a: 1 });
  w.graph.setRoot(text, 'a', true);
  w.settle();
  expect(w.graph.size).toBe(2);
  w.graph.setRoot(text, 'a', false);
  w.settle();
  expect(w.graph.size).toBe(0);
  w.graph.setRoot(text, 'a', true);
  expect(w.settle()).toEqual(['text a plus']);
});

test('a time that has not come runs the unit again when it has, and once', () => {
  const late: Unit<Reader, boolean> = { name: 'late', compute: (r, key) => r.reached(Number(key)) };
  const w = world({});
  w.graph.setRoot(late, '100', true);
  w.graph.setRoot(late, '50', true);
  w.settle();
  expect(w.graph.nextDeadline).toBe(50);
  w.passTo(60);
  expect(w.settle()).toEqual(['late 50 true']);
  expect(w.graph.nextDeadline).toBe(100);
  w.passTo(100);
  expect(w.settle()).toEqual(['late 100 true']);
  expect(w.graph.nextDeadline).toBeUndefined();
});

test('a unit that throws keeps its last value, stops nobody, and is tried again', () => {
  const picky: Unit<Reader, number> = {
    name: 'picky',
    compute: (r, key) => {
      if (r.value(key) < 0) throw new Error('negative');
      return r.value(key);
    },
  };
  const w = world({ a: 1, b: 1 });
  for (const key of ['a', 'b']) w.graph.setRoot(picky, key, true);
  w.settle();
  w.set('a', -1);
  w.set('b', 2);
  expect(w.settle()).toEqual(['picky b 2']);
  expect(w.faults).toEqual(['picky a negative']);
  w.set('a', 1);
  // The value is the last good one: it is reported all the same, so that the fault can be taken back.
  expect(w.settle()).toEqual(['picky a 1']);
  expect(w.faults).toEqual([]);
});

test('a unit that reads itself is a fault, not an endless loop', () => {
  const loop: Unit<Reader, number> = { name: 'loop', compute: (r, key) => r.unit(loop, key) };
  const w = world({});
  w.graph.setRoot(loop, 'x', true);
  w.settle();
  expect(w.faults).toEqual(['loop x unit loop x reads itself']);
});
