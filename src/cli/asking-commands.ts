import { Command, Option } from 'commander';
import { sayingWhatGave } from './given-by.ts';

/** Commands that ask running roles. */

/** Not CAUSEWAY_ADMIN: that is where a role has its own pages. */
const controllerVariable = 'CAUSEWAY_CONTROLLER_ADMIN';

const adminOption = (): Option =>
  new Option('--admin <host:port>', `admin pages of a controller (or ${controllerVariable})`).env(
    controllerVariable,
  );

/** Runs a command that asks the roles at `admins`. */
const asking = (command: Command, admins: readonly string[], run: () => Promise<void>): Promise<void> => {
  const given = { flag: '--admin', where: controllerVariable, values: admins };
  return sayingWhatGave(command.getOptionValueSource('admin') === 'env' ? [given] : [], run);
};

const outputOption = (): Option =>
  new Option('-o, --output <format>', 'table, json or yaml').default('table');

interface Asking {
  readonly admin?: string;
  readonly output: string;
}

export function getCommand(): Command {
  return new Command('get')
    .description('list what a running controller knows: frontends, backends, clusters or nodes')
    .argument('<kind>', 'frontends, backends, clusters or nodes')
    .argument('[name]', '<namespace>/<name>, or the name of a cluster or node')
    .addOption(adminOption())
    .addOption(outputOption())
    .action((kind: string, name: string | undefined, { admin, output }: Asking, self: Command) =>
      asking(self, [admin ?? ''], async () => {
        const { runGet } = await import('./get.ts');
        process.exitCode = await runGet({ kind, ...(name === undefined ? {} : { name }), admin, output });
      }),
    );
}

export function explainCommand(): Command {
  return new Command('explain')
    .description('why a name leads where it leads, and what stops it; exit 0 if it works, 1 if not')
    .argument(
      '<name>',
      'a DNS name, <namespace>/<gateway>, or a virtual address; or <namespace>/<composite> that this cluster contributes to',
    )
    .addOption(adminOption())
    .option('--node <name>', 'for a client on this node')
    .option(
      '--from <client>',
      'for this client: pod/<namespace>/<name> or node/<name>; asks its node’s agent, too',
    )
    .option(
      '--agent <host:port>',
      'admin pages of an agent: compare what its kernel lists with what it is told',
    )
    .addOption(outputOption())
    .action((name: string, { admin, output, ...around }: Asking & ForNode, self: Command) =>
      asking(self, [admin ?? ''], async () => {
        const { runExplain } = await import('./explain.ts');
        process.exitCode = await runExplain({ name, admin, output, ...around });
      }),
    );
}

export function verifyCommand(): Command {
  return new Command('verify')
    .description('send real packets along the path of a name, from here; exit 0 if all hops work, 1 if not')
    .argument('<name>', 'a DNS name, <namespace>/<gateway>, or a virtual address')
    .addOption(adminOption())
    .option('--resolver <address>', 'ask this resolver (default: the one in /etc/resolv.conf)')
    .option('--dns <address>', 'a causeway dns to compare the resolver with')
    .option(
      '--datagram <text>',
      'what the application answers by UDP: a text, or hex: and bytes; without it silence is no failure',
    )
    .option('--node <name>', 'the node that this is (default: found out by address and host name)')
    .addOption(outputOption())
    .action((name: string, { admin, output, ...around }: Asking & Around, self: Command) =>
      asking(self, [admin ?? ''], async () => {
        const { runVerify } = await import('./verify/verify.ts');
        process.exitCode = await runVerify({ name, admin, output, ...around });
      }),
    );
}

interface Around {
  readonly resolver?: string;
  readonly dns?: string;
  readonly node?: string;
  readonly datagram?: string;
}

interface ForReport {
  readonly admin?: string | string[];
  readonly out?: string;
}

interface ForNode {
  readonly node?: string;
  readonly from?: string;
  readonly agent?: string;
}

export function bugReportCommand(): Command {
  return new Command('bugreport')
    .description('collect what roles show at /debug into a folder, secrets redacted')
    .addOption(
      new Option(
        '--admin <host:port...>',
        `admin pages of controllers, agents, dns and relays (or ${controllerVariable})`,
      ).env(controllerVariable),
    )
    .option('--out <dir>', 'the folder to make (default: causeway-bugreport-<time>)')
    .action(({ admin = [], out }: ForReport, self: Command) => {
      const admins = [admin].flat().flatMap((text) => text.split(','));
      return asking(self, admins, async () => {
        const { runBugReport } = await import('./bugreport.ts');
        const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
        process.exitCode = await runBugReport({ admins, out: out ?? `causeway-bugreport-${time}` });
      });
    });
}
