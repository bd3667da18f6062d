import { parseAllDocuments } from 'yaml';
import { yamlText } from '../wire/yaml-text.ts';

const forms: readonly (readonly [form: RegExp, instead: string])[] = [
  [/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]{0,20000}?-----END \1-----/g, '<redacted PEM>'],
  // A part of one: the rest was cut.
  [/-----BEGIN [A-Z0-9 ]*(PRIVATE|KEY|CERTIFICATE)[\s\S]*/g, '<redacted PEM>'],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, '<redacted token>'],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 <redacted>'],
  [/(\w:\/\/[^\s/:@]+:)[^\s/@]+@/g, '$1<redacted>@'],
];
const words = 'password|passwd|passphrase|secret|token|api[-_]?key|private[-_]?key|credentials?';
const assigned = new RegExp(`\\b([\\w-]{0,64}(?:${words}))(["']?\\s*[=:]\\s*["']?)[^\\s"',}]+`, 'gi');
const secretKey = new RegExp(`(^|[-_./])(${words})$`, 'i');

/** Text without what looks like a key, a token or a password. */
export function redactText(text: string): string {
  return redactForms(text).replace(assigned, '$1$2<redacted>');
}

const redactForms = (text: string): string =>
  forms.reduce((redacted, [form, instead]) => redacted.replace(form, instead), text);

/**
 * YAML documents of a golden case. Values of annotations go, because anything may be in them and nothing depends on
 * them, and so do texts that look like secrets or are called so. What is left has the same form, and without such
 * texts it compiles to the same.
 */
export function redactDocuments(text: string): string {
  return parseAllDocuments(text, { logLevel: 'silent' })
    .map((document) => yamlText(redactValue(document.toJS({ maxAliasCount: 0 }))))
    .join('---\n');
}

function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, redactField(key, field)]));
}

function redactField(key: string, field: unknown): unknown {
  if (key === 'annotations' && typeof field === 'object' && field !== null) {
    return Object.fromEntries(Object.keys(field).map((name) => [name, '<redacted>']));
  }
  // Also a value of a label, which may have no other characters; its selectors get the same.
  return typeof field === 'string' && secretKey.test(key) ? 'redacted' : redactValue(field);
}
