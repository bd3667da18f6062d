import { AppError } from '../runtime/errors.ts';
import { yamlText } from '../wire/yaml-text.ts';

/** `value` as the user wants it; `table` is called for people. Throws E_USAGE. */
export function formatValue(output: string, value: unknown, table: () => string): string {
  if (output === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  if (output === 'yaml') return yamlText(value);
  if (output === 'table') return table();
  throw new AppError('E_USAGE', `--output: expected table, json or yaml, found ${JSON.stringify(output)}`);
}
