import { expect, test } from 'vitest';
import { formatHostPort, parseHostPort, requireHostPort } from './host-port.ts';

test('host:port, :port and [IPv6]:port are read, and written as they were', () => {
  const texts = ['10.0.0.1:80', 'localhost:65535', 'a_b.Example-1:1', ':0', '[::1]:53', '[fd00::1.2.3.4]:1'];
  expect(texts.map(parseHostPort)).toEqual([
    { host: '10.0.0.1', port: 80 },
    { host: 'localhost', port: 65535 },
    { host: 'a_b.Example-1', port: 1 },
    { host: '', port: 0 },
    { host: '::1', port: 53 },
    { host: 'fd00::1.2.3.4', port: 1 },
  ]);
  for (const text of texts) {
    expect(formatHostPort(parseHostPort(text) as { host: string; port: number })).toBe(text);
  }
});

test('anything else is nothing, and names its flag where it is required', () => {
  for (const text of [
    '',
    'x',
    '80',
    '1.2.3:80',
    '300.1.1.1:80',
    '::1:80',
    '[x]:1',
    '[1.2.3.4]:1',
    'a b:1',
    'a:b',
  ]) {
    expect(parseHostPort(text), text).toBeUndefined();
  }
  for (const text of ['a:65536', 'a:-1', 'a:1.5', 'http://a:1', ' a:1']) {
    expect(() => requireHostPort('--admin', text), text).toThrow(
      '--admin: expected host:port or [IPv6]:port',
    );
  }
});
