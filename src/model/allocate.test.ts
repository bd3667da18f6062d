import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AllocateOptions, allocate } from './allocate.ts';

const gateway = (name: string) => ({ namespace: 'shop', name, uid: '' });

function give(options: Partial<AllocateOptions> & { name?: string; requested?: readonly string[] } = {}) {
  const { name = 'store', requested = [], ...rest } = options;
  return allocate({
    ranges: ['10.96.0.0/16'],
    holderOf: () => undefined,
    held: [],
    wanted: { gateway: gateway(name), families: ['IPv4'], requested },
    ...rest,
  });
}

test('the same name gets the same address, in the upper part of the range', () => {
  const { addresses } = give();
  expect(give().addresses).toEqual(addresses);
  const third = Number(addresses[0]?.split('.')[2]);
  expect(third).toBeGreaterThan(0);
});

test('an address in use is passed over', () => {
  const [first] = give().addresses;
  const [second] = give({
    holderOf: (address) => (address === first ? 'Gateway shop/a' : undefined),
  }).addresses;
  expect(second).not.toBe(first);
});

test('what is held stays, also when it is not what a new search would find', () => {
  expect(give({ held: ['10.96.9.9'] }).addresses).toEqual(['10.96.9.9']);
});

test('what is held and in no range any more is given up', () => {
  expect(give({ held: ['10.97.9.9'] }).addresses[0]).toMatch(/^10\.96\./);
});

test('a requested address replaces a held one', () => {
  expect(give({ held: ['10.96.9.9'], requested: ['10.96.0.5'] }).addresses).toEqual(['10.96.0.5']);
});

test('a requested address that is taken or outside is refused, and says so', () => {
  expect(give({ requested: ['10.96.0.5'], holderOf: () => 'Service shop/web' }).failure).toEqual({
    reason: 'NotUsable',
    message: 'expected a free address, found 10.96.0.5 taken by Service shop/web',
  });
  for (const outside of ['10.97.0.5', '10.96.0.0', '10.96.0.1', '10.96.255.255']) {
    expect(give({ requested: [outside] })).toEqual({
      addresses: [],
      failure: { reason: 'NotUsable', message: `expected an address within 10.96.0.0/16, found ${outside}` },
    });
  }
});

test('each family on its own: one may fail, the other is given', () => {
  const both = { gateway: gateway('store'), families: ['IPv4', 'IPv6'] as const, requested: [] };
  const given = allocate({
    ranges: ['10.96.0.0/16', 'fd00:96::/112'],
    holderOf: () => undefined,
    held: [],
    wanted: both,
  });
  expect(given.addresses).toHaveLength(2);
  expect(given.addresses[1]).toMatch(/^fd00:96::/);
  const without = allocate({ ranges: ['10.96.0.0/16'], holderOf: () => undefined, held: [], wanted: both });
  expect(without.addresses).toHaveLength(1);
  expect(without.failure?.message).toBe('no IPv6 address is free (ranges: none)');
});

test('a whole range is given out, each address once, then it is exhausted', () => {
  fc.assert(
    fc.property(fc.integer({ min: 24, max: 29 }), (prefix) => {
      const taken = new Set<string>();
      const size = 2 ** (32 - prefix) - 3;
      for (let i = 0; i < size; i++) {
        const { addresses } = give({
          name: `g${i}`,
          ranges: [`10.96.0.0/${prefix}`],
          holderOf: (address) => (taken.has(address) ? 'somebody' : undefined),
        });
        expect(addresses).toHaveLength(1);
        expect(taken.has(addresses[0] as string)).toBe(false);
        taken.add(addresses[0] as string);
      }
      const { failure } = give({
        ranges: [`10.96.0.0/${prefix}`],
        holderOf: (address) => (taken.has(address) ? 'somebody' : undefined),
      });
      expect(failure?.reason).toBe('NotAssigned');
      for (const reserved of ['10.96.0.0', '10.96.0.1']) expect(taken.has(reserved)).toBe(false);
    }),
    { numRuns: 6 },
  );
});

test('a second range is used when the first is full', () => {
  const { addresses } = give({
    ranges: ['10.96.0.0/29', '10.97.0.0/24'],
    holderOf: (address) => (address.startsWith('10.96.') ? 'somebody' : undefined),
  });
  expect(addresses[0]).toMatch(/^10\.97\.0\./);
});
