import { isIP, isIPv6 } from 'node:net';
import { AppError } from './errors.ts';

export interface HostPort {
  /** Empty: all addresses of this machine. IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

const form = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]*)):(\d{1,5})$/;

/** `host:port`, `:port` or `[IPv6]:port`. Undefined: it is none of these. */
export function parseHostPort(text: string): HostPort | undefined {
  const [, v6, name = '', digits] = form.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65535) return undefined;
  if (v6 !== undefined) return isIPv6(v6) ? { host: v6, port } : undefined;
  // Digits and dots alone are meant as an address.
  return /^[0-9.]+$/.test(name) && !isIP(name) ? undefined : { host: name, port };
}

/** Throws E_USAGE, naming the flag. */
export function requireHostPort(flag: string, text: string): HostPort {
  const parsed = parseHostPort(text);
  if (parsed) return parsed;
  throw new AppError('E_USAGE', `${flag}: expected host:port or [IPv6]:port, found ${JSON.stringify(text)}`);
}

/** Only this machine reaches it. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\./.test(host) || /^::ffff:127\./i.test(host);

export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
