import { expect, test } from 'vitest';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import { renderCluster } from './cluster.ts';
import { describeLog } from './describe.ts';
import { ResourceLog } from './resource-log.ts';

test('a log is described by type and name; what is withheld is there without content', () => {
  const log = new ResourceLog();
  for (const name of ['selector/shop/b/tcp-80', 'selector/shop/a/tcp-80', 'selector/shop/gone/tcp-80']) {
    log.set(typeUrls.cluster, { name, body: renderCluster({ key: name, policy: 'Even' }) });
  }
  log.withhold(typeUrls.assignment, 'selector/shop/a/tcp-80');
  log.remove(typeUrls.cluster, 'selector/shop/gone/tcp-80');
  const described = describeLog(log);
  expect(Object.keys(described)).toEqual(['Cluster', 'ClusterLoadAssignment']);
  expect(Object.keys(described.Cluster ?? {})).toEqual(['selector/shop/a/tcp-80', 'selector/shop/b/tcp-80']);
  expect(described.Cluster?.['selector/shop/a/tcp-80']).toMatchObject({ type: 'EDS' });
  expect(described.ClusterLoadAssignment).toEqual({ 'selector/shop/a/tcp-80': null });
});
