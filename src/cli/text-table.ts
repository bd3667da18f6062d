/** Columns as wide as they need, two spaces between; nothing at the end of a line. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows];
  const widths = header.map((_, i) => Math.max(...lines.map((line) => [...(line[i] ?? '')].length)));
  const pad = (cell: string, i: number) =>
    cell + ' '.repeat(Math.max(0, (widths[i] ?? 0) - [...cell].length));
  return lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
}
