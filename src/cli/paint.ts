import { styleText } from 'node:util';

/** Marks up text for a terminal, or leaves it as it is. */
export interface Paint {
  readonly dim: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly note: (text: string) => string;
  readonly good: (text: string) => string;
  /** Columns; Infinity: not a terminal. */
  readonly width: number;
}

const same = (text: string): string => text;

export const plainPaint: Paint = { dim: same, bad: same, note: same, good: same, width: Infinity };

interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Colour only on a terminal that can show it, and where `NO_COLOR` and `TERM=dumb` do not forbid it. */
export function paintFor(stream: Terminal, env: Readonly<Record<string, string | undefined>>): Paint {
  if (!stream.isTTY) return plainPaint;
  const width = stream.columns ?? Infinity;
  if ((env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb') return { ...plainPaint, width };
  const style =
    (format: 'dim' | 'red' | 'yellow' | 'green') =>
    (text: string): string =>
      styleText(format, text, { validateStream: false });
  return { dim: style('dim'), bad: style('red'), note: style('yellow'), good: style('green'), width };
}

/** Cut in the middle where it is wider than `width`. */
export function fitLine(line: string, width: number): string {
  const letters = [...line];
  if (letters.length <= width) return line;
  const left = Math.ceil((width - 1) / 2);
  const right = Math.max(0, Math.floor(width - 1 - left));
  return `${letters.slice(0, left).join('')}…${letters.slice(letters.length - right).join('')}`;
}
