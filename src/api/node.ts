import { defineKind } from './kind.ts';
import { choice, list, object, text } from './schema.ts';

export const node = defineKind({
  kind: 'Node',
  group: '',
  versions: ['v1'],
  namespaced: false,
  name: 'subdomain',
  singular: [{ section: 'spec', one: 'podCIDR', many: 'podCIDRs' }],
  schema: object({
    spec: object(
      {
        podCIDRs: list(text({ maxLength: 64, expects: 'a CIDR' }), { maxItems: 2, default: [] }),
        taints: list(object({ key: text({ maxLength: 316 }), effect: text({ maxLength: 63 }) }), {
          maxItems: 1000,
          default: [],
        }),
      },
      { default: {} },
    ),
    status: object(
      {
        addresses: list(object({ type: text({ maxLength: 63 }), address: text({ maxLength: 253 }) }), {
          maxItems: 1000,
          default: [],
        }),
        conditions: list(
          object({ type: text({ maxLength: 316 }), status: choice(['True', 'False', 'Unknown']) }),
          { maxItems: 1000, default: [] },
        ),
      },
      { default: {} },
    ),
  }),
});
