import { expect, test } from 'vitest';
import type { Touched } from '../../model/compiled.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { Propagation } from './propagation.ts';

const none: ReadonlySet<string> = new Set();
const touched = (keys: Partial<Touched> = {}): Touched => ({
  frontends: none,
  backends: none,
  nodes: none,
  statuses: none,
  claims: none,
  exports: none,
  imports: none,
  probes: none,
  ...keys,
});
const store = { backends: new Set(['composite/shop/store/tcp-80']) };
const marked = (mark: number, cluster = 'west') => new Map([[`shop/store/tcp-80/${cluster}`, mark]]);

function setUp() {
  const clock = new ManualClock(1_000_000);
  const metrics = new Metrics();
  const propagation = new Propagation({ cluster: 'east', clock, metrics });
  propagation.compiled(undefined, 10);
  const read = async () => {
    const values = (await metrics.registry.getMetricsAsJSON()).flatMap(({ name, values }) =>
      values.map(({ value, labels, ...rest }) => {
        const { cluster, scope, le } = labels as Record<string, string | number | undefined>;
        const of = 'metricName' in rest && typeof rest.metricName === 'string' ? rest.metricName : name;
        return { key: [of.replace('causeway_propagation_', ''), cluster, scope].join(' ').trim(), le, value };
      }),
    );
    return Object.fromEntries(values.filter(({ le }) => le === undefined).map((v) => [v.key, v.value]));
  };
  return { clock, propagation, read };
}

test('each node that acknowledges a batch is one observation of its oldest change, by the cluster it is of', async () => {
  const { clock, propagation, read } = setUp();
  propagation.saw();
  clock.advance(100);
  propagation.saw();
  propagation.told(marked(clock.now() - 1_900));
  expect(propagation.seen).toBe(1_000_000);
  propagation.compiled(touched(store), 13);
  clock.advance(400);
  propagation.acknowledged(10, 12);
  expect(await read()).toEqual({});
  propagation.acknowledged(12, 13);
  expect(await read()).toEqual({
    'seconds_sum east local': 0.5,
    'seconds_count east local': 1,
    'seconds_sum west remote': 2.3,
    'seconds_count west remote': 1,
  });
  // Another node, later; and one whose stream began after the batch.
  clock.advance(1_000);
  propagation.acknowledged(10, 20);
  propagation.acknowledged(13, 20);
  expect(await read()).toMatchObject({ 'seconds_count west remote': 2, 'seconds_sum east local': 2 });
});

test('what no node has to do anything about is not counted', async () => {
  const { propagation, read } = setUp();
  // A status; a contribution to a composite that nobody refers to; nothing new in the log.
  propagation.saw();
  propagation.compiled(touched({ statuses: new Set(['Gateway/shop/store']) }), 11);
  propagation.told(marked(999_000));
  propagation.compiled(touched({ backends: new Set(['composite/shop/cart/tcp-80']) }), 12);
  propagation.told(marked(999_000));
  propagation.compiled(touched(store), 12);
  propagation.acknowledged(0, 100);
  expect(await read()).toEqual({});
});

test('a clock that is ahead counts as 0 and is counted; one that is far behind is an hour at most', async () => {
  const { propagation, read } = setUp();
  propagation.told(marked(1_000_500));
  propagation.compiled(touched(store), 11);
  propagation.told(marked(-9_000_000, 'north'));
  propagation.compiled(touched(store), 12);
  propagation.acknowledged(10, 12);
  expect(await read()).toEqual({
    'skewed_total west': 1,
    'seconds_sum west remote': 0,
    'seconds_count west remote': 1,
    'seconds_sum north remote': 3_600,
    'seconds_count north remote': 1,
  });
});

test('names of clusters and batches that are waited for are bounded', async () => {
  const { propagation, read } = setUp();
  for (let i = 0; i < 1_100; i++) {
    propagation.told(marked(999_000, `c${i}`));
    propagation.compiled(touched(store), 11 + i);
    propagation.acknowledged(10 + i, 11 + i);
  }
  const series = Object.keys(await read()).filter((key) => key.startsWith('seconds_count'));
  expect(series).toHaveLength(1_001);
  expect(await read()).toMatchObject({ 'seconds_count other remote': 100 });
  // A node that acknowledges all at once after a long time: the batches that are still waited for.
  const before = Object.values(await read()).length;
  propagation.acknowledged(0, 2_000);
  expect(Object.values(await read()).length).toBe(before);
});
