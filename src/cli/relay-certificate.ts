import { CaFolder } from '../runtime/ca-folder.ts';
import { AppError } from '../runtime/errors.ts';
import { formatSpiffeId, type PeerRole, peerRoles } from '../runtime/identity.ts';

/** As typed: values are parsed here. */
export interface RelayCertificateOptions {
  /** Where `causeway relay init` made the CA. */
  readonly state: string;
  /** Of a relay: its name. */
  readonly cluster: string;
  readonly role: string;
  readonly node?: string;
  /** `key=value` each. */
  readonly labels: readonly string[];
  /** Comma-separated names or prefixes with `*` that the cluster may speak for; `*`: all. */
  readonly namespaces: string;
  readonly region: string;
  readonly network: string;
  /** `90d`, `12h`, `30m` or `60s`. */
  readonly ttl: string;
  readonly dns: readonly string[];
  readonly ips: readonly string[];
  readonly out: string;
}

/** `causeway relay certificate`: a certificate for one role of one cluster. Resolves with the exit code. */
export async function runRelayCertificate(options: RelayCertificateOptions): Promise<number> {
  const ca = CaFolder.open(options.state);
  if (!(peerRoles as readonly string[]).includes(options.role)) {
    throw new AppError('E_USAGE', `--role: expected one of ${peerRoles.join(', ')}, found ${options.role}`);
  }
  const identity = {
    set: ca.set,
    cluster: options.cluster,
    role: options.role as PeerRole,
    ...(options.node === undefined ? {} : { node: options.node }),
    labels: parseLabels(options.labels),
    namespaces: options.namespaces
      .split(',')
      .map((s) => s.trim())
      .filter(Boolean),
    region: options.region,
    network: options.network,
  };
  const files = await ca.issueInto(options.out, {
    ...identity,
    dns: options.dns,
    ips: options.ips,
    ttl: parseTtl(options.ttl),
    now: Date.now(),
  });
  process.stdout.write(`${formatSpiffeId(identity)}: ${files.cert}, ${files.key} and ${files.ca}\n`);
  return 0;
}

function parseLabels(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new AppError('E_USAGE', `--label: expected key=value, found ${JSON.stringify(pair)}`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };

function parseTtl(text: string): number {
  const match = /^([1-9][0-9]{0,5})([dhms])$/.exec(text);
  if (!match)
    throw new AppError('E_USAGE', `--ttl: expected a time as 90d or 12h, found ${JSON.stringify(text)}`);
  return Number(match[1]) * units[match[2] as keyof typeof units];
}
