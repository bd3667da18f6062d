import { AppError, messageOf } from '../../runtime/errors.ts';
import { Mirror } from './mirror.ts';
import { Renderer } from './render.ts';
import type { NftRunner } from './runner.ts';
import { backend, endpoint, frontend, ir, node, tcp, to, udp } from './sample-ir.ts';
import { rehearsal } from './transaction.ts';

/**
 * Proves that nft and the kernel take every construct of the table: once as a check of nft alone, once as a
 * transaction that makes a table of another name and deletes it again. Throws E_NFT_UNUSABLE, saying what is
 * missing and what to do.
 */
export async function checkCapability(runner: NftRunner): Promise<void> {
  const steps = new Mirror({ graceMs: 0 }).advance(
    new Renderer({ node: 'n', cluster: 'c' }).render(sample),
    0,
  );
  const text = rehearsal(steps);
  try {
    await runner.check(text);
    await runner.run(text);
  } catch (error) {
    throw nftUnusable(error);
  }
}

/** E_NFT_UNUSABLE for what nft said, with what to do. */
export function nftUnusable(error: unknown): AppError {
  return new AppError('E_NFT_UNUSABLE', `nftables cannot be used here: ${advice(messageOf(error))}`, {
    cause: error,
  });
}

function advice(message: string): string {
  if (/cannot run nft|ENOENT/.test(message))
    return `${message}; install the package nftables (1.0.6 or newer)`;
  if (/not permitted/.test(message)) return `${message}; the agent needs the capability NET_ADMIN`;
  return `${message}; expected nft 1.0.6 or newer and Linux 5.9 or newer, with nf_tables, nft_nat, nft_masq, nft_reject and nft_numgen`;
}

const sample = ir({
  frontends: [
    frontend(
      'gateway/a/a',
      ['198.51.100.1', '2001:db8::1'],
      [tcp(80, [to('b')]), udp(53, [to('b')]), tcp(81, [])],
    ),
  ],
  backends: [
    backend('b', [
      endpoint(['198.51.100.2', '2001:db8::2'], 8080, { snat: true }),
      endpoint(['198.51.100.3', '2001:db8::3']),
    ]),
  ],
  nodes: [node('n', ['198.51.100.0/31', '2001:db8:1::/64'])],
});
