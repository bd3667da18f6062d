import { AppError } from './errors.ts';

/** `host:port`, `:port` (all addresses) or `[v6]:port`. Throws E_USAGE. */
export function parseHostPort(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65535) {
    throw new AppError('E_USAGE', `expected host:port or [IPv6]:port, found ${JSON.stringify(text)}`);
  }
  return { host: match[1] ?? (match[2] || '::'), port };
}
