import { stripVTControlCharacters, styleText } from 'node:util';
import { cutMiddle, noPaint, type Paint } from './scene-lines.ts';

export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

const terminalPaint: Paint = {
  good: (text) => styleText('green', text, { validateStream: false }),
  bad: (text) => styleText('red', text, { validateStream: false }),
  dim: (text) => styleText('dim', text, { validateStream: false }),
  strong: (text) => styleText('bold', text, { validateStream: false }),
};

/**
 * Lines in order; on a terminal, lines at the bottom that are drawn again and again. Elsewhere (a pipe,
 * TERM=dumb) nothing is ever redrawn, and without NO_COLOR only a terminal gets colours.
 */
export class Screen {
  readonly live: boolean;
  readonly paint: Paint;
  readonly #out: Terminal;
  #drawn = 0;

  constructor(out: Terminal, env: NodeJS.ProcessEnv) {
    this.#out = out;
    this.live = out.isTTY === true && env.TERM !== 'dumb';
    this.paint = this.live && !env.NO_COLOR ? terminalPaint : noPaint;
    if (this.live) out.write('\x1b[?25l');
  }

  get width(): number {
    return this.live ? Math.max(60, this.#columns) : 100;
  }

  /** A terminal may not know its size (0 × 0): then it is taken to have a usual one. */
  get #columns(): number {
    return this.#out.columns || 100;
  }

  /** Lines that stay. */
  print(...lines: readonly string[]): void {
    this.#erase();
    this.#out.write(lines.map((line) => `${line}\n`).join(''));
  }

  /** Lines that the next call of `draw` or `print` replaces; nothing where nothing can be redrawn. */
  draw(lines: readonly string[]): void {
    if (!this.live) return;
    const rows = lines.slice(0, Math.max(1, (this.#out.rows || 40) - 1)).map((line) => this.#oneRow(line));
    this.#erase();
    this.#out.write(rows.map((line) => `${line}\n`).join(''));
    this.#drawn = rows.length;
  }

  /** Gives the terminal back. */
  close(): void {
    if (this.live) this.#out.write('\x1b[?25h');
  }

  /** A line that would wrap could not be erased: it is cut, without its colours. */
  #oneRow(line: string): string {
    const columns = this.#columns;
    const visible = stripVTControlCharacters(line);
    return visible.length <= columns ? line : cutMiddle(visible, columns);
  }

  #erase(): void {
    if (this.#drawn > 0) this.#out.write(`\x1b[${this.#drawn}A\x1b[J`);
    this.#drawn = 0;
  }
}
