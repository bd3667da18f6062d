import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { isGoldenCase } from '../golden-cases.ts';
import { Model } from '../model.ts';
import { problemCodes } from '../problem-codes.ts';
import { readInputs } from '../read-inputs.ts';
import { explain } from './explain.ts';
import { nextSteps } from './next-steps.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** The first step of a golden case, with texts replaced in it; each must be there. */
function modelOf(name: string, ...changes: readonly (readonly [from: string, to: string])[]): Model {
  let text = readFileSync(join(root, 'testdata', name, 'in.yaml'), 'utf8').split(/^kind: Step$/m)[0] ?? '';
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`testdata/${name} has no ${JSON.stringify(from)}`);
    text = text.replaceAll(from, to);
  }
  const { config, changes: records } = readInputs(parseAllDocuments(text).map((d) => d.toJS()));
  const model = new Model(config);
  model.update(records, 0);
  return model;
}

const store = 'store.shop.gw.cluster.local';

/** Reason, object, field and message of the first cause: what a person reads first. */
function answer(model: Model, asked = store): string {
  const { causes, works } = explain(model, asked);
  const [first] = causes;
  if (!first) return works ? 'works' : 'no cause';
  const { stops, reason, ref, field, message } = first;
  const place = [`${ref.kind} ${ref.namespace}/${ref.name}`, field].filter(Boolean).join(' ');
  return `${stops ? '✖' : '●'} ${reason} ${place}: ${message}`;
}

test('what only contributes is explained: what stops it, and what is offered to whom', () => {
  expect(answer(modelOf('unexported'), 'shop/some')).toBe('works');
  const { offer, works, frontend } = explain(modelOf('unexported'), 'shop/some');
  expect([works, frontend]).toEqual([true, undefined]);
  expect(offer).toMatchObject({
    namespace: 'shop',
    name: 'some',
    ports: [
      {
        protocol: 'TCP',
        port: 80,
        offered: true,
        to: ['cluster env=prod', 'every cluster as team-b/shop'],
        own: {
          cluster: 'east',
          path: 'own',
          ready: 1,
          selected: 1,
          endpoints: ['10.10.1.4:8080'],
          causes: [],
        },
      },
    ],
  });
  const wrong = modelOf('unexported', ['{matchLabels: {app: store}}', '{matchLabels: {app: stroe}}']);
  expect(answer(wrong, 'shop/some')).toBe(
    '✖ SelectsNothing XEndpointSelector shop/store spec.selector: expected pods in namespace "shop" with app=stroe, found none; pods there have app: store',
  );
  const unready = modelOf('unexported', ['status: "True"', 'status: "False"']);
  expect(answer(unready, 'shop/some')).toContain('selects 1 pod and none is ready: store-0 not ready');
  expect(answer(modelOf('unexported'), 'shop/store')).toContain(
    '✖ NotExported CompositeBackend shop/store spec.export',
  );
  expect(answer(modelOf('unexported'), 'shop/undeclared')).toContain('✖ NoPortDeclared CompositeBackend');
  expect(answer(modelOf('unexported', ['relay: true', 'relay: false']), 'shop/some')).toContain(
    'NotExported',
  );
  const gone = modelOf('unexported', [
    'name: store}]\n  export: {to: [{cl',
    'name: gone}]\n  export: {to: [{cl',
  ]);
  expect(answer(gone, 'shop/some')).toContain(
    '✖ BackendNotFound CompositeBackend shop/some spec.backends[0]',
  );
  // The name itself leads nowhere here.
  const { causes, offer: none } = explain(modelOf('unexported'), 'some.shop.gw.cluster.local');
  expect([causes[0]?.reason, causes[0]?.next, none]).toEqual([
    'NotFound',
    'causeway explain shop/some says what east contributes to it',
    undefined,
  ]);
});

test('a name that works: who stands behind it, with which share', () => {
  const { frontend, works, causes } = explain(modelOf('composite'), store);
  expect(works).toBe(true);
  expect(causes.map(({ reason, stops }) => [reason, stops])).toEqual([['ProgrammingPending', false]]);
  expect(frontend).toMatchObject({
    namespace: 'shop',
    name: 'store',
    names: [store],
    addresses: ['10.96.214.7'],
    ports: [
      {
        listener: 'http',
        port: 80,
        route: { kind: 'TCPRoute', namespace: 'shop', name: 'store', attached: true },
        backends: [
          {
            kind: 'CompositeBackend',
            share: 1,
            policy: 'Even',
            clusters: [
              { cluster: 'east', path: 'own', ready: 2, selected: 2, share: 0.4 },
              { cluster: 'west', path: 'direct', network: 'n1', ready: 3, selected: 4, share: 0.6 },
            ],
          },
        ],
      },
    ],
  });
});

