import { expect, test } from 'vitest';
import {
  type ContributionName,
  contributionGlob,
  contributionKeyOf,
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

test('the publisher’s own name stands at the end where it is another one', () => {
  const shard = { ...name, shard: '01', from: 'team-a/api.v1' };
  const text = formatContributionName(shard);
  expect(text.split('/v1/')[1]).toBe('shop/store.v2/udp-53/west.01:team-a:api.v1');
  expect(parseRelayName(text)).toEqual({ kind: 'contribution', ...shard });
  expect(contributionKeyOf(shard)).toBe('shop/store.v2/udp-53/west:team-a:api.v1');
  expect(text.startsWith(contributionGlob('demo', 'assignment', portKeyOf(shard)).slice(0, -1))).toBe(true);
  expect(text.lastIndexOf('/')).toBe(formatContributionName(name).lastIndexOf('/'));
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
    formatContributionName({ ...name, from: 'shop/store.v2' }),
    formatContributionName({ ...name, from: `shop/${'a'.repeat(63)}${`.${'a'.repeat(63)}`.repeat(3)}` }),
    base.replace('west', 'west:team-a'),
    base.replace('west', 'west:team-a:'),
    base.replace('west', 'west:team-a:api:x'),
    base.replace('west', 'west:team-a:api.01:'),
    `${formatOriginName({ set: 'demo', cluster: 'west' })}:team-a:api`,
    `${formatOriginName({ set: 'demo', cluster: 'west' })}.0`,
    base.replace('store.v2', `${'a'.repeat(63)}.`.repeat(20)),
  ];
  for (const text of wrong) expect(parseRelayName(text), text).toBeUndefined();
});
