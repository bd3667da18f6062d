import type { Ir } from '../../model/ir.ts';
import { Mirror } from './mirror.ts';
import { type RenderOptions, render, type Wanted } from './render.ts';
import { tableName } from './schema.ts';
import { type Table, tableText } from './table.ts';

/** The table that a fresh start gives. */
export function wantedTable(wanted: Wanted): Table {
  const mirror = new Mirror({ graceMs: 0 });
  mirror.advance(wanted, 0);
  return mirror.table();
}

/** The whole path, offline: representation → what `nft list table` would print on a node, and what is refused. */
export function renderTable(
  ir: Ir,
  options: RenderOptions,
): { readonly text: string; readonly refused: ReadonlyMap<string, string> } {
  const wanted = render(ir, options);
  return { text: tableText(wantedTable(wanted), tableName), refused: wanted.refused };
}
