import type { SceneRecord, Traffic } from './scene-record.ts';

/** Colours for a terminal, or nothing at all. */
export interface Paint {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly strong: (text: string) => string;
}

const plain = (text: string): string => text;
export const noPaint: Paint = { good: plain, bad: plain, dim: plain, strong: plain };

export interface LineOptions {
  /** Columns of the terminal. */
  readonly width: number;
  readonly paint: Paint;
  /** The node of `<cluster>/<pod>`, empty if unknown. */
  readonly nodeOf: (who: string) => string;
}

/** A long text without its middle. */
export function cutMiddle(text: string, width: number): string {
  if (text.length <= width) return text;
  if (width < 2) return text.slice(0, Math.max(0, width));
  const head = Math.ceil((width - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`;
}

export function milliseconds(ms: number | null): string {
  if (ms === null) return '–';
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${ms >= 100 ? ms.toFixed(0) : ms.toFixed(1)} ms`;
}

const count = (n: number): string => n.toLocaleString('en-US');

/** First line of a scene. */
export function titleLine(record: SceneRecord, { width, paint }: LineOptions): string {
  const { letter, name, subject } = record.title;
  const head = ` ${letter}  ${name.padEnd(30)}  `;
  return `${paint.strong(head)}${cutMiddle(subject, Math.max(10, width - head.length))}`;
}

/** Everything below the first line. */
export function sceneLines(record: SceneRecord, options: LineOptions): string[] {
  const { width, paint } = options;
  const shorten = (text: string): string => cutMiddle(text, width - 4);
  const lines = record.traffic.flatMap((traffic) => trafficLines(traffic, options));
  for (const note of record.notes) lines.push(`    ${paint.dim(shorten(note))}`);
  for (const e of record.expectations) {
    const text = e.found === undefined ? e.text : `${e.text}; found: ${e.found}`;
    // What went wrong is never cut short.
    lines.push(
      e.holds ? `    ${paint.good('✔')} ${cutMiddle(e.text, width - 6)}` : `    ${paint.bad('✖')} ${text}`,
    );
  }
  if (record.took === undefined && record.doing !== '')
    lines.push(`    ${paint.dim(shorten(`… ${record.doing}`))}`);
  return lines;
}

const barWidth = 24;

function trafficLines(traffic: Traffic, { width, paint, nodeOf }: LineOptions): string[] {
  const { requests, failed, answers, errors, p50, p99 } = traffic.tally.result;
  const figures = [
    `${count(requests)} ${traffic.unit}`,
    failed === 0 ? '0 failed' : paint.bad(`${count(failed)} failed (${reasons(errors)})`),
    `p50 ${milliseconds(p50)}`,
    `p99 ${milliseconds(p99)}`,
  ];
  const lines = [`    ${traffic.title.padEnd(width < 90 ? 14 : 30)}  ${figures.join(' · ')}`];
  const total = Object.values(answers).reduce((a, b) => a + b, 0);
  const most = Math.max(...Object.values(answers), 1);
  const podWidth = Math.min(
    Math.max(...Object.keys(answers).map((w) => podOf(w).length), 8),
    Math.max(8, width - 58),
  );
  let cluster = '';
  for (const [who, n] of Object.entries(answers)) {
    const of = who.split('/', 1)[0] as string;
    const bar = '█'.repeat(Math.max(n > 0 ? 1 : 0, Math.round((barWidth * n) / most)));
    lines.push(
      [
        '     ',
        (of === cluster ? '' : of).padEnd(6),
        cutMiddle(podOf(who), podWidth).padEnd(podWidth),
        nodeOf(who).padEnd(3),
        bar.padEnd(barWidth),
        `${((100 * n) / total).toFixed(1).padStart(5)} %`,
        count(n).padStart(7),
      ].join(' '),
    );
    cluster = of;
  }
  return lines;
}

const podOf = (who: string): string => who.slice(who.indexOf('/') + 1);

function reasons(errors: Readonly<Record<string, number>>): string {
  return Object.entries(errors)
    .map(([why, n]) => `${count(n)} ${why}`)
    .join(', ');
}
