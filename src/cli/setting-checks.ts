import { isIP } from 'node:net';
import { parseHostPort } from '../runtime/host-port.ts';
import { logLevels } from '../runtime/log.ts';
import { dnsLabel, dnsSubdomain, topologyName } from '../runtime/name-patterns.ts';
import { parseSerial } from '../runtime/revocations.ts';
import { parseCidr } from '../wire/address.ts';
import { parseName } from '../wire/dns/name.ts';
import { parseDuration, parseLabel, parseNamespaces } from './relay-certificate-values.ts';

/** What is expected, where a text is not that. Undefined: it can be used. */
export type Check = (text: string) => string | undefined;

const expecting =
  (what: string, holds: (text: string) => boolean): Check =>
  (text) =>
    holds(text) ? undefined : what;

export const oneOf = (...choices: readonly string[]): Check =>
  expecting(`${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`, (text) => choices.includes(text));

export const isLogLevel: Check = oneOf(...logLevels);

export const isDnsLabel: Check = expecting(
  'a DNS label (at most 63 lower-case letters, digits and -)',
  (text) => dnsLabel.test(text),
);

export const isDnsName: Check = expecting('a DNS name in lower case', (text) => dnsSubdomain.test(text));

/** What is left of a DNS name is for the names in the zone. */
const maxZone = 200;

export const isZone: Check = expecting(
  `a domain name in lower case, at most ${maxZone} characters, such as gw.cluster.local`,
  (text) => text.length <= maxZone && dnsSubdomain.test(text) && parseName(text) !== undefined,
);

export const isTopologyName: Check = expecting('at most 63 letters, digits and ._-', (text) =>
  topologyName.test(text),
);

export const isCidr: Check = expecting(
  'an address and a prefix length, such as 10.96.0.0/16 or fd00:96::/112',
  (text) => parseCidr(text) !== undefined,
);

/** Gateway API, GatewayController. */
const controllerName =
  /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

export const isControllerName: Check = expecting(
  'a domain and a path, such as example.com/controller',
  (text) => controllerName.test(text),
);

/** Something to dial. */
export const isTarget: Check = expecting('host:port or [IPv6]:port', (text) => {
  const parsed = parseHostPort(text);
  return parsed !== undefined && parsed.host !== '' && parsed.port > 0;
});

/** Something to listen on; no host means all addresses, port 0 a free one. */
export const isListen: Check = expecting(
  'host:port, :port or [IPv6]:port',
  (text) => parseHostPort(text) !== undefined,
);

/** As `isListen`, without names. */
export const isListenAddress: Check = expecting('IPv4:port, [IPv6]:port or :port', (text) => {
  const parsed = parseHostPort(text);
  return parsed !== undefined && (parsed.host === '' || isIP(parsed.host) !== 0);
});

/** Timers of Node hold 31 bits of milliseconds. */
const maxSeconds = 2_000_000;

export const isSeconds: Check = expecting(
  `a number of seconds above 0 and at most ${maxSeconds}`,
  (text) => /^\d+(\.\d+)?$/.test(text) && Number(text) > 0 && Number(text) <= maxSeconds,
);

export const isPath: Check = expecting('a path', (text) => text !== '' && !text.includes('\0'));

export const isLabel: Check = expecting(
  'key=value as labels of Kubernetes are',
  (text) => parseLabel(text) !== undefined,
);

export const isNamespaces: Check = expecting(
  'namespaces, or prefixes and *, comma-separated',
  (text) => parseNamespaces(text) !== undefined,
);

export const isDuration: Check = expecting(
  'a time as 90d, 12h, 30m or 60s',
  (text) => parseDuration(text) !== undefined,
);

/** Of a host in a certificate. */
export const isSerial: Check = expecting(
  'up to 40 hexadecimal digits',
  (text) => parseSerial(text) !== undefined,
);

export const isReason: Check = expecting('at most 200 characters in one line', (text) =>
  /^[^\p{Cc}]{0,200}$/u.test(text),
);

export const isHostName: Check = expecting('a DNS name in lower case, perhaps with *. before it', (text) =>
  dnsSubdomain.test(text.replace(/^\*\./, '')),
);

export const isAddress: Check = expecting('an IP address', (text) => isIP(text) !== 0);
