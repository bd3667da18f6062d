import { expect, test } from 'vitest';
import { networkOf } from '../../model/network.ts';
import { type ModelConfigOptions, modelConfig } from './model-config.ts';

const options: ModelConfigOptions = {
  cluster: 'east',
  set: 'demo',
  region: '',
  network: '',
  zone: 'gw.cluster.local',
  controllerName: 'a/b',
  serviceCidrs: ['10.96.0.0/16'],
  relays: ['hub:18100'],
  tls: { cert: 'east.crt' },
};
const nothingSaid = { labels: {}, region: '', network: '' };
const certified = { labels: { env: 'prod' }, region: 'eu', network: 'n1' };

test('what the flags leave open is what the certificate says', () => {
  expect(modelConfig(options, certified)).toMatchObject({
    region: 'eu',
    network: 'n1',
    labels: { env: 'prod' },
    clusterset: 'demo',
    relay: true,
  });
  expect(networkOf(modelConfig(options, nothingSaid).network)).toBe('default');
});

test.each([
  [{ region: 'eu', network: 'n1' }, certified, undefined],
  [{ network: 'default' }, nothingSaid, undefined],
  [{ relays: [], region: 'eu', network: 'n1' }, nothingSaid, undefined],
  [{ network: 'n2' }, certified, '--network n2: the certificate east.crt (--tls-cert) says n1'],
  [{ network: 'default' }, certified, '--network default: the certificate east.crt (--tls-cert) says n1'],
  [{ network: 'n1' }, nothingSaid, '--network n1: the certificate east.crt (--tls-cert) carries no network'],
  [{ region: 'eu' }, nothingSaid, '--region eu: the certificate east.crt (--tls-cert) carries no region'],
  [{ relays: [], region: 'us' }, certified, '--region us: the certificate east.crt (--tls-cert) says eu'],
])('%j with a certificate of %j: %s', (flags, identity, refusal) => {
  const config = () => modelConfig({ ...options, ...flags }, identity);
  if (refusal === undefined) expect(config()).toMatchObject({ cluster: 'east', ...omit(flags) });
  else
    expect(config).toThrow(
      expect.objectContaining({ code: 'E_USAGE', message: expect.stringContaining(refusal) }),
    );
});

const omit = ({ relays: _, ...rest }: Partial<ModelConfigOptions>): object => rest;
