import { expect, test } from 'vitest';
import {
  type ContributionName,
  contributionGlob,
  formatContributionName,
  formatOriginName,
  originGlob,
  parseRelayName,
  portKeyOf,
} from './names.ts';

const name: ContributionName = {
  set: 'demo',
  type: 'assignment',
  namespace: 'shop',
  composite: 'store.v2',
  protocol: 'UDP',
  port: 53,
  cluster: 'west',
};

test('names are parsed to what they were formatted from', () => {
  const text = formatContributionName(name);
  expect(text).toBe(
    'xdstp://demo/envoy.config.endpoint.v3.ClusterLoadAssignment/v1/shop/store.v2/udp-53/west',
  );
  expect(parseRelayName(text)).toEqual({ kind: 'contribution', ...name });
  const shard = { ...name, protocol: 'TCP' as const, shard: '01' };
  expect(formatContributionName(shard).endsWith('/tcp-53/west.01')).toBe(true);
  expect(parseRelayName(formatContributionName(shard))).toEqual({ kind: 'contribution', ...shard });
  const cluster = { ...name, type: 'cluster' as const };
  expect(parseRelayName(formatContributionName(cluster))).toEqual({ kind: 'contribution', ...cluster });
  expect(parseRelayName(formatOriginName({ set: 'demo', cluster: 'west' }))).toEqual({
    kind: 'origin',
    set: 'demo',
    cluster: 'west',
  });
  expect(text.startsWith(contributionGlob('demo', 'assignment', portKeyOf(name)).slice(0, -1))).toBe(true);
});

test('anything else is not a name', () => {
  const base = formatContributionName(name);
  const wrong = [
    '',
    'composite/shop/store/tcp-80',
    contributionGlob('demo', 'cluster', 'shop/store/tcp-80'),
    originGlob('demo'),
    base.replace('/v1/', '/v2/'),
    base.replace('udp-53', 'udp-70000'),
    base.replace('udp-53', 'udp-053'),
    base.replace('udp-53', 'sctp-53'),
    base.replace('shop', 'Shop'),
    base.replace('shop', 'a/b'),
    base.replace('west', 'west.0.1'),
    base.replace('west', '../east'),
    base.replace('west', 'west?x=1'),
    base.replace('west', 'we%2fst'),
    `${base}\n`,
    ` ${base}`,
    base.replace('ClusterLoadAssignment', 'Other'),
    formatContributionName({ ...name, type: 'cluster', shard: '0' }),
    `${formatOriginName({ set: 'demo', cluster: 'west' })}.0`,
    base.replace('store.v2', `${'a'.repeat(63)}.`.repeat(20)),
  ];
  for (const text of wrong) expect(parseRelayName(text), text).toBeUndefined();
});
