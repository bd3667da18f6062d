import { expect, test } from 'vitest';
import type { Change, Programming } from '../../model/inputs.ts';
import { AckTracker } from '../../outputs/xds/acks.ts';
import { ManualClock } from '../../runtime/clock.ts';
import { ProgrammingFeed } from './programming-feed.ts';

const use = (generation: number) => ({ generation, listeners: new Map([['l', '1']]), backends: [] });

/** A feed over real acknowledgements, and what the model knows through it: `<gateway> <generation> <programmed>`. */
function feed() {
  const clock = new ManualClock(0);
  const records = new Map<string, Programming>();
  const all: string[] = [];
  const show = (key: string, value: Programming | undefined): string =>
    value ? `${key} ${value.generation} ${value.programmed}` : `${key} gone`;
  const push = (changes: readonly Change[]): void => {
    for (const { key, value } of changes) {
      all.push(show(key, value as Programming | undefined));
      if (value) records.set(key, value as Programming);
      else records.delete(key);
    }
  };
  const acks: AckTracker = new AckTracker({ head: () => 1, onChange: () => made.look() });
  const made = new ProgrammingFeed(acks, clock, push);
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) {
      await Promise.resolve();
      clock.advance(20);
    }
  };
  return { feed: made, acks, all, settle, known: () => [...records].map(([key, value]) => show(key, value)) };
}

test('design Programmed: what was programmed before a restart is known before anything is compiled', async () => {
  const { feed: restarted, acks, known, all, settle } = feed();
  // Nodes are read, and agents may ask, before the first compilation.
  acks.setReadyNodes(new Set(['e1']));
  restarted.restore(
    new Map([
      ['shop/web', 3],
      ['shop/gone', 1],
      ['shop/other', 1],
    ]),
  );
  expect(known()).toEqual(['shop/web 3 true', 'shop/gone 1 true', 'shop/other 1 true']);
  acks.setReadyNodes(new Set(['e1', 'e2']));
  await settle();
  expect(known()).toEqual(['shop/web 3 true', 'shop/gone 1 true', 'shop/other 1 true']);
  acks.rendered('shop/web', use(3));
  acks.rendered('shop/other', use(2));
  restarted.compiled();
  await settle();
  expect(known()).toEqual(['shop/web 3 true', 'shop/other 2 false']);
  expect(all.filter((text) => text.startsWith('shop/web'))).toEqual(['shop/web 3 true']);
});

test('a generation that no agent holds yet is told as such', async () => {
  const { feed: fresh, acks, known, settle } = feed();
  fresh.restore(new Map());
  acks.rendered('shop/web', use(1));
  fresh.compiled();
  await settle();
  expect(known()).toEqual(['shop/web 1 false']);
  acks.rendered('shop/web', undefined);
  await settle();
  expect(known()).toEqual([]);
});
