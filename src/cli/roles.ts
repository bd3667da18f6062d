import type { Command } from 'commander';
import { relayCertificateCommand, relayInitCommand, relayRevokeCommand } from './relay-commands.ts';
import type { Settings } from './setting.ts';
import { settingsCommand } from './settings-command.ts';
import { agentSettings, controllerSettings, dnsSettings, relaySettings } from './settings-table.ts';

const common = (s: Settings) => ({
  set: s.text('set'),
  tls: { cert: s.text('tls-cert'), key: s.text('tls-key'), ca: s.text('tls-ca') },
  admin: s.text('admin'),
  logLevel: s.text('log-level'),
});

export function controllerCommand(): Command {
  return settingsCommand({
    name: 'controller',
    description: 'compiles one cluster and serves it by xDS',
    settings: controllerSettings,
    run: async (s) => {
      const { runController } = await import('../roles/controller.ts');
      const revoked = s.optional('revoked');
      await runController({
        ...common(s),
        cluster: s.text('cluster'),
        region: s.text('region'),
        network: s.text('network'),
        dir: s.text('dir'),
        state: s.text('state'),
        serviceCidrs: s.list('service-cidr'),
        zone: s.text('zone'),
        controllerName: s.text('controller-name'),
        listen: s.text('listen'),
        relays: s.list('relay'),
        auditIntervalMs: s.milliseconds('audit-interval'),
        ...(revoked === undefined ? {} : { revoked }),
      });
    },
  });
}

export function agentCommand(): Command {
  const command = settingsCommand({
    name: 'agent',
    description: 'programs nftables on one node',
    settings: agentSettings,
    run: async (s) => {
      const { runAgent } = await import('../roles/agent.ts');
      await runAgent({
        ...common(s),
        cluster: s.text('cluster'),
        node: s.text('node'),
        controllers: s.list('controller'),
        auditIntervalMs: s.milliseconds('audit-interval'),
      });
    },
  });
  command
    .command('cleanup')
    .description('remove our table from this node; established connections finish first')
    .action(async () => {
      const { runCleanup } = await import('./cleanup.ts');
      process.exitCode = await runCleanup();
    });
  return command;
}

export function dnsCommand(): Command {
  return settingsCommand({
    name: 'dns',
    description: 'answers the names of front ends',
    settings: dnsSettings,
    run: async (s) => {
      const { runDns } = await import('../roles/dns.ts');
      await runDns({
        ...common(s),
        cluster: s.text('cluster'),
        controllers: s.list('controller'),
        listen: s.list('listen'),
        zone: s.text('zone'),
      });
    },
  });
}

export function relayCommand(): Command {
  return settingsCommand({
    name: 'relay',
    description: 'joins clusters: passes on what they export to each other',
    settings: relaySettings,
    run: async (s) => {
      const { runRelay } = await import('../roles/relay.ts');
      await runRelay({
        ...common(s),
        name: s.text('name'),
        members: s.text('members'),
        listen: s.text('listen'),
        relays: s.list('relay'),
      });
    },
  })
    .enablePositionalOptions()
    .addCommand(relayInitCommand())
    .addCommand(relayCertificateCommand())
    .addCommand(relayRevokeCommand());
}
