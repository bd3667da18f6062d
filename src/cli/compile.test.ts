import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type CompileOptions, runCompile } from './compile.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-compile-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

async function compile(options: Partial<CompileOptions> = {}): Promise<{ code: number; text: string }> {
  let text = '';
  const code = await runCompile(
    {
      dir: folder,
      cluster: 'east',
      region: 'eu',
      network: 'n1',
      serviceCidrs: ['10.96.0.0/16', 'fd00:96::/112'],
      zone: 'gw.cluster.local',
      controllerName: 'causeway.dev/gateway-controller',
      output: 'table',
      ...options,
    },
    (part) => {
      text += part;
    },
  );
  return { code, text };
}

const nodes = `
apiVersion: v1
kind: Node
metadata: {name: e1, labels: {topology.kubernetes.io/zone: a}}
spec: {podCIDR: 10.10.1.0/24}
status: {conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: store-0, namespace: shop, labels: {app: store}}
spec: {nodeName: e1, containers: [{name: c, ports: [{name: http, containerPort: 8080}]}]}
status: {phase: Running, podIP: 10.10.1.4, conditions: [{type: Ready, status: "True"}]}
`;

const store = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: store, namespace: shop}
spec:
  gatewayClassName: cluster-ip
  listeners: [{name: http, protocol: TCP, port: 80}]
  addresses: [{value: 10.96.7.7}]
---
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TCPRoute
metadata: {name: store, namespace: shop}
spec:
  parentRefs: [{name: store}]
  rules: [{backendRefs: [{group: causeway.dev, kind: CompositeBackend, name: store, port: 80}]}]
---
apiVersion: causeway.dev/v1alpha1
kind: CompositeBackend
metadata: {name: store, namespace: shop}
spec:
  ports: [{name: http, port: 80, targetPort: http}]
  backends: [{group: gateway.networking.x-k8s.io, kind: XEndpointSelector, name: store}]
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XEndpointSelector
metadata: {name: store, namespace: shop}
spec: {selector: {matchLabels: {app: store}}}
`;

test('a folder becomes all that would be served, offline', async () => {
  put('cluster/nodes.yaml', nodes);
  put('store.yaml', store);
  const { code, text } = await compile({ output: 'yaml' });
  expect(code).toBe(0);
  const result = parse(text);
  expect(Object.keys(result)).toEqual([
    'files',
    'problems',
    'claims',
    'ir',
    'exports',
    'imports',
    'statuses',
    'xds',
    'nft',
    'dns',
  ]);
  expect(result.files).toEqual([]);
  expect(result.ir.frontends['gateway/shop/store']).toMatchObject({
    names: ['store.shop.gw.cluster.local'],
    vips: ['10.96.7.7'],
    ports: { 'tcp-80': { targets: ['1 composite/shop/store/tcp-80'] } },
  });
  expect(result.statuses['Gateway/shop/store'].conditions.Accepted).toMatch(/^True Accepted/);
  expect(Object.keys(result.xds.Listener)).toEqual(['gateway/shop/store/tcp-80']);
  expect(result.nft.e1.table).toMatch(/10\.96\.7\.7 \. tcp \. 80 .*goto/);
  expect(result.nft.e1.table).toContain('10.10.1.4 . 8080');
  expect(result.dns).toContain('store.shop 5 IN A 10.96.7.7');
  expect(JSON.parse((await compile({ output: 'json' })).text)).toEqual(result);
});

test('the table says name, address, port, share and what is behind', async () => {
  put('cluster/nodes.yaml', nodes);
  put('store.yaml', store);
  const { code, text } = await compile();
  expect(code).toBe(0);
  expect(text.split('\n').slice(0, 2)).toEqual([
    'NAME                         ADDRESS    PORT    SHARE  TO                           ENDPOINTS',
    'store.shop.gw.cluster.local  10.96.7.7  TCP 80  100 %  composite/shop/store/tcp-80  1',
  ]);
  expect(text).toContain('no GatewayClass in the folder');
});

test('how objects are spread over files does not matter', async () => {
  put('all.yaml', `${store}---${nodes}`);
  const result = async () => {
    const { files, problems, ...rest } = JSON.parse((await compile({ output: 'json' })).text);
    const placeless = problems.map(
      ({ file: _f, line: _l, column: _c, ...problem }: { file?: string; line?: number; column?: number }) =>
        problem,
    );
    return { files, problems: placeless, ...rest };
  };
  const one = await result();
  rmSync(join(folder, 'all.yaml'));
  for (const [i, object] of `${store}---${nodes}`.split('---').reverse().entries())
    put(`${i}/o.yaml`, object);
  expect(await result()).toEqual(one);
});

describe('exit codes', () => {
  test('1 when a file is wrong; its neighbours are compiled', async () => {
    put('store.yaml', store);
    put('bad.yaml', store.replace('port: 80', 'port: http').replaceAll('name: store', 'name: other'));
    const { code, text } = await compile();
    expect(code).toBe(1);
    expect(text).toContain('store.shop.gw.cluster.local');
    expect(text).toMatch(
      /✖ .*bad\.yaml:7 {2}Gateway shop\/other\n {2}spec\.listeners\[0\]\.port: expected an integer from 1 to 65535, found "http"/,
    );
  });

  test('1 when an object leads nowhere', async () => {
    put('store.yaml', store.replace('name: store, port: 80', 'name: missing, port: 80'));
    const { code, text } = await compile();
    expect(code).toBe(1);
    expect(text).toMatch(
      /✖ \S+\/store.yaml:15 {2}TCPRoute shop\/store {2}ResolvedRefs False, BackendNotFound\n {2}spec\.rules\[0\]/,
    );
    expect(text).toContain('nothing (rejected)');
  });

  test('1 when addresses run out, told of the Gateway that has none', async () => {
    put('store.yaml', store.replace(/ {2}addresses.*\n/, ''));
    put('two.yaml', store.replace(/ {2}addresses.*\n/, '').replaceAll('name: store', 'name: two'));
    const { code, text } = await compile({ serviceCidrs: ['10.96.0.0/30'] });
    expect(code).toBe(1);
    expect(text).toMatch(/✖ \S+\/two.yaml:5 {2}Gateway shop\/two {2}Programmed False, AddressNotAssigned/);
    expect(text).not.toMatch(/✖ \S+ {2}Gateway shop\/store/);
  });

  test('usage: an error with its code', async () => {
    await expect(compile({ dir: join(folder, 'missing') })).rejects.toMatchObject({ code: 'E_USAGE' });
  });
});

test('an empty folder is no mistake, and says that there is nothing', async () => {
  const { code, text } = await compile();
  expect(code).toBe(0);
  expect(text).toContain('no front ends');
});

describe('what is wrong with objects is told with its place', () => {
  test('the line of the field, in a document, in a List, and behind an anchor', async () => {
    put(
      'deep/list.yaml',
      `apiVersion: v1
