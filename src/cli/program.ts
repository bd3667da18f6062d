import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { agentCommand, controllerCommand, dnsCommand, relayCommand } from './roles.ts';

const packageJson = new URL('../../package.json', import.meta.url);

/** Everything `causeway` can be asked; each command loads its own code when it runs. */
export function createProgram(): Command {
  const { version } = JSON.parse(readFileSync(packageJson, 'utf8')) as { version: string };
  return new Command('causeway')
    .description('One stable name and address in front, endpoints of many clusters behind')
    .version(version)
    .configureHelp({ showGlobalOptions: true })
    .enablePositionalOptions()
    .exitOverride((error) => {
      process.exit(error.exitCode === 0 ? 0 : 2);
    })
    .addCommand(playgroundCommand())
    .addCommand(compileCommand())
    .addCommand(controllerCommand())
    .addCommand(agentCommand())
    .addCommand(dnsCommand())
    .addCommand(relayCommand());
}

function playgroundCommand(): Command {
  const command = new Command('playground')
    .enablePositionalOptions()
    .description('two clusters on this machine, in a sandbox of their own, with live traffic')
    .option('--once', 'run the scenes without a terminal; exit 0 if all hold, 1 if not')
    .option('--json', 'print one JSON object last')
    .action(async (options: { once?: boolean; json?: boolean }) => {
      const { runPlayground } = await import('./playground/playground.ts');
      process.exitCode = await runPlayground({ once: options.once ?? false, json: options.json ?? false });
    });
  command
    .command('exec')
    .description('run a command inside the running playground')
    .argument('<where>', 'a cluster, node or pod: east, east/e1, east/store-0')
    .argument('<command...>', 'the command, after --')
    .passThroughOptions()
    .action(async (where: string, argv: string[]) => {
      const { runPlaygroundExec } = await import('./playground/exec.ts');
      process.exitCode = await runPlaygroundExec(where, argv);
    });
  return command;
}

function compileCommand(): Command {
  return new Command('compile')
    .description('compile a folder of YAML offline: objects in; IR, status, xDS, nft and DNS out')
    .requiredOption('--dir <dir>', 'the folder of objects')
    .option('--cluster <id>', 'the cluster it is compiled for', 'local')
    .option('--region <name>', 'its region', '')
    .option('--network <name>', 'its network', '')
    .option('--service-cidr <cidr...>', 'where VIPs come from', ['10.96.0.0/16'])
    .option('--zone <domain>', 'the DNS zone of front ends', 'gw.cluster.local')
    .option(
      '--controller-name <name>',
      'the controllerName of our classes',
      'causeway.dev/gateway-controller',
    )
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .action(async (options: Record<string, string> & { serviceCidr: string[] }) => {
      const { runCompile } = await import('./compile.ts');
      process.exitCode = await runCompile({
        dir: options.dir as string,
        cluster: options.cluster as string,
        region: options.region as string,
        network: options.network as string,
        serviceCidrs: options.serviceCidr,
        zone: options.zone as string,
        controllerName: options.controllerName as string,
        output: options.output as 'table' | 'json' | 'yaml',
      });
    });
}