test('it is found by name, in any case and with a dot, by namespace and name, and by address', () => {
  const model = modelOf('composite');
  for (const asked of [store, `${store.toUpperCase()}.`, 'store.shop', 'shop/store', '10.96.214.7']) {
    expect(explain(model, asked).frontend?.name, asked).toBe('store');
  }
});

test('what is not there is told with what is near', () => {
  const model = modelOf('composite');
  expect(answer(model, 'stroe.shop.gw.cluster.local')).toBe(
    '✖ NotFound Gateway shop/stroe: Gateway shop/stroe does not exist in cluster east',
  );
  expect(explain(model, 'shop/stroe').causes[0]?.next).toBe('did you mean shop/store?');
  expect(answer(model, '10.96.0.99')).toContain('no Gateway of this cluster holds the address 10.96.0.99');
  expect(answer(model, 'x')).toContain('expected <gateway>.<namespace>.gw.cluster.local');
});

test('wrong selector: the selector, and what pods there have instead', () => {
  const model = modelOf('clusterip', [
    'selector: {matchLabels: {app: store}}',
    'selector: {matchLabels: {app: stroe}}',
  ]);
  expect(answer(model)).toMatch(
    /^✖ SelectsNothing XEndpointSelector shop\/store spec\.selector: expected pods in namespace "shop" with app=stroe, found none; pods there have app: .*store/,
  );
});

test('pods not ready: which', () => {
  const model = modelOf(
    'composite',
    ['status: "True"', 'status: "False"'],
    ['kind: Contribution\n', 'kind: Nothing\n'],
  );
  expect(answer(model)).toMatch(
    /^✖ NoEndpoints XEndpointSelector shop\/store: it selects 2 pods and none is ready: store-0 not ready, store-1 not ready/,
  );
});

test('port not offered by a cluster: which cluster, which port', () => {
  const { frontend } = explain(modelOf('port-conflict'), store);
  const https = frontend?.ports.find(({ port }) => port === 443);
  const own = https?.backends[0]?.clusters.find(({ cluster }) => cluster === 'east');
  expect(own?.causes).toMatchObject([
    { reason: 'PortNotOffered', stops: false, message: 'east does not offer port 443/TCP' },
  ]);
});

test('missing ReferenceGrant: from where to what', () => {
  expect(answer(modelOf('reference-grant'))).toContain(
    '✖ RefNotPermitted TCPRoute shop/store spec.rules[0].backendRefs[0]: expected a ReferenceGrant in namespace "stock" from TCPRoute',
  );
});

test('listener that does not allow the route: the route that would carry it is shown', () => {
  const model = modelOf('composite', [
    'listeners: [{name: http, port: 80, protocol: TCP}]',
    'listeners: [{name: http, port: 80, protocol: TCP, allowedRoutes: {kinds: [{kind: UDPRoute}]}}]',
  ]);
  const { causes, frontend } = explain(model, store);
  expect(causes.find(({ reason }) => reason === 'NotAllowedByListeners')).toMatchObject({
    stops: true,
    ref: { kind: 'TCPRoute', namespace: 'shop', name: 'store' },
    field: 'spec.parentRefs[0]',
  });
  expect(frontend?.ports[0]?.route).toMatchObject({ name: 'store', attached: false });
  expect(frontend?.ports[0]?.backends[0]?.clusters).toHaveLength(2);
});

test('cluster not exporting: the one that import names; where nobody is named, that nobody offers it', () => {
  const gone: readonly [string, string] = ['kind: Contribution\n', 'kind: Nothing\n'];
  const consumer: readonly [string, string] = [
    'backends: [{group: gateway.networking.x-k8s.io, kind: XEndpointSelector, name: store}]',
    'backends: []',
  ];
  const named: readonly [string, string] = [
    consumer[1],
    'backends: []\n  import: {from: [{clusters: {names: [west]}}]}',
  ];
  expect(answer(modelOf('composite', gone, consumer, named))).toBe(
    '✖ NotOffered CompositeBackend shop/store status.clusters: west: it offers nothing that spec.import names to this cluster on a port that routes refer to',
  );
  expect(answer(modelOf('composite', gone, consumer))).toBe(
    '✖ NotOffered CompositeBackend shop/store spec.import: expected a cluster that offers tcp-80 of shop/store to east, found none',
  );
});

