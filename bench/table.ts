import type { Figure, Row, Target, Unit } from './figure.ts';
import type { Spread } from './spread.ts';

const headings = ['figure', 'ours', 'peer or baseline', 'ratio', 'target', 'met'] as const;

/** The rows for a terminal, in columns. */
export function renderTable(rows: readonly Row[]): string {
  const lines = [headings, ...rows.map(cells)];
  const widths = headings.map((_, i) => Math.max(...lines.map((line) => [...(line[i] ?? '')].length)));
  const pad = (line: readonly string[]): string =>
    line.map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - [...cell].length)).join('  ');
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  return [pad(lines[0] as readonly string[]), rule, ...lines.slice(1).map(pad)]
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;

/** What there is to measure, for docs/benchmarks.md. */
export function renderFigures(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, what, unit, peer, target }) =>
    line([`\`${name}\``, what, peer ?? '', targetText(target, unit)]),
  );
  return (
    line(['name', 'figure', 'against, in the same run', 'target']) +
    line(['---', '---', '---', '---']) +
    rows.join('')
  );
}

/** The rows of a run, for docs/benchmarks.md. */
export function renderMarkdown(rows: readonly Row[]): string {
  const named = rows.map((row) => line([`\`${row.name}\``, ...cells(row).slice(1)]));
  return line(headings) + line(headings.map(() => '---')) + named.join('');
}

function cells(row: Row): string[] {
  const target = targetText(row.target, row.unit);
  if ('notRun' in row.result)
    return [row.what, `not run: ${row.result.notRun}`, row.peer ?? '', '', target, ''];
  const { ours, peer } = row.result;
  const compared = peer ? `${spreadText(peer, row.unit)}, ${row.peer ?? ''}` : (row.peer ?? '');
  const ratio = row.ratio === undefined ? '' : `${significant(row.ratio)}×`;
  const met = row.met === undefined ? '' : row.met ? 'yes' : 'NO';
  return [row.what, spreadText(ours, row.unit), compared, ratio, target, met];
}

/** `12.3 ms (10.1 to 20.5, n 40)`; what was taken once has no range. */
function spreadText({ value, min, max, count }: Spread, unit: Unit): string {
  const text = `${significant(value)} ${unit}`;
  return count === 1 ? text : `${text} (${significant(min)} to ${significant(max)}, n ${count})`;
}

export function targetText(target: Target, unit: Unit): string {
  if ('none' in target) return `none: ${target.none}`;
  const limit =
    'atMost' in target
      ? `≤ ${significant(target.atMost)} ${unit}`
      : 'ratioAtMost' in target
        ? `≤ ${significant(target.ratioAtMost)}×`
        : `≤ +${significant(target.overPeerAtMost)} ${unit}`;
  return target.because === undefined ? limit : `${limit} (${target.because})`;
}

/** Three significant digits, and whole numbers as they are. */
export function significant(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}
