import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Frontend } from '../../src/model/ir.ts';
import { rcodes } from '../../src/wire/dns/codes.ts';
import type { Message } from '../../src/wire/dns/message.ts';
import { DnsClient, flood } from './dns-client.ts';
import { gateway } from './dns-controller.ts';
import { causeway, startCoreDns } from './dns-process.ts';
import { type DnsSite, startSite, until } from './dns-site.ts';

const zone = 'gw.cluster.local';
const store = gateway('store', zone, ['10.96.0.7', 'fd00:96::7']);
/** One name with many addresses, as no single front end has: an answer too large for UDP. */
const crowd: readonly Frontend[] = Array.from({ length: 150 }, (_, i) => ({
  ...gateway('crowd', zone, [`10.97.0.${i + 1}`]),
  key: `gateway/shop/crowd-${i}`,
}));

let site: DnsSite;
const clients: readonly [string, () => DnsClient][] = [
  ['directly', () => site.own],
  ['through CoreDNS', () => site.coredns],
];

beforeAll(async () => {
  site = await startSite({
    number: 51,
    zone,
    listen: ['[::1]:53'],
    hosts: {
      'kube-dns.kube-system.svc.cluster.local': '10.96.0.10',
      'store.shop.svc.cluster.local': '10.96.0.80',
    },
  });
  await site.controller.start([store, ...crowd]);
  await until(async () => expect((await site.page('/readyz')).status).toBe(200));
});
afterAll(() => site.close());

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const data = (records: Message['answers']): unknown[] => records.map((r) => ({ name: r.name, ...r.data }));
const soa = { name: zone, type: 'SOA', mname: `ns.${zone}`, minimum: 5 };

test.each(['udp', 'tcp'] as const)(
  'stock CoreDNS with `forward` to our dns answers our names and its own over %s',
  async (transport) => {
    const ask = (name: string, type: 'A' | 'AAAA' | 'SRV'): Promise<Message> =>
      site.coredns.ask(name, { type, transport });
    const a = await ask(`STORE.shop.${zone}`, 'A');
    expect(a.questions[0]?.name).toBe(`STORE.shop.${zone}`);
    expect(a.answers).toMatchObject([{ data: { type: 'A', address: '10.96.0.7' } }]);
    // It keeps answers, but no longer than we say.
    expect(a.answers[0]?.ttl).toBeLessThanOrEqual(5);
    expect((await site.own.ask(`store.shop.${zone}`, { transport })).answers[0]?.ttl).toBe(5);
    const aaaa = await ask(`store.shop.${zone}`, 'AAAA');
    expect(data(aaaa.answers)).toMatchObject([{ type: 'AAAA', address: 'fd00:96::7' }]);
    const target = `store.shop.${zone}`;
    const srv = await ask(`_http._tcp.${target}`, 'SRV');
    expect(data(srv.answers)).toMatchObject([{ type: 'SRV', port: 80, target }]);
    expect(data(srv.additionals)).toMatchObject([
      { name: target, type: 'A', address: '10.96.0.7' },
      { name: target, type: 'AAAA', address: 'fd00:96::7' },
    ]);
    const kube = await site.coredns.addresses('kube-dns.kube-system.svc.cluster.local', { transport });
    expect(kube).toEqual(['10.96.0.10']);
  },
);

test('N3 a name answers with its VIP where there is nothing but a front end: no Service, selector or pod', async () => {
  expect((await site.page('/debug/ir')).text).toContain('backends: {}');
  expect(await site.coredns.addresses(`store.shop.${zone}`)).toEqual(['10.96.0.7']);
});

test.each(clients)(
  'N8 %s: NXDOMAIN with SOA, no data with SOA, never an empty answer without',
  async (_, client) => {
    const unknown = await client().ask(`none.shop.${zone}`);
    expect(unknown.rcode).toBe(rcodes.NXDOMAIN);
    expect(data(unknown.authorities)).toMatchObject([soa]);
    for (const [name, type] of [
      [`store.shop.${zone}`, 'TXT'],
      [`crowd.shop.${zone}`, 'AAAA'],
      [`shop.${zone}`, 'A'],
      [zone, 'A'],
    ] as const) {
      const empty = await client().ask(name, { type });
      expect(empty, name).toMatchObject({ rcode: rcodes.NOERROR, answers: [] });
      expect(data(empty.authorities), name).toMatchObject([soa]);
    }
  },
);

test.each(clients)('an answer too large for UDP is truncated and whole over TCP, %s', async (_, client) => {
  for (const [udpSize, most] of [
    [undefined, 512],
    [1232, 1232],
    [4096, 1232],
  ] as const) {
    const part = await client().ask(`crowd.shop.${zone}`, udpSize === undefined ? {} : { udpSize });
    expect(part.flags.tc).toBe(true);
    expect(part.answers.length).toBeGreaterThan(0);
    expect(part.answers.length).toBeLessThan(most / 16);
  }
  const whole = await client().ask(`crowd.shop.${zone}`, { transport: 'tcp' });
  expect(whole.flags.tc).toBe(false);
  expect(whole.answers).toHaveLength(150);
});

test('both address families, and REFUSED outside the zone', async () => {
  const v6 = new DnsClient('::1');
  for (const transport of ['udp', 'tcp'] as const) {
    expect(await v6.addresses(`store.shop.${zone}`, { transport })).toEqual(['10.96.0.7']);
    expect(await v6.addresses('store.shop.svc.cluster.local', { transport })).toBe(rcodes.REFUSED);
  }
});

