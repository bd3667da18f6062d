import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'dns.md'), 'utf8');
/** The address of our dns in docs/dns.md. */
const documented = '10.96.0.53';

/**
 * The server block for `zone` as docs/dns.md gives it, but for its addresses. `bind`: where CoreDNS listens, where
 * that is not all of its addresses.
 */
export function documentedStanza(
  zone: string,
  own: { readonly dns: string; readonly bind?: string },
): string {
  const blocks = [...text.matchAll(/^```\n(\S+):53 \{\n([^`]*?)^\}\n```$/gm)];
  const block = blocks.find((found) => found[1] === zone)?.[2];
  if (!block?.includes(`forward . ${documented}\n`)) {
    throw new Error(`docs/dns.md has no server block for ${zone} that forwards to ${documented}`);
  }
  const lines = block.replaceAll(/^ *bind .*\n/gm, '').replace(documented, own.dns);
  return `${zone}:53 {\n${own.bind === undefined ? '' : `    bind ${own.bind}\n`}${lines}}\n`;
}

/** What `cluster.local` is to the same CoreDNS: names with their addresses, instead of the kubernetes plugin. */
export function kubernetesStanza(hosts: Readonly<Record<string, string>>, bind?: string): string {
  const lines = Object.entries(hosts).map(([name, address]) => `        ${address} ${name}\n`);
  const where = bind === undefined ? '' : `    bind ${bind}\n`;
  return `cluster.local:53 {\n${where}    errors\n    hosts {\n${lines.join('')}    }\n}\n`;
}
