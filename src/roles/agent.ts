import type { ChannelCredentials } from '@grpc/grpc-js';
import { dumpIr } from '../model/dump-ir.ts';
import { UdpReconciler } from '../outputs/conntrack/reconciler.ts';
import { conntrackTool } from '../outputs/conntrack/tool.ts';
import { endpointGauge } from '../outputs/metrics/endpoint-gauge.ts';
import { NftOutput } from '../outputs/nft/apply.ts';
import { checkCapability } from '../outputs/nft/capability.ts';
import { readTable } from '../outputs/nft/parse.ts';
import { pathOnNode } from '../outputs/nft/path-on-node.ts';
import { spawnRunner } from '../outputs/nft/runner.ts';
import { tableName } from '../outputs/nft/schema.ts';
import { tableText } from '../outputs/nft/table.ts';
import { udpChanges } from '../outputs/nft/udp-changes.ts';
import { wantedTable } from '../outputs/nft/wanted-table.ts';
import { AuditLoop } from '../runtime/audit-loop.ts';
import { CertificateWatch } from '../runtime/certificate-watch.ts';
import { type Role, type RoleContext, type RoleOptions, runRole } from '../runtime/run-role.ts';
import { DialCredentials } from '../runtime/tls.ts';
import { requireOwnIdentity, type TlsFiles } from '../runtime/tls-files.ts';
import { IrSource } from '../sources/xds/ir-source.ts';
import { yamlText } from '../wire/yaml-text.ts';
import { NodeProgramming } from './agent/node-programming.ts';

export interface AgentOptions extends RoleOptions {
  readonly node: string;
  readonly cluster: string;
  readonly set: string;
  /** `host:port` of controllers of this cluster, tried in turn. */
  readonly controllers: readonly string[];
  /** How often the kernel's table is compared; longer where a comparison takes long. */
  readonly auditIntervalMs: number;
  readonly tls: TlsFiles;
}

/** Runs until SIGINT or SIGTERM. Throws E_USAGE, E_TLS_LOAD, E_LISTEN or E_NFT_UNUSABLE. */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { node, cluster, set, tls } = options;
  await runRole('agent', options, { node, cluster }, (context) => {
    requireOwnIdentity(tls, { set, cluster, role: 'agent', node });
    const certificates = new CertificateWatch({ ...context, own: tls.cert });
    const credentials = new DialCredentials(
      tls,
      { set, cluster, roles: ['controller'] },
      { clock: context.clock, dialled: (raw, target) => certificates.dialled(raw, target) },
    );
    return startAgent({ ...options, ...context, credentials, certificates });
  });
}

export interface StartAgentOptions
  extends RoleContext,
    Pick<AgentOptions, 'node' | 'cluster' | 'controllers' | 'auditIntervalMs'> {
  readonly credentials: ChannelCredentials | DialCredentials;
  /** Closed with the role. */
  readonly certificates?: CertificateWatch;
  /** Prefix that enters the network namespace of the node; default: we are in it. */
  readonly enter?: readonly string[];
}

/** Programs what the controller tells; `close` leaves the kernel's table as it is. Throws E_NFT_UNUSABLE. */
export async function startAgent(options: StartAgentOptions): Promise<Role> {
  const { node, cluster, controllers, clock, random, log, metrics, enter = [] } = options;
  const context: RoleContext = { clock, random, log, metrics };
  const runner = spawnRunner({ command: [...enter, 'nft'] });
  await checkCapability(runner);
  const udp = new UdpReconciler({ ...context, tool: conntrackTool({ command: [...enter, 'conntrack'] }) });
  const output = new NftOutput({
    ...context,
    node,
    cluster,
    runner,
    onCommit: (changes) => udp.reconcile(udpChanges(changes)),
  });
  const source = new IrSource({
    ...context,
    addresses: controllers,
    credentials: options.credentials,
    view: 'agent',
    node: { id: node, cluster },
  });
  if (options.adminPort !== undefined) source.announce({ adminPort: options.adminPort });
  const programming = new NodeProgramming({ ...context, source, output, udp, enter });
  endpointGauge(metrics, () => programming.held?.backends.values() ?? []);
  const audit = new AuditLoop({
    ...context,
    intervalMs: options.auditIntervalMs,
    look: () => programming.audit(),
  });
  source.onChange((ir, touched) => programming.apply(ir, touched));
  return {
    get waitingFor() {
      if (programming.isComplete) return undefined;
      return source.complete
        ? 'the state is complete but not programmed yet'
        : `waiting for the complete state from ${controllers.join(', ')}`;
    },
    debug: {
      inputs: () =>
        yamlText({
          source: { controllers, connected: source.connected, complete: source.complete },
          selfTest: programming.selfTest ?? 'not made yet',
        }),
      ir: () => yamlText(dumpIr(source.ir)),
      wanted: () => tableText(wantedTable(output.wanted), tableName),
    },
    api: {
      path: async (query) => {
        const to = {
          address: query.get('address') ?? '',
          port: Number(query.get('port')),
          protocol: query.get('protocol') === 'udp' ? 'udp' : 'tcp',
        } as const;
        const from = query.get('from');
        const kind = query.get('client') === 'host' ? 'host' : 'pod';
        return pathOnNode(source.ir, await readTable(runner), {
          node,
          cluster,
          to,
          ...(from === null ? {} : { from: { kind, address: from } as const }),
        });
      },
    },
    close: async () => {
      options.certificates?.close();
      programming.close();
      audit.close();
      source.close();
      udp.close();
      await output.close();
    },
  };
}
