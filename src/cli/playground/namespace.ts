import type { ChildProcess, StdioOptions } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  endProcess,
  type Finished,
  mustRun,
  type RunOptions,
  runCommand,
  startProcess,
} from './run-command.ts';

/** Where namespaces keep what belongs to them. In a sandbox this is memory that ends with it. */
const namespaceFolder = '/run/causeway/ns';

const sysctls = [
  ['net/ipv4/ip_forward', '1'],
  ['net/ipv4/conf/all/rp_filter', '0'],
  ['net/ipv4/conf/default/rp_filter', '0'],
  ['net/ipv4/conf/all/send_redirects', '0'],
  ['net/ipv4/conf/default/send_redirects', '0'],
  ['net/ipv4/ip_local_port_range', '1024 65535'],
  ['net/ipv6/conf/all/forwarding', '1'],
  ['net/ipv6/conf/default/forwarding', '1'],
  // Addresses are usable at once: nobody else is on a link of two ends.
  ['net/ipv6/conf/default/accept_dad', '0'],
];

const configure = sysctls
  .map(([path, value]) => `[ ! -e /proc/sys/${path} ] || echo '${value}' > /proc/sys/${path}`)
  .join('\n');

/** Gives a process its own view of names: the host name and the resolver of its namespace. */
const enter = `
name=$1; shift
hostname "$(cat ${namespaceFolder}/$name/hostname)" || exit 125
target=$(readlink -m /etc/resolv.conf)
[ -e "$target" ] || { mkdir -p "\${target%/*}" && : > "$target"; }
mount --bind ${namespaceFolder}/$name/resolv.conf "$target" || exit 125
exec "$@"
`;

/** Command and arguments that run `command` in the namespace called `name`. */
export function enterCommand(name: string, command: readonly string[]): string[] {
  return [
    'nsenter',
    `--net=/run/netns/${name}`,
    'unshare',
    '--mount',
    '--uts',
    'sh',
    '-c',
    enter,
    'enter',
    name,
    ...command,
  ];
}

/** A network namespace with a host name and a resolver of its own, and the processes that run in it. */
export class Namespace {
  /** As `ip netns` lists it. */
  readonly name: string;
  readonly #children = new Set<ChildProcess>();

  private constructor(name: string) {
    this.name = name;
  }

  /**
   * Makes the namespace, replacing one of the same name. `resolver`: address of the DNS server its processes
   * ask; absent: they resolve nothing.
   */
  static async create(options: { name: string; hostname?: string; resolver?: string }): Promise<Namespace> {
    const { name } = options;
    const namespace = new Namespace(name);
    await runCommand(['ip', 'netns', 'delete', name]);
    await mustRun(['ip', 'netns', 'add', name]);
    mkdirSync(join(namespaceFolder, name), { recursive: true });
    writeFileSync(join(namespaceFolder, name, 'hostname'), `${options.hostname ?? name}\n`);
    namespace.useResolver(options.resolver);
    await mustRun(['nsenter', `--net=/run/netns/${name}`, 'sh', '-c', `${configure}\nip link set lo up`]);
    return namespace;
  }

  useResolver(address: string | undefined): void {
    const text = address === undefined ? '' : `nameserver ${address}\noptions timeout:1 attempts:3\n`;
    writeFileSync(join(namespaceFolder, this.name, 'resolv.conf'), text);
  }

  /** Runs lines of `ip -batch` inside. */
  async ip(lines: readonly string[]): Promise<void> {
    const command = ['nsenter', `--net=/run/netns/${this.name}`, 'ip', '-batch', '-'];
    await mustRun(command, { input: `${lines.join('\n')}\n` });
  }

  /** Runs a command inside to its end. */
  run(command: readonly string[], options: RunOptions = {}): Promise<Finished> {
    return runCommand(enterCommand(this.name, command), options);
  }

  /** Starts a process inside, in a process group of its own; `close` kills it if it still runs. */
  start(command: readonly string[], options: { stdio: StdioOptions; env?: NodeJS.ProcessEnv }): ChildProcess {
    const child = startProcess(enterCommand(this.name, command), options);
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    child.once('error', () => this.#children.delete(child));
    return child;
  }

  /** Kills what runs inside and removes the namespace. */
  async close(): Promise<void> {
    await Promise.all([...this.#children].map((child) => endProcess(child)));
    await runCommand(['ip', 'netns', 'delete', this.name]);
    rmSync(join(namespaceFolder, this.name), { recursive: true, force: true });
  }
}
