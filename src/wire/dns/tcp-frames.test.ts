import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TcpFrames, tcpFrame } from './tcp-frames.ts';

const messages = fc.array(
  fc.uint8Array({ maxLength: 300 }).map((b) => Buffer.from(b)),
  { maxLength: 6 },
);

test('messages come out whole and in order, however the stream is cut', () => {
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (sent, cuts) => {
      const stream = Buffer.concat(sent.map(tcpFrame));
      const frames = new TcpFrames();
      const received: Buffer[] = [];
      for (let i = 0, at = 0; at < stream.length; i += 1) {
        const size = cuts[i % cuts.length] as number;
        frames.push(stream.subarray(at, at + size));
        at += size;
        for (let m = frames.next(); Buffer.isBuffer(m); m = frames.next()) received.push(Buffer.from(m));
      }
      expect(received).toEqual(sent);
      expect(frames.pendingBytes).toBe(0);
    }),
  );
});

test('a message over the limit ends the stream before its octets are waited for', () => {
  const frames = new TcpFrames(100);
  frames.push(Buffer.of(0));
  expect(frames.next()).toBeUndefined();
  frames.push(Buffer.of(101));
  expect(frames.next()).toBe('too-long');
});
