import { expect, test } from 'vitest';
import { Screen } from './screen.ts';

function screen(options: { isTTY?: boolean; rows?: number; columns?: number }, env: NodeJS.ProcessEnv = {}) {
  const written: string[] = [];
  const out = { ...options, write: (text: string) => written.push(text) };
  return { screen: new Screen(out, env), text: () => written.join('') };
}

test('a pipe gets plain lines in order and nothing that is redrawn', () => {
  const { screen: s, text } = screen({});
  s.print(s.paint.good('one'));
  s.draw(['live']);
  s.print('two');
  s.close();
  expect(text()).toBe('one\ntwo\n');
});

test('a terminal gets colours, and live lines are replaced', () => {
  const { screen: s, text } = screen({ isTTY: true });
  s.draw(['a', 'b']);
  s.draw(['c']);
  s.print(s.paint.good('done'));
  s.close();
  expect(text()).toBe('\x1b[?25la\nb\n\x1b[2A\x1b[Jc\n\x1b[1A\x1b[J\x1b[32mdone\x1b[39m\n\x1b[?25h');
});

test('NO_COLOR takes the colours, TERM=dumb also the redrawing', () => {
  const plain = screen({ isTTY: true }, { NO_COLOR: '1' });
  expect(plain.screen.paint.bad('x')).toBe('x');
  expect(plain.screen.live).toBe(true);
  expect(screen({ isTTY: true }, { TERM: 'dumb' }).screen.live).toBe(false);
});

test('a live line never takes two rows', () => {
  const { screen: s, text } = screen({ isTTY: true, columns: 7 });
  s.draw([s.paint.good('0123456789')]);
  expect(text()).toContain('012…789\n');
});

test('live lines never exceed the rows of the terminal', () => {
  const { screen: s, text } = screen({ isTTY: true, rows: 3 });
  s.draw(['1', '2', '3', '4', '5']);
  expect(text()).toBe('\x1b[?25l1\n2\n');
});

test('a terminal that does not know its size shows live lines all the same', () => {
  const { screen: s, text } = screen({ isTTY: true, rows: 0, columns: 0 });
  s.draw(['one', 'two']);
  expect(text()).toBe('\x1b[?25lone\ntwo\n');
  expect(s.width).toBe(100);
});
