import { expect, test } from 'vitest';
import { ownBytes } from './own-bytes.ts';
import { resourceFragment } from './proto/discovery.ts';

test('bytes that stay hold no memory beside their own', () => {
  const message = Buffer.alloc(1_000_000, 7);
  const own = ownBytes(message.subarray(10, 20));
  expect(own.equals(Buffer.alloc(10, 7))).toBe(true);
  expect(own.buffer.byteLength).toBe(10);
});

test('a resource in a log holds no memory beside its own', () => {
  const body = Buffer.alloc(300, 1);
  const fragment = resourceFragment({ name: 'a', version: 'v', typeUrl: 'type.googleapis.com/x', body });
  expect(fragment.buffer.byteLength).toBe(fragment.length);
});
