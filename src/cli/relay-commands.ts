import type { Command } from 'commander';
import type { PeerRole } from '../runtime/identity.ts';
import { parseDuration, parseLabel, parseNamespaces } from './relay-certificate-values.ts';
import { flagsCommand } from './settings-command.ts';
import { relayCertificateSettings, relayInitSettings, relayRevokeSettings } from './settings-table.ts';

/** `causeway relay init`. */
export function relayInitCommand(): Command {
  return flagsCommand({
    name: 'init',
    description: 'make the certificate authority of a set of clusters',
    settings: relayInitSettings,
    run: async (s) => {
      const { runRelayInit } = await import('./relay-init.ts');
      process.exitCode = await runRelayInit({ set: s.text('set'), state: s.text('state') });
    },
  });
}

/** `causeway relay certificate`. */
export function relayCertificateCommand(): Command {
  return flagsCommand({
    name: 'certificate',
    description: 'make a certificate for one role of one cluster: tls.crt, tls.key and ca.crt',
    settings: relayCertificateSettings,
    run: async (s) => {
      const { runRelayCertificate } = await import('./relay-certificate.ts');
      const node = s.optional('node');
      process.exitCode = await runRelayCertificate({
        state: s.text('state'),
        cluster: s.text('cluster'),
        role: s.text('role') as PeerRole,
        ...(node === undefined ? {} : { node }),
        labels: Object.fromEntries(s.list('label').flatMap((text) => [parseLabel(text) ?? []])),
        namespaces: parseNamespaces(s.text('namespaces')) ?? [],
        region: s.text('region'),
        network: s.text('network'),
        ttl: parseDuration(s.text('ttl')) ?? 0,
        dns: s.list('dns'),
        ips: s.list('ip'),
        out: s.text('out'),
      });
    },
  });
}

/** `causeway relay revoke`. */
export function relayRevokeCommand(): Command {
  return flagsCommand({
    name: 'revoke',
    description: 'add certificates to the list of revoked ones that relays and controllers follow',
    settings: relayRevokeSettings,
    run: async (s) => {
      const { runRelayRevoke } = await import('./relay-revoke.ts');
      process.exitCode = await runRelayRevoke({
        members: s.text('members'),
        serials: s.list('serial'),
        certificates: s.list('certificate'),
        reason: s.text('reason'),
      });
    },
  });
}
