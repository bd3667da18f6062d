import { type Family, reserved } from './address.ts';

/** The only table we ever name. */
export const tableName = 'inet causeway';

/** Changes when base chains or set types change: a table of another version is replaced, not compared. */
export const families: readonly Family[] = [4, 6];

/** Sets and maps by name, with the lines that declare them. Order: those that rules refer to are all here. */
export const setDeclarations: ReadonlyMap<string, readonly string[]> = new Map([
  ...families.flatMap((f): [string, string[]][] => {
    const ip = f === 4 ? 'ip' : 'ip6';
    const port = `type ipv${f}_addr . inet_proto . inet_service`;
    return [
      [`vip${f}`, [`${port} : verdict`, 'counter']],
      [`noep${f}`, [`${port} : verdict`, 'counter']],
      // Maps are per protocol: `th dport` in a concatenation cannot be used by rules added later.
      [`et${f}`, [`typeof ${ip} daddr . tcp dport . numgen random mod 2 : ${ip} daddr . tcp dport`]],
      [`eu${f}`, [`typeof ${ip} daddr . udp dport . numgen random mod 2 : ${ip} daddr . udp dport`]],
      [`own${f}`, [`type ipv${f}_addr`]],
      [`any${f}`, [`type ipv${f}_addr`]],
      [`hair${f}`, [`type ipv${f}_addr . ipv${f}_addr`]],
      [`snat${f}`, [port]],
      [`pods${f}`, [`type ipv${f}_addr`, 'flags interval']],
    ];
  }),
]);

/** Discard: what is sent to this port of a reserved address is answered by our table, and by nothing else. */
export const probePort = 9;

/** Elements that are always there. */
export const fixedElements: readonly [set: string, key: string, data: string][] = families.map((f) => [
  `noep${f}`,
  `${reserved[f]} . tcp . ${probePort}`,
  'goto rej',
]);

export const isVerdictMap = (set: string): boolean => set.startsWith('vip') || set.startsWith('noep');

/**
 * Chains that do not depend on what is wanted. Priorities are numbers because nft 1.0.6 knows the names only in
 * some hooks: -110 answers before anybody translates, -105 is before kube-proxy's -100, -10 before its filter
 * chains that drop unknown addresses of the ServiceCIDR.
 */
export const baseChains: ReadonlyMap<string, readonly string[]> = new Map([
  ['rej', ['meta l4proto tcp reject with tcp reset', 'reject']],
  [
    'noep',
    [
      'ct state new ip daddr . meta l4proto . th dport vmap @noep4',
      'ct state new ip6 daddr . meta l4proto . th dport vmap @noep6',
    ],
  ],
  [
    'disp',
    ['ip daddr . meta l4proto . th dport vmap @vip4', 'ip6 daddr . meta l4proto . th dport vmap @vip6'],
  ],
  [
    'badport',
    [
      `ip daddr ${reserved[4]} goto rej`,
      `ip6 daddr ${reserved[6]} goto rej`,
      'ct state new ip daddr @own4 goto rej',
      'ct state new ip6 daddr @own6 goto rej',
    ],
  ],
  [
    'masq',
    [
      'ip saddr . ip daddr @hair4 masquerade fully-random',
      'ip6 saddr . ip6 daddr @hair6 masquerade fully-random',
      'ip daddr . meta l4proto . th dport @snat4 masquerade fully-random',
      'ip6 daddr . meta l4proto . th dport @snat6 masquerade fully-random',
      'oifname "lo" return',
      'ct original ip daddr @any4 ip saddr != @pods4 masquerade fully-random',
      'ct original ip6 daddr @any6 ip6 saddr != @pods6 masquerade fully-random',
    ],
  ],
  ['f-pre', [hook('filter', 'prerouting', -110), 'jump noep']],
  ['f-out', [hook('filter', 'output', -110), 'jump noep']],
  ['n-pre', [hook('nat', 'prerouting', -105), 'jump disp']],
  ['n-out', [hook('nat', 'output', -105), 'jump disp']],
  ['f-fwd', [hook('filter', 'forward', -10), 'jump badport']],
  ['f-out2', [hook('filter', 'output', -10), 'jump badport']],
  ['n-post', [hook('nat', 'postrouting', 95), 'ct status dnat jump masq']],
]);

function hook(type: string, name: string, priority: number): string {
  return `type ${type} hook ${name} priority ${priority}; policy accept;`;
}

/** The chain shared by all VIPs of a family and protocol with the same number of slots. */
export function dispatchChain(family: Family, protocol: 'tcp' | 'udp', slots: number): string {
  return `${protocol === 'tcp' ? 't' : 'u'}${family}n${slots}`;
}

const dispatchName = /^([tu])([46])n([1-9][0-9]{0,5})$/;

/** The one rule of a dispatch chain; empty for another chain's name. */
export function dispatchRules(chain: string): readonly string[] {
  const match = dispatchName.exec(chain);
  if (!match) return [];
  const [, p, f, m] = match;
  const ip = f === '4' ? 'ip' : 'ip6';
  const port = p === 't' ? 'tcp dport' : 'udp dport';
  return [`dnat ${ip} to ${ip} daddr . ${port} . numgen random mod ${m} map @e${p}${f}`];
}

export const slotMap = (family: Family, protocol: 'tcp' | 'udp'): string =>
  `${protocol === 'tcp' ? 'et' : 'eu'}${family}`;

export const slotMaps: readonly string[] = families.flatMap((f) => [slotMap(f, 'tcp'), slotMap(f, 'udp')]);

/** Everything in the table before the first VIP: `nft` text. */
export function schemaText(table = tableName): string {
  const block = (kind: string, name: string, lines: readonly string[]): string =>
    `  ${kind} ${name} {\n${lines.map((l) => `    ${l}\n`).join('')}  }\n`;
  const sets = [...setDeclarations].map(([name, lines]) =>
    block(/ : /.test(lines[0] as string) ? 'map' : 'set', name, lines),
  );
  const chains = [...baseChains].map(([name, rules]) => block('chain', name, rules));
  return `table ${table} {\n${[...sets, ...chains].join('')}}\n`;
}
