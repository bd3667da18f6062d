import { expect, test } from 'vitest';
import { type LabelSelector, requiredValues, selects } from './label-selector.ts';

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
