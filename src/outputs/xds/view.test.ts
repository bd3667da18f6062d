import { expect, test } from 'vitest';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { ResourceLog } from './resource-log.ts';
import { dataPlaneView } from './view.ts';

const names: readonly (readonly [typeUrl: string, name: string])[] = [
  [typeUrls.listener, 'gateway/shop/store/tcp-80'],
  [typeUrls.listener, 'gateway/shop/udp-53/tcp-80'],
  [typeUrls.listener, 'gateway/shop/store/udp-53'],
  [typeUrls.cluster, 'composite/shop/store/udp-53'],
  [typeUrls.assignment, 'composite/shop/store/udp-53'],
  [typeUrls.assignment, 'nodes'],
  [typeUrls.originStatus, 'xdstp://demo/causeway.v1.OriginStatus/v1/east'],
];

function seenBy(role: string): string[] {
  const log = new ResourceLog();
  for (const [typeUrl, name] of names) log.set(typeUrl, { name, body: Buffer.from(name) });
  const view = dataPlaneView(role);
  return names.flatMap(([typeUrl, name]) => {
    const entry = log.get(typeUrl, name);
    return entry && view?.sees(typeUrl, entry) ? [name] : [];
  });
}

test('what is seen comes from the role: agents see all, dns front ends, proxies what standard clients take', () => {
  const all = names.map(([, name]) => name);
  expect(seenBy('agent')).toEqual(all);
  expect(seenBy('dns')).toEqual([...all.slice(0, 3), ...all.slice(6)]);
  expect(seenBy('proxy')).toEqual([...all.slice(0, 2), ...all.slice(3, 5)]);
  for (const role of ['controller', 'relay', 'admin', '']) expect(dataPlaneView(role)).toBeUndefined();
});