kind: Pod
metadata: {name: other, namespace: shop}
---
apiVersion: v1
kind: List
items:
- apiVersion: gateway.networking.k8s.io/v1
  kind: Gateway
  metadata: {name: store, namespace: shop}
  spec:
    gatewayClassName: clusterip
    listeners: [{name: http, protocol: TCP, port: 80}]
- apiVersion: gateway.networking.k8s.io/v1
  kind: Gateway
  metadata: {name: ok, namespace: shop}
  spec:
    gatewayClassName: cluster-ip
    listeners:
    - name: http
      protocol: HTTP
      port: 80
`,
    );
    const { text, code } = await compile();
    expect(code).toBe(1);
    const at = (line: number) => `${folder}/deep/list.yaml:${line}`;
    expect(text).toContain(
      `● ${at(12)}  Gateway shop/store  ClassNotFound\n  spec.gatewayClassName: expected a GatewayClass that exists, found "clusterip"; did you mean "cluster-ip"?`,
    );
    expect(text).toContain(`✖ ${at(21)}  Gateway shop/ok  Accepted False, UnsupportedProtocol`);
    // Of the whole object.
    expect(text).toContain(`✖ ${at(14)}  Gateway shop/ok  Programmed False, Invalid`);
    const { problems } = JSON.parse((await compile({ output: 'json' })).text);
    expect(problems).toContainEqual(
      expect.objectContaining({ code: 'ClassNotFound', file: 'deep/list.yaml', line: 12, column: 5 }),
    );
  });

  test('many of them: the first are shown, the others counted, and all are in -o json', async () => {
    const route = (i: number) =>
      `apiVersion: gateway.networking.k8s.io/v1\nkind: TCPRoute\nmetadata: {name: r${i}, namespace: shop}\nspec:\n  parentRefs: [{name: nobody}]\n  rules: [{backendRefs: [{name: x, port: 80}]}]\n`;
    put('routes.yaml', Array.from({ length: 300 }, (_, i) => route(i)).join('---\n'));
    for (let i = 0; i < 60; i++)
      put(`broken/${i}.yaml`, 'kind: Gateway\napiVersion: gateway.networking.k8s.io/v1\n');
    const { text } = await compile();
    expect(text.match(/^✖ \S+\/broken/gm)?.length).toBe(50);
    const { files, problems } = JSON.parse((await compile({ output: 'json' })).text);
    const mistakes = files.length;
    expect(mistakes).toBeGreaterThanOrEqual(60);
    expect(problems).toHaveLength(300);
    expect(text).toContain(
      `… and ${mistakes + 250} more, ${mistakes} mistakes and 300 notes in all: -o json lists them\n`,
    );
  });
});
