import { expect, test } from 'vitest';
import { decodeDeltaResponse } from '../../wire/proto/discovery.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import type { Resource } from './log-entry.ts';
import { ResourceLog } from './resource-log.ts';

const typeUrl = typeUrls.assignment;
const resource: Resource = {
  name: 'xdstp://demo/T/v1/a',
  body: Buffer.from('body'),
  metadata: Buffer.from('beside'),
  facts: { to: 'all' },
};

test('a log that borrows bodies holds no bytes of its own, and answers as one that does not', () => {
  const [owner, borrower] = [new ResourceLog(), new ResourceLog({ borrows: true })];
  const changes: Resource[] = [
    resource,
    resource,
    { ...resource, metadata: Buffer.from('other') },
    { ...resource, facts: { to: 'none' } },
    { ...resource, body: Buffer.from('more') },
  ];
  for (const change of changes) {
    expect(borrower.set(typeUrl, change)).toBe(owner.set(typeUrl, change));
    for (const log of [owner, borrower]) log.tellAgain(typeUrl, resource.name);
    const [ours, theirs] = [borrower, owner].map((log) => log.get(typeUrl, resource.name));
    for (const key of ['name', 'state', 'version', 'seq', 'fragment', 'facts'] as const) {
      expect(ours?.[key]).toEqual(theirs?.[key]);
    }
  }
  const entry = borrower.get(typeUrl, resource.name);
  expect(Object.values(entry ?? {}).some((value) => value instanceof Uint8Array)).toBe(false);
  expect(decodeDeltaResponse(entry?.fragment as Buffer).resources[0]?.body).toEqual(Buffer.from('more'));
  expect(borrower.remove(typeUrl, resource.name)).toBe(true);
  expect(borrower.get(typeUrl, resource.name)?.fragment).toHaveLength(0);
});
