import { appProtocolLength, appProtocolPattern } from '../wire/app-protocol.ts';
import {
  choice,
  type FieldError,
  integer,
  list,
  map,
  object,
  optional,
  rule,
  text,
  withRules,
} from './schema.ts';

/** Fields that several kinds share, with the bounds of the Gateway API and of Kubernetes. */

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const value = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';

type Extra = { readonly description?: string; readonly default?: unknown };

export const dnsLabel = (extra: Extra = {}) =>
  text({
    minLength: 1,
    maxLength: 63,
    pattern: `^${label}$`,
    expects: 'a DNS label (a-z, 0-9 and "-", at most 63)',
    ...extra,
  });

export const dnsSubdomain = (extra: Extra = {}) =>
  text({
    minLength: 1,
    maxLength: 253,
    pattern: `^${subdomain}$`,
    expects: 'a DNS name (a-z, 0-9, "-" and ".", at most 253)',
    ...extra,
  });

/** A listener's or a certificate's hostname: the first label may be `*`. */
export const hostname = (extra: Extra = {}) =>
  text({
    minLength: 1,
    maxLength: 253,
    pattern: `^(\\*\\.)?${subdomain}$`,
    expects: 'a host name (a-z, 0-9, "-" and "."; the first label may be "*")',
    ...extra,
  });

/** An API group; empty is the core group. */
export const group = (extra: Extra = {}) =>
  text({
    maxLength: 253,
    pattern: `^$|^${subdomain}$`,
    expects: 'an API group (a DNS name, or "" for the core group)',
    ...extra,
  });

export const kindName = (extra: Extra = {}) =>
  text({
    minLength: 1,
    maxLength: 63,
    pattern: '^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$',
    expects: 'the name of a kind',
    ...extra,
  });

/** The name of another object: the API checks no more than its length. */
export const objectName = (extra: Extra = {}) =>
  text({ minLength: 1, maxLength: 253, expects: "an object's name (1 to 253 characters)", ...extra });

export const port = (extra: Extra = {}) => integer(1, 65535, extra);

export const ipFamily = (extra: Extra = {}) => choice(['IPv4', 'IPv6'], extra);

/** What is spoken on a port, as in Service. */
export const appProtocol = (extra: Extra = {}) =>
  text({
    minLength: 1,
    maxLength: appProtocolLength,
    pattern: appProtocolPattern,
    expects: 'an application protocol as "http" or "kubernetes.io/h2c"',
    ...extra,
  });

const keyPrefix = new RegExp(`^${subdomain}$`);
const keyName = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

function isQualifiedName(key: string): boolean {
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  const prefix = key.slice(0, Math.max(0, slash));
  if (name.length > 63 || !keyName.test(name)) return false;
  return slash < 0 || (prefix.length <= 253 && keyPrefix.test(prefix));
}

const qualifiedKeys = rule<Record<string, unknown>>(
  (entries) =>
    Object.keys(entries)
      .filter((key) => !isQualifiedName(key))
      .map((key) => ({
        path: `[${JSON.stringify(key.slice(0, 80))}]`,
        message:
          'expected a key as "name" or "prefix/name" (name: letters, digits, "-", "_", "."; at most 63), found this key',
      })),
  {
    rule: 'self.all(key, !format.qualifiedName().validate(key).hasValue())',
    message: 'keys must be label keys: "name" or "prefix/name"',
  },
);

/** Labels of an object, or the labels a selector asks for. */
export const labels = (extra: Extra & { readonly minProperties?: number } = {}, maxProperties = 1000) =>
  map(
    text({
      maxLength: 63,
      pattern: value,
      expects: 'a label value (letters, digits, "-", "_", "."; at most 63; quote numbers and booleans)',
    }),
    { maxProperties, keys: qualifiedKeys, ...extra },
  );

type Requirement = { key: string; operator: string; values?: readonly string[] };

const requirement = withRules(
  object({
    key: text({ minLength: 1, maxLength: 317, expects: 'a label key' }),
    operator: choice(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: optional(
      list(text({ maxLength: 63, pattern: value, expects: 'a label value (a string of at most 63)' }), {
        maxItems: 1000,
      }),
    ),
  }),
  rule<Requirement>(
    ({ key, operator, values }) => {
      const errors: FieldError[] = [];
      if (!isQualifiedName(key)) {
        errors.push({ path: 'key', message: `expected a label key, found ${JSON.stringify(key)}` });
      }
      const wantsValues = operator === 'In' || operator === 'NotIn';
      const count = values?.length ?? 0;
      if (wantsValues && count === 0) {
        errors.push({ path: 'values', message: `expected at least one value with ${operator}, found none` });
      } else if (!wantsValues && count > 0) {
        errors.push({ path: 'values', message: `expected no values with ${operator}, found ${count}` });
      }
      return errors;
    },
    {
      rule: "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
      message: 'In and NotIn need values; Exists and DoesNotExist take none',
    },
  ),
);

/** metav1.LabelSelector. Both parts must match; an empty selector matches everything. */
export const selectorFields = () => ({
  matchLabels: optional(labels({}, 64)),
  matchExpressions: optional(list(requirement, { maxItems: 64 })),
});

export const labelSelector = (extra: Extra = {}) => object(selectorFields(), extra);

/** Conditions as metav1.Condition has them. */
export const conditions = () =>
  list(
    object({
      type: text({
        maxLength: 316,
        pattern: `^(${subdomain}/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
      }),
      status: choice(['True', 'False', 'Unknown']),
      observedGeneration: optional(integer(0, Number.MAX_SAFE_INTEGER)),
      lastTransitionTime: { ...text({ maxLength: 64 }), format: 'date-time' },
      reason: text({ minLength: 1, maxLength: 1024, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' }),
      message: text({ maxLength: 32768 }),
    }),
    { maxItems: 16, mapKeys: ['type'] },
  );
