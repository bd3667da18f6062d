import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LabelSelector, requiredValues, selects, without } from './label-selector.ts';

const pods = [{}, { tier: 'web' }, { tier: 'db' }, { app: 'x' }, { app: 'x', tier: 'web' }] as const;

function selected(selector: LabelSelector): number[] {
  return pods.flatMap((labels, i) => (selects(selector, labels as Record<string, string>) ? [i] : []));
}

test('the operators, as Kubernetes has them', () => {
  const expression = (
    operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist',
    values?: string[],
  ): LabelSelector => ({
    matchExpressions: [{ key: 'tier', operator, ...(values ? { values } : {}) }],
  });
  expect(selected({})).toEqual([0, 1, 2, 3, 4]);
  expect(selected({ matchLabels: { tier: 'web' } })).toEqual([1, 4]);
  expect(selected({ matchLabels: { tier: 'web', app: 'x' } })).toEqual([4]);
  expect(selected(expression('In', ['web', 'db']))).toEqual([1, 2, 4]);
  expect(selected(expression('NotIn', ['web']))).toEqual([0, 2, 3]);
  expect(selected(expression('Exists'))).toEqual([1, 2, 4]);
  expect(selected(expression('DoesNotExist'))).toEqual([0, 3]);
});

test('a label that every object inherits is no label', () => {
  expect(selects({ matchExpressions: [{ key: 'constructor', operator: 'Exists' }] }, {})).toBe(false);
  expect(selects({ matchExpressions: [{ key: 'toString', operator: 'DoesNotExist' }] }, {})).toBe(true);
});

test('what an index can be asked for', () => {
  expect(
    requiredValues({
      matchLabels: { app: 'x' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['web', 'db', 'web'] },
        { key: 'app', operator: 'Exists' },
      ],
    }),
  ).toEqual([
    ['app', ['x']],
    ['tier', ['web', 'db']],
  ]);
});

test('what an index does not answer is left, whatever else is said of the label', () => {
  const label = fc.constantFrom('app', 'tier');
  const value = fc.constantFrom('x', 'y');
  const labels = fc.dictionary(label, value, { maxKeys: 2 });
  const expression = fc.oneof(
    fc.record({
      key: label,
      operator: fc.constantFrom('In' as const, 'NotIn' as const),
      values: fc.array(value),
    }),
    fc.record({ key: label, operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
  );
  const selector = fc.record({
    matchLabels: labels,
    matchExpressions: fc.array(expression, { maxLength: 3 }),
  });
  fc.assert(
    fc.property(selector, labels, (asked, of) => {
      for (const [required, values] of requiredValues(asked)) {
        const rest = without(asked, required);
        const indexed = Object.hasOwn(of, required) && values.includes(of[required] ?? '');
        expect(indexed && (rest === undefined || selects(rest, of))).toBe(selects(asked, of));
      }
    }),
  );
});
