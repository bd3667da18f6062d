import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addressToBigInt,
  bigIntToAddress,
  canonicalAddress,
  cidrContains,
  familyOf,
  isUsableEndpoint,
  parseCidr,
} from './address.ts';

test('canonical forms', () => {
  expect(canonicalAddress('10.0.0.1')).toBe('10.0.0.1');
  expect(canonicalAddress('FD00:0:0:0::0001')).toBe('fd00::1');
  expect(canonicalAddress('::ffff:10.0.0.1')).toBe('::ffff:a00:1');
  for (const wrong of [
    '',
    '10.0.0',
    '10.0.0.01',
    '010.0.0.1',
    '10.0.0.256',
    '10.0.0.1.',
    '0x0a.0.0.1',
    '1',
    'fe80::1%eth0',
    ':::',
    'a.example',
    '10.0.0.1/8',
    ' 10.0.0.1',
    '1:2:3:4:5:6:7:8:9',
  ]) {
    expect(canonicalAddress(wrong), wrong).toBeUndefined();
  }
});

test('a number and back, and canonical text is a fixed point', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const canonical = canonicalAddress(text);
      expect(canonical).toBeDefined();
      const number = addressToBigInt(text);
      expect(number && bigIntToAddress(number.family, number.value)).toBe(canonical);
      expect(canonicalAddress(canonical ?? '')).toBe(canonical);
      expect(familyOf(canonical ?? '')).toBe(number?.family);
    }),
  );
});

test('addresses that no other host can have', () => {
  for (const bad of [
    '0.0.0.0',
    '0.1.2.3',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.1.1',
    '224.0.0.1',
    '239.255.255.255',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'febf::1',
    'ff02::1',
    '::ffff:a00:1',
  ]) {
    expect(isUsableEndpoint(bad), bad).toBe(false);
  }
  for (const good of [
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '1.1.1.1',
    '100.64.0.1',
    '126.255.255.255',
    '128.0.0.1',
    '223.255.255.255',
    'fd00::1',
    '2001:db8::1',
    '2600::1',
  ]) {
    expect(isUsableEndpoint(good), good).toBe(true);
  }
});

test('CIDRs', () => {
  const range = parseCidr('10.96.1.2/16');
  expect(range).toEqual({ family: 'IPv4', first: 0x0a600000n, last: 0x0a60ffffn, prefix: 16 });
  const inside = (text: string) => {
    const address = addressToBigInt(text);
    return range && address && cidrContains(range, address);
  };
  expect(inside('10.96.255.255')).toBe(true);
  expect(inside('10.97.0.0')).toBe(false);
  expect(inside('::a60:1')).toBe(false);
  expect(parseCidr('fd00::/112')?.last).toBe((0xfd00n << 112n) | 0xffffn);
  for (const wrong of [
    '10.0.0.0',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '/8',
    '10.0.0.0/-1',
    'x/8',
  ]) {
    expect(parseCidr(wrong), wrong).toBeUndefined();
  }
});
