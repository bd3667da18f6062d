import { formatName, type NameKey } from '../../wire/dns/name.ts';
import { soaTimes, srvPriority, srvWeight } from './record-set.ts';
import type { OwnerData, Zone } from './zone.ts';

/** The zone in master file format (RFC 1035 §5), names in canonical order; other servers can load it. */
export function formatZone(zone: Zone): string {
  const ttl = zone.negativeTtl;
  const times = `${soaTimes.refresh} ${soaTimes.retry} ${soaTimes.expire}`;
  const lines = [
    `$ORIGIN ${zone.name === '.' ? '' : zone.name}.`,
    ...(zone.isComplete ? [] : ['; not complete yet: every question is answered SERVFAIL']),
    `@ ${ttl} IN SOA ns hostmaster ${zone.serial} ${times} ${ttl}`,
    `@ ${ttl} IN NS ns`,
  ];
  const owners = [...zone.owners()].map(([key, data]) => ({ labels: labelsFromRoot(key), key, data }));
  owners.sort((a, b) => compare(a.labels, b.labels));
  for (const { key, data } of owners) lines.push(...ownerLines(relative(key, zone), data, zone));
  return `${lines.join('\n')}\n`;
}

function ownerLines(owner: string, data: OwnerData, zone: Zone): string[] {
  const line = (type: string, value: string): string => `${owner} ${data.ttl} IN ${type} ${value}`;
  if (data.v4.length + data.v6.length + data.ports.length === 0) return [`; ${owner} has no address yet`];
  return [
    ...data.v4.map((address) => line('A', address)),
    ...data.v6.map((address) => line('AAAA', address)),
    ...data.ports.map((port) =>
      line('SRV', `${srvPriority} ${srvWeight} ${port} ${relative(data.target, zone)}`),
    ),
  ];
}

function relative(key: NameKey, zone: Zone): string {
  const own = key.slice(0, key.length - zone.apex.length);
  return own === '' ? '@' : formatName(Buffer.from(`${own}\0`, 'latin1'));
}

function labelsFromRoot(key: NameKey): string[] {
  const labels: string[] = [];
  for (let i = 0; key.charCodeAt(i) > 0; i += 1 + key.charCodeAt(i)) {
    labels.push(key.slice(i + 1, i + 1 + key.charCodeAt(i)));
  }
  return labels.reverse();
}

function compare(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < a.length && i < b.length; i += 1) {
    const [x, y] = [a[i] as string, b[i] as string];
    if (x !== y) return x < y ? -1 : 1;
  }
  return a.length - b.length;
}
