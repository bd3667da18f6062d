import { defineKind } from './kind.ts';
import { object } from './schema.ts';

/** Its labels are all that is read. */
export const namespace = defineKind({
  kind: 'Namespace',
  group: '',
  versions: ['v1'],
  namespaced: false,
  name: 'label',
  schema: object({}),
});