test('N8 the `file` plugin of CoreDNS gives the same answers from our zone as text', async () => {
  writeFileSync('/run/causeway/dns-zone', (await site.page('/debug/wanted')).text);
  const other = await startCoreDns(`${zone}:53 {\n  bind 127.0.51.3\n  file /run/causeway/dns-zone\n}\n`);
  closing.push(() => other.stop());
  const file = new DnsClient('127.0.51.3');
  const said = ({ rcode, flags, answers, authorities }: Message): unknown => ({
    rcode,
    aa: flags.aa,
    answers: data(answers),
    // CoreDNS adds NS to positive answers; of negative ones the authority is the answer.
    authorities: answers.length > 0 ? [] : data(authorities),
  });
  for (const name of [
    zone,
    `shop.${zone}`,
    `store.shop.${zone}`,
    `x.store.shop.${zone}`,
    `_tcp.store.shop.${zone}`,
    `_http._tcp.store.shop.${zone}`,
    `_none._tcp.store.shop.${zone}`,
    `none.${zone}`,
  ]) {
    for (const type of ['A', 'AAAA', 'SRV', 'SOA', 'NS', 'TXT'] as const) {
      const theirs = await file.ask(name, { type });
      expect(said(await site.own.ask(name, { type })), `${name} ${type}`).toEqual(said(theirs));
    }
  }
});

test('a burst of queries whose answers nobody reads does not grow memory, and answers go on', async () => {
  const status = `/proc/${site.role.pid}/status`;
  const residentMiB = (): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(status, 'utf8'))?.[1]) / 1024;
  const burst = async (): Promise<void> => {
    await flood(site.address, `store.shop.${zone}`, 20_000);
    await until(async () => expect(await site.own.addresses(`store.shop.${zone}`)).toEqual(['10.96.0.7']));
  };
  await burst();
  const before = residentMiB();
  for (let i = 0; i < 3; i += 1) await burst();
  expect(residentMiB()).toBeLessThan(before + 64);
});

test('a port that is taken: exit 1 and a message with port, transport and flag', async () => {
  const second = causeway(['dns', ...site.controller.flags, '--listen', `${site.address}:53`]);
  expect(await second.exited()).toBe(1);
  expect(second.output()).toContain(`E_LISTEN cannot listen on ${site.address}:53 over TCP (--listen)`);
});

test('N8 from start to end: SERVFAIL before the first complete state, names stay while the controller is away', async () => {
  const own = await startSite({ number: 52, zone, hosts: { 'web.shop.svc.cluster.local': '10.96.0.80' } });
  closing.push(() => own.close());
  const name = `store.shop.${zone}`;
  for (const client of [own.own, own.coredns]) expect(await client.addresses(name)).toBe(rcodes.SERVFAIL);
  expect(await own.coredns.addresses('web.shop.svc.cluster.local')).toEqual(['10.96.0.80']);
  expect((await own.page('/readyz')).status).toBe(503);
  expect((await own.page('/debug/wanted')).text).toContain('not complete yet');

  await own.controller.start([store]);
  await until(async () => expect(await own.coredns.addresses(name)).toEqual(['10.96.0.7']));
  await own.controller.stop();
  await until(async () => expect((await own.page('/debug/inputs')).text).toContain('connected: false'));
  expect(await own.coredns.addresses(name)).toEqual(['10.96.0.7']);
  expect(await own.coredns.addresses(`none.shop.${zone}`)).toBe(rcodes.NXDOMAIN);
  expect((await own.page('/readyz')).status).toBe(200);

  await own.controller.start([gateway('cart', zone, ['10.96.0.8'])]);
  await until(async () => expect(await own.coredns.addresses(`cart.shop.${zone}`)).toEqual(['10.96.0.8']));
  await until(async () => expect(await own.coredns.addresses(name)).toBe(rcodes.NXDOMAIN));
  expect(await own.role.stop()).toBe(0);
});

test('N6 another zone: its names resolve through CoreDNS, and nothing says cluster.local', async () => {
  const deva = 'gw.deva.example';
  const other = await startSite({ number: 53, zone: deva });
  closing.push(() => other.close());
  await other.controller.start([gateway('store', deva, ['10.96.0.7'])]);
  const client = other.coredns;
  await until(async () => expect((await other.page('/readyz')).status).toBe(200));
  await until(async () => expect(await client.addresses(`store.shop.${deva}`)).toEqual(['10.96.0.7']));
  const answers = [
    await client.ask(`_http._tcp.store.shop.${deva}`, { type: 'SRV' }),
    await client.ask(`none.shop.${deva}`),
    await client.ask(deva, { type: 'SOA' }),
    await client.ask(deva, { type: 'NS' }),
  ];
  expect(answers.map((m) => m.rcode)).toEqual([0, rcodes.NXDOMAIN, 0, 0]);
  const pages = await Promise.all(
    ['/debug/inputs', '/debug/ir', '/debug/wanted', '/metrics'].map(async (p) => (await other.page(p)).text),
  );
  expect(pages[2]).toContain('store.shop 5 IN A 10.96.0.7');
  expect([JSON.stringify(answers), ...pages, other.role.output()].join('\n')).not.toContain('cluster.local');
  expect(await other.own.addresses(`store.shop.${zone}`)).toBe(rcodes.REFUSED);
});
