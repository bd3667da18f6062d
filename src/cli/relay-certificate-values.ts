import { labelKey, labelValue, namespacePattern } from '../runtime/name-patterns.ts';

/** Of `key=value`; undefined: it is no label. */
export function parseLabel(text: string): readonly [key: string, value: string] | undefined {
  const [, key = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  return labelKey.test(key) && labelValue.test(value) ? [key, value] : undefined;
}

/** Of a comma-separated list of names or prefixes with `*`; undefined: one of them is neither. */
export function parseNamespaces(text: string): readonly string[] | undefined {
  const patterns = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
  return patterns.every((pattern) => namespacePattern.test(pattern)) ? patterns : undefined;
}

const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };

/** Milliseconds of `90d`, `12h`, `30m` or `60s`. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^([1-9][0-9]{0,5})([dhms])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * units[unit as keyof typeof units];
}
