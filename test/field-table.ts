import { readFileSync } from 'node:fs';

/** First-column names of the table behind `<!-- <title> fields -->`. */
export function documentedFields(document: string, title: string): readonly string[] {
  const text = readFileSync(document, 'utf8');
  const table = new RegExp(`<!-- ${title} fields -->\n([\\s\\S]*?)<!-- end -->`).exec(text)?.[1] ?? '';
  const cells = table.split('\n').flatMap((line) => /^\| (`.*?) \|/.exec(line)?.[1] ?? []);
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((m) => m[1] as string));
}

/**
 * Paths of the fields in `value`, as `scenes[].name`. A field is looked into where a documented path goes on below
 * it; a documented `<…>` stands for any key.
 */
export function fieldsIn(value: unknown, documented: readonly string[], path = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((each) => fieldsIn(each, documented, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [];
  const below = path === '' ? '' : `${path}.`;
  if (!documented.some((each) => each.startsWith(below))) return [];
  const any = documented.flatMap((each) => {
    const rest = each.startsWith(`${below}<`) ? each.slice(below.length) : undefined;
    return rest === undefined ? [] : [rest.slice(0, rest.indexOf('>') + 1)];
  })[0];
  return Object.entries(value).flatMap(([key, child]) => {
    const own = `${below}${any ?? key}`;
    return [...(any === undefined ? [own] : []), ...fieldsIn(child, documented, own)];
  });
}
