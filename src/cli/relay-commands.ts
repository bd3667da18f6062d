import { Command } from 'commander';

/** `causeway relay init`. */
export function relayInitCommand(): Command {
  return new Command('init')
    .description('make the certificate authority of a set of clusters')
    .option('--set <name>', 'the set of clusters', 'default')
    .requiredOption('--state <dir>', 'where ca.crt and ca.key are kept')
    .action(async (options: { set: string; state: string }) => {
      const { runRelayInit } = await import('./relay-init.ts');
      process.exitCode = await runRelayInit(options);
    });
}

/** `causeway relay certificate`. */
export function relayCertificateCommand(): Command {
  const each = (value: string, previous: string[]): string[] => [...previous, value];
  return new Command('certificate')
    .description('make a certificate for one role of one cluster: tls.crt, tls.key and ca.crt')
    .requiredOption('--state <dir>', 'where relay init made the CA')
    .requiredOption('--cluster <id>', 'the cluster; of a relay its name')
    .requiredOption('--role <role>', 'controller, relay, agent, dns or admin')
    .option('--node <name>', 'the node, for agents')
    .option('--label <key=value>', 'a label of the cluster; may be given several times', each, [])
    .option('--namespaces <list>', 'what it may speak for: names or prefixes with *, comma-separated', '*')
    .option('--region <name>', 'its region', '')
    .option('--network <name>', 'clusters of one network reach each other’s pods', '')
    .option('--ttl <time>', 'how long it is valid, as 90d or 12h', '365d')
    .option('--dns <name>', 'a DNS name in it, for clients that check it', each, [])
    .option('--ip <address>', 'an IP address in it', each, [])
    .requiredOption('--out <dir>', 'where the files go')
    .action(
      async (o: {
        state: string;
        cluster: string;
        role: string;
        node?: string;
        label: string[];
        namespaces: string;
        region: string;
        network: string;
        ttl: string;
        dns: string[];
        ip: string[];
        out: string;
      }) => {
        const { runRelayCertificate } = await import('./relay-certificate.ts');
        const { label, ip, ...rest } = o;
        process.exitCode = await runRelayCertificate({ ...rest, labels: label, ips: ip });
      },
    );
}
