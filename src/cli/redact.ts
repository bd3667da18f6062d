import { parseAllDocuments } from 'yaml';
import { yamlText } from '../wire/yaml-text.ts';

const secrets: readonly (readonly [form: RegExp, instead: string])[] = [
  [/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g, '<redacted PEM>'],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, '<redacted token>'],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 <redacted>'],
  [/\b(password|passwd|secret|token|api[-_]?key)(["']?\s*[=:]\s*["']?)[^\s"',}]+/gi, '$1$2<redacted>'],
];

/** Text without what looks like a key, a token or a password. */
export function redactText(text: string): string {
  return secrets.reduce((redacted, [form, instead]) => redacted.replace(form, instead), text);
}

/**
 * YAML documents of objects: values of annotations go, because anything may be in them and nothing depends on them.
 * What is left compiles to the same.
 */
export function redactInputs(text: string): string {
  return parseAllDocuments(text, { logLevel: 'silent' })
    .map((document) => yamlText(withoutAnnotations(document.toJS({ maxAliasCount: 0 }))))
    .join('---\n');
}

function withoutAnnotations(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAnnotations);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      key === 'annotations' && typeof field === 'object' && field !== null
        ? Object.fromEntries(Object.keys(field).map((name) => [name, '<redacted>']))
        : withoutAnnotations(field),
    ]),
  );
}
