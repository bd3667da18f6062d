import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { Metrics } from '../src/runtime/metrics.ts';
import { metricsMade } from './metrics-made.ts';

/** The part of Grafana's dashboard model (schemaVersion 36 and newer) that this dashboard uses; nothing else may be in it. */
const only = { additionalProperties: false };
const open = Type.Record(Type.String(), Type.Unknown());
const Datasource = Type.Object(
  { type: Type.Literal('prometheus'), uid: Type.String({ pattern: '^[$][{]datasource[}]$' }) },
  only,
);
const GridPos = Type.Object(
  {
    h: Type.Integer({ minimum: 1 }),
    w: Type.Integer({ minimum: 1, maximum: 24 }),
    x: Type.Integer({ minimum: 0, maximum: 23 }),
    y: Type.Integer({ minimum: 0 }),
  },
  only,
);
const Row = Type.Object(
  {
    id: Type.Integer({ minimum: 1 }),
    type: Type.Literal('row'),
    title: Type.String({ minLength: 1 }),
    collapsed: Type.Literal(false),
    gridPos: GridPos,
    panels: Type.Array(Type.Never()),
  },
  only,
);
const Target = Type.Object(
  {
    refId: Type.String({ pattern: '^[A-Z]$' }),
    datasource: Datasource,
    editorMode: Type.Literal('code'),
    expr: Type.String({ minLength: 1 }),
    legendFormat: Type.String({ minLength: 1 }),
    range: Type.Boolean(),
  },
  only,
);
const Panel = Type.Object(
  {
    id: Type.Integer({ minimum: 1 }),
    type: Type.Union([Type.Literal('timeseries'), Type.Literal('stat')]),
    title: Type.String({ minLength: 1 }),
    description: Type.String(),
    datasource: Datasource,
    gridPos: GridPos,
    fieldConfig: Type.Object({ defaults: open, overrides: Type.Array(open) }, only),
    options: open,
    targets: Type.Array(Target, { minItems: 1 }),
  },
  only,
);
const Dashboard = Type.Object(
  {
    title: Type.Literal('Causeway'),
    uid: Type.String({ pattern: '^[a-z-]{1,40}$' }),
    description: Type.String(),
    tags: Type.Array(Type.String()),
    schemaVersion: Type.Integer({ minimum: 36 }),
    version: Type.Integer(),
    editable: Type.Boolean(),
    graphTooltip: Type.Integer({ minimum: 0, maximum: 2 }),
    refresh: Type.String(),
    timezone: Type.String(),
    time: Type.Object({ from: Type.String(), to: Type.String() }, only),
    annotations: Type.Object({ list: Type.Array(open) }, only),
    links: Type.Array(open),
    templating: Type.Object({
      list: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })),
    }),
    panels: Type.Array(Type.Union([Row, Panel])),
  },
  only,
);

const text = readFileSync(join(import.meta.dirname, '..', 'docs/grafana/causeway.json'), 'utf8');
const dashboard = JSON.parse(text) as Static<typeof Dashboard>;
const panels = dashboard.panels.filter((panel): panel is Static<typeof Panel> => panel.type !== 'row');
const expressions = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));

/** What Prometheus adds to every series. */
const ofTarget = ['job', 'instance'];
/** Of every process. */
const processMetrics = new Metrics();
processMetrics.collectProcess();
const ofProcess = new Set(processMetrics.registry.getMetricsAsArray().map(({ name }) => name));

/** Metrics that are worth no place in it, and why. */
const excused: Readonly<Record<string, string>> = {};

/** Series of a metric, and their labels beside those of the target. */
const series = new Map(
  metricsMade().flatMap(({ kind, name, labels }) =>
    (kind === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']).map((suffix) => [
      `causeway_${name}${suffix}`,
      { kind, labels: suffix === '_bucket' ? [...labels, 'le'] : labels },
    ]),
  ),
);

const namesIn = (expr: string): readonly string[] => [
  ...new Set([...expr.matchAll(/\b(causeway|process|nodejs)_\w+/g)].map(([name]) => name)),
];

test('the dashboard is one that Grafana reads', () => {
  expect([...Value.Errors(Dashboard, dashboard)]).toEqual([]);
  const ids = dashboard.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { title, targets } of panels) {
    expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length);
  }
  const variables = dashboard.templating.list.map(({ name }) => name);
  const used = [...text.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name as string);
  expect(new Set(used.filter((name) => !name.startsWith('__')))).toEqual(new Set(variables));
});

test('no panel lies on another one', () => {
  const taken = new Map<string, string>();
  for (const { title, gridPos } of dashboard.panels) {
    const { x, y, w, h } = gridPos;
    expect(x + w, title).toBeLessThanOrEqual(24);
    for (let i = x; i < x + w; i++) {
      for (let j = y; j < y + h; j++) {
        expect(taken.get(`${i} ${j}`), title).toBeUndefined();
        taken.set(`${i} ${j}`, title);
      }
    }
  }
});

test('every expression asks for series that roles export, by labels that they have', () => {
  for (const { title, expr } of expressions) {
    const names = namesIn(expr);
    expect(names.length, title).toBeGreaterThan(0);
    const own = names.filter((name) => name.startsWith('causeway_'));
    expect(
      names.filter((name) => !series.has(name) && !ofProcess.has(name)),
      title,
    ).toEqual([]);
    const known = new Set([...ofTarget, ...own.flatMap((name) => series.get(name)?.labels ?? [])]);
    const grouped = [...expr.matchAll(/\b(?:by|without|on|ignoring) \(([^)]*)\)/g)].flatMap(([, list]) =>
      (list ?? '').split(/, ?/),
    );
    const selected = [...expr.matchAll(/(\w+) ?(?:=~|!~|!=|=)"/g)].map(([, label]) => label as string);
    expect(
      [...grouped, ...selected].filter((label) => label !== '' && !known.has(label)),
      title,
    ).toEqual([]);
    // A counter is a rate, a gauge is not.
    for (const name of own) {
      const isCounter = series.get(name)?.kind !== 'gauge';
      expect(new RegExp(`rate\\(${name}[{[]`).test(expr), `${title}: ${name}`).toBe(isCounter);
    }
  }
  for (const { title, targets } of panels) {
    for (const { expr, legendFormat } of targets) {
      const labels = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label as string);
      const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => (list ?? '').split(/, ?/));
      const left = grouped.length === 0 ? ofTarget : grouped;
      expect(
        labels.filter((label) => !left.includes(label)),
        `${title}: ${legendFormat}`,
      ).toEqual([]);
    }
  }
});

test('every metric that there is has a place in it, or an excuse', () => {
  const asked = new Set(expressions.flatMap(({ expr }) => namesIn(expr)));
  const left = metricsMade().filter(
    ({ name, kind }) => !asked.has(`causeway_${name}${kind === 'histogram' ? '_bucket' : ''}`),
  );
  const hint = 'add a target to docs/grafana/causeway.json, or an excuse here';
  expect(left.map(({ name }) => name).sort(), hint).toEqual(Object.keys(excused).sort());
});
