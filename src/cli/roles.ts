import type { Command } from 'commander';
import { relayCertificateCommand, relayInitCommand } from './relay-commands.ts';
import { roleCommand, type Setting, type Settings } from './role-command.ts';

const identity: readonly Setting[] = [
  { name: 'cluster', value: 'id', help: 'id of this cluster, a DNS label', required: true },
  { name: 'set', value: 'name', help: 'the set of clusters it belongs to', default: 'default' },
];

const operations: readonly Setting[] = [
  {
    name: 'admin',
    value: 'host:port',
    help: 'where /livez /readyz /metrics /debug are served',
    default: '127.0.0.1:0',
  },
  { name: 'log-level', value: 'level', help: 'debug, info, warn, error or silent', default: 'info' },
];

const tls: readonly Setting[] = [
  { name: 'tls-cert', value: 'file', help: 'our certificate with a spiffe:// name, PEM', required: true },
  { name: 'tls-key', value: 'file', help: 'its private key, PEM', required: true },
  { name: 'tls-ca', value: 'file', help: 'the CA of the set, PEM', required: true },
];

const controller: Setting = {
  name: 'controller',
  value: 'host:port',
  help: 'xDS address of a controller of this cluster; several are tried in turn',
  list: true,
  required: true,
};

const zone: Setting = {
  name: 'zone',
  value: 'domain',
  help: 'DNS zone of front ends',
  default: 'gw.cluster.local',
};

const tlsOf = (s: Settings) => ({ cert: s.text('tls-cert'), key: s.text('tls-key'), ca: s.text('tls-ca') });

const common = (s: Settings) => ({ admin: s.text('admin'), logLevel: s.text('log-level') });
const identityOf = (s: Settings) => ({ cluster: s.text('cluster'), set: s.text('set') });

export function controllerCommand(): Command {
  const settings: readonly Setting[] = [
    ...identity,
    { name: 'region', value: 'name', help: 'region of this cluster', default: '' },
    { name: 'network', value: 'name', help: 'clusters of one network reach each other’s pods', default: '' },
    { name: 'dir', value: 'dir', help: 'folder of YAML objects, followed live', required: true },
    { name: 'state', value: 'dir', help: 'folder for status, claims and generations', required: true },
    {
      name: 'service-cidr',
      value: 'cidr',
      help: 'where VIPs come from, primary family first',
      list: true,
      required: true,
    },
    zone,
    {
      name: 'controller-name',
      value: 'name',
      help: 'controllerName of our GatewayClasses',
      default: 'causeway.dev/gateway-controller',
    },
    {
      name: 'listen',
      value: 'host:port',
      help: 'xDS for agents, dns and other data planes',
      default: '127.0.0.1:18000',
    },
    { name: 'relay', value: 'host:port', help: 'a relay to dial', list: true },
    {
      name: 'audit-interval',
      value: 'seconds',
      help: 'how often statuses and claims are compared with what was written',
      default: '30',
    },
    ...tls,
    ...operations,
  ];
  return roleCommand('controller', 'compiles one cluster and serves it by xDS', settings, async (s) => {
    const { runController } = await import('../roles/controller.ts');
    await runController({
      ...identityOf(s),
      ...common(s),
      region: s.optional('region') ?? '',
      network: s.optional('network') ?? '',
      dir: s.text('dir'),
      state: s.text('state'),
      serviceCidrs: s.list('service-cidr'),
      zone: s.text('zone'),
      controllerName: s.text('controller-name'),
      listen: s.text('listen'),
      relays: s.list('relay'),
      auditIntervalMs: s.milliseconds('audit-interval'),
      tls: tlsOf(s),
    });
  });
}

export function agentCommand(): Command {
  const settings: readonly Setting[] = [
    ...identity,
    { name: 'node', value: 'name', help: 'name of the node this agent programs', required: true },
    controller,
    {
      name: 'audit-interval',
      value: 'seconds',
      help: 'how often the kernel’s table is compared',
      default: '30',
    },
    ...tls,
    ...operations,
  ];
  const command = roleCommand('agent', 'programs nftables on one node', settings, async (s) => {
    const { runAgent } = await import('../roles/agent.ts');
    await runAgent({
      ...identityOf(s),
      ...common(s),
      node: s.text('node'),
      controllers: s.list('controller'),
      auditIntervalMs: s.milliseconds('audit-interval'),
      tls: tlsOf(s),
    });
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
  const settings: readonly Setting[] = [
    ...identity,
    controller,
    {
      name: 'listen',
      value: 'address:port',
      help: 'DNS over UDP and TCP; no address means all',
      list: true,
      default: ':53',
    },
    zone,
    ...tls,
    ...operations,
  ];
  return roleCommand('dns', 'answers the names of front ends', settings, async (s) => {
    const { runDns } = await import('../roles/dns.ts');
    await runDns({
      ...identityOf(s),
      ...common(s),
      controllers: s.list('controller'),
      listen: s.list('listen'),
      zone: s.text('zone'),
      tls: tlsOf(s),
    });
  });
}

export function relayCommand(): Command {
  const settings: readonly Setting[] = [
    { name: 'name', value: 'name', help: 'name of this relay, a DNS label', required: true },
    { name: 'set', value: 'name', help: 'the set of clusters it joins', default: 'default' },
    { name: 'members', value: 'file', help: 'YAML list of member clusters, followed live', required: true },
    { name: 'listen', value: 'host:port', help: 'where members dial in', default: ':18100' },
    ...tls,
    ...operations,
  ];
  const command = roleCommand(
    'relay',
    'joins clusters: passes on what they export to each other',
    settings,
    async (s) => {
      const { runRelay } = await import('../roles/relay.ts');
      await runRelay({
        ...common(s),
        name: s.text('name'),
        set: s.text('set'),
        members: s.text('members'),
        listen: s.text('listen'),
        tls: tlsOf(s),
      });
    },
  );
  return command
    .enablePositionalOptions()
    .addCommand(relayInitCommand())
    .addCommand(relayCertificateCommand());
}
