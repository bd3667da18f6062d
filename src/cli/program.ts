import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { bugReportCommand, explainCommand, getCommand, verifyCommand } from './asking-commands.ts';
import type { OutputFormat } from './compile.ts';
import { agentCommand, controllerCommand, dnsCommand, relayCommand } from './roles.ts';
import { settingsCommand } from './settings-command.ts';
import { compileSettings, controllerSettings } from './settings-table.ts';

const packageJson = new URL('../../package.json', import.meta.url);

/**
 * Everything `causeway` can be asked; each command loads its own code when it runs. Where commander has told what is
 * wrong with the words, it throws a CommanderError.
 */
export function createProgram(): Command {
  const { version } = JSON.parse(readFileSync(packageJson, 'utf8')) as { version: string };
  const program = new Command('causeway')
    .description('One stable name and address in front, endpoints of many clusters behind')
    .version(version)
    .configureHelp({ showGlobalOptions: true })
    .enablePositionalOptions()
    .addCommand(playgroundCommand())
    .addCommand(compileCommand())
    .addCommand(getCommand())
    .addCommand(explainCommand())
    .addCommand(verifyCommand())
    .addCommand(bugReportCommand())
    .addCommand(controllerCommand())
    .addCommand(agentCommand())
    .addCommand(dnsCommand())
    .addCommand(relayCommand());
  throwInsteadOfExit(program);
  return program;
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride();
  for (const each of command.commands) throwInsteadOfExit(each);
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
  return settingsCommand({
    name: 'compile',
    description: 'compile a folder of YAML offline: objects in; IR, status, xDS, nft and DNS out',
    settings: compileSettings,
    alsoInFile: controllerSettings,
    run: async (s) => {
      const { runCompile } = await import('./compile.ts');
      process.exitCode = await runCompile({
        dir: s.text('dir'),
        cluster: s.text('cluster'),
        region: s.text('region'),
        network: s.text('network'),
        serviceCidrs: s.list('service-cidr'),
        zone: s.text('zone'),
        controllerName: s.text('controller-name'),
        output: s.text('output') as OutputFormat,
      });
    },
  });
}