test('cluster not exporting this port, beside one that serves: named as a note where import names it', () => {
  const { works, causes, frontend } = explain(
    modelOf(
      'composite',
      ['kind: Contribution\n', 'kind: Nothing\n'],
      ['backends:', 'import: {from: [{clusters: {names: [west]}}]}\n  backends:'],
    ),
    store,
  );
  expect(works).toBe(true);
  expect(causes.find(({ reason }) => reason === 'NotOffered')).toMatchObject({
    stops: false,
    message: expect.stringMatching(/^west: it offers nothing/),
    next: 'in west, with this port: CompositeBackend shop/store must exist there, with spec.export that admits east',
  });
  const clusters = frontend?.ports[0]?.backends[0]?.clusters.map((c) => [c.cluster, c.reason, c.share]);
  expect(clusters).toEqual([
    ['east', 'Synced', 1],
    ['west', 'NotOffered', 0],
  ]);
});

test('cluster not exporting: the next step says the namespace and name that import names', () => {
  const gone: [string, string] = ['kind: Contribution\n', 'kind: Nothing\n'];
  const importing = (from: string): string[] => {
    const model = modelOf('composite', gone, [
      'backends:',
      `import: {from: ${from}}\n  backends: []\n  unused:`,
    ]);
    return explain(model, store).causes.flatMap(({ reason, next }) =>
      reason === 'NotOffered' ? [next] : [],
    );
  };
  expect(importing('[{clusters: {names: [west]}}]')).toEqual([
    'in west, with this port: CompositeBackend shop/store must exist there, with spec.export that admits east',
  ]);
  expect(importing('[{clusters: {names: [west]}, namespace: titi, name: api}]')).toEqual([
    'in west, with this port: CompositeBackend titi/api must exist there, with spec.export that admits composite shop/store of east, by namespace and name',
  ]);
  expect(
    importing(
      '[{clusters: {names: [west]}, name: api}, {clusters: {names: [west]}}, {clusters: {names: [north]}, name: other}]',
    ),
  ).toEqual([
    'in north, with this port: CompositeBackend shop/other must exist there, with spec.export that admits composite shop/store of east, by namespace and name',
    'in west, with this port: CompositeBackend one of shop/api, shop/store must exist there, with spec.export that admits composite shop/store of east, by namespace and name',
  ]);
  expect(importing('[{name: api}]')).toEqual([
    'in the cluster that has the endpoints, with this port: CompositeBackend shop/api must exist there, with spec.export that admits composite shop/store of east, by namespace and name',
  ]);
});

test('relay down: who is out of touch, and that its endpoints stay', () => {
  const model = modelOf('composite', ['state: Synced, staleSince: 0', 'state: Stale, staleSince: 1']);
  const { causes, works } = explain(model, store);
  expect(works).toBe(true);
  expect(causes.map(({ reason }) => reason)).toContain('NoContact');
});

test('no route: the listener, and what to do', () => {
  const model = modelOf('composite', ['kind: TCPRoute\n', 'kind: Nothing\n']);
  expect(answer(model)).toContain(
    '✖ NoRoute Gateway shop/store spec.listeners: listener "http": no TCPRoute',
  );
});

test('a class of somebody else', () => {
  const model = modelOf('composite', [
    'controllerName: causeway.dev/gateway-controller',
    'controllerName: example.com/other',
  ]);
  expect(answer(model)).toContain('✖ ClassNotOurs Gateway shop/store spec.gatewayClassName');
});

test('asking changes nothing: every Gateway of every golden case, and what the model keeps', () => {
  for (const name of readdirSync(join(root, 'testdata')).filter(isGoldenCase).sort()) {
    const model = modelOf(name);
    const before = { ...model.size };
    const deadline = model.nextDeadline;
    for (const { metadata } of model.all('Gateway')) {
      const first = explain(model, `${metadata.namespace}/${metadata.name}`);
      expect(first.frontend, name).toBeDefined();
      expect(
        first.causes.map(({ next }) => next).every((next) => next.length > 0),
        name,
      ).toBe(true);
      expect(explain(model, `${metadata.namespace}/${metadata.name}`)).toEqual(first);
    }
    expect(model.size.units, name).toBe(before.units);
    expect(model.nextDeadline, name).toBe(deadline);
  }
});

test('what to do next is said in the words of docs/errors.md', () => {
  const text = readFileSync(join(root, 'docs', 'errors.md'), 'utf8');
  for (const code of Object.keys(problemCodes)) {
    const section = text.split(/^### /m).find((s) => s.startsWith(`\`${code}\``));
    expect(section, code).toContain(`Next: ${nextSteps[code]}.`);
  }
});
