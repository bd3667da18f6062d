import type { ChannelCredentials } from '@grpc/grpc-js';
import { dumpIr } from '../model/dump.ts';
import type { Backend, Ir } from '../model/ir.ts';
import { UdpReconciler } from '../outputs/conntrack/reconciler.ts';
import { conntrackTool } from '../outputs/conntrack/tool.ts';
import { NftOutput } from '../outputs/nft/apply.ts';
import { checkCapability } from '../outputs/nft/capability.ts';
import { nothingWanted, type TouchedKeys } from '../outputs/nft/render.ts';
import { spawnRunner } from '../outputs/nft/runner.ts';
import { tableName } from '../outputs/nft/schema.ts';
import { type SelfTest, selfTest } from '../outputs/nft/self-test.ts';
import { tableText } from '../outputs/nft/table.ts';
import { udpChanges } from '../outputs/nft/udp-changes.ts';
import { wantedTable } from '../outputs/nft/wanted-table.ts';
import { startAdmin } from '../runtime/admin.ts';
import { Backoff } from '../runtime/backoff.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { messageOf } from '../runtime/errors.ts';
import { Lifecycle } from '../runtime/lifecycle.ts';
import { createLog, type Log } from '../runtime/log.ts';
import { Metrics } from '../runtime/metrics.ts';
import { channelCredentials, requireOwnIdentity, type TlsFiles } from '../runtime/tls.ts';
import { type Applied, IrSource } from '../sources/xds/ir-source.ts';
import { yamlText } from '../wire/yaml-text.ts';

export interface AgentOptions {
  readonly node: string;
  readonly cluster: string;
  readonly set: string;
  /** `host:port` of controllers of this cluster, tried in turn. */
  readonly controllers: readonly string[];
  /** How often the kernel's table is compared; longer where a comparison takes long. */
  readonly auditIntervalMs: number;
  readonly admin: string;
  readonly logLevel: string;
  readonly tls: TlsFiles;
}

/** Runs until SIGINT or SIGTERM. Throws E_USAGE, E_TLS_LOAD, E_LISTEN or E_NFT_UNUSABLE. */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { node, cluster, set, tls } = options;
  const log = createLog({ role: 'agent', level: options.logLevel });
  const metrics = new Metrics();
  metrics.collectProcess();
  requireOwnIdentity(tls, { set, cluster, role: 'agent', node });
  const credentials = channelCredentials(tls, { set, cluster, roles: ['controller'] });
  const lifecycle = new Lifecycle(log);
  const agent = await startAgent({ ...options, credentials, log, metrics, clock: systemClock });
  lifecycle.add('agent', () => agent.close());
  const admin = await startAdmin({
    listen: options.admin,
    metrics,
    ready: () => agent.waitingFor,
    debug: agent.debug,
  });
  lifecycle.add('admin', () => admin.close());
  log.info({ admin: admin.port, node, cluster }, 'agent is up');
  await lifecycle.untilSignal();
}

export interface StartAgentOptions
  extends Pick<AgentOptions, 'node' | 'cluster' | 'controllers' | 'auditIntervalMs'> {
  readonly credentials: ChannelCredentials;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Prefix that enters the network namespace of the node; default: we are in it. */
  readonly enter?: readonly string[];
}

export interface Agent {
  /** Why this node is not ready; undefined once a complete state is programmed. */
  readonly waitingFor: string | undefined;
  readonly debug: Readonly<Record<'inputs' | 'ir' | 'wanted', () => string>>;
  /** The kernel's table stays as it is. */
  close(): Promise<void>;
}

/** An audit may take this part of the time. */
const auditShare = 0.01;

/**
 * Programs what the controller tells. A table that an earlier agent left stays as it is until the state is
 * complete; where there is none, what is there is programmed at once. Nothing is acknowledged before the kernel
 * holds it. Throws E_NFT_UNUSABLE.
 */
export async function startAgent(options: StartAgentOptions): Promise<Agent> {
  const { node, cluster, controllers, clock, log, metrics, enter = [] } = options;
  const runner = spawnRunner({ command: [...enter, 'nft'] });
  await checkCapability(runner);
  const common = { clock, random: Math.random, log, metrics };
  const udp = new UdpReconciler({ ...common, tool: conntrackTool({ command: [...enter, 'conntrack'] }) });
  const output = new NftOutput({
    ...common,
    node,
    cluster,
    runner,
    onCommit: (before, after) => udp.reconcile(udpChanges(before, after)),
  });
  const source = new IrSource({
    ...common,
    addresses: controllers,
    credentials: options.credentials,
    view: 'agent',
    node: { id: node, cluster },
  });
  const backoff = new Backoff({ minMs: 100, maxMs: 10_000, random: Math.random });
  const found = output.inspect().catch((error: unknown) => {
    log.warn({ error: messageOf(error) }, 'the table that is there cannot be read');
    return true;
  });
  const endpoints = new EndpointGauge(metrics);
  let closed = false;
  let programmed = false;
  let waiting = false;
  let tested: SelfTest | undefined;
  let cancelRetry = (): void => {};

  const apply = async (ir: Ir, touched: TouchedKeys): Promise<Applied> => {
    // Of this representation: more may come while we wait.
    const { complete } = source;
    if (!programmed && !complete && (await found)) {
      if (!waiting) log.info({}, 'the table of an earlier agent stays until the state is complete');
      waiting = true;
      return 'later';
    }
    try {
      const refused = await output.update(ir, touched);
      backoff.reset();
      endpoints.set(ir);
      tested ??= await prove();
      programmed ||= complete;
      return refused;
    } catch (error) {
      if (closed) return 'later';
      const ms = backoff.next();
      log.error({ error: messageOf(error), retryMs: ms }, 'the state cannot be programmed');
      cancelRetry = clock.after(ms, () => source.poke());
      return 'later';
    }
  };

  const prove = async (): Promise<SelfTest> => {
    const test = await selfTest({ command: enter });
    const bypassed = test.result === 'bypassed';
    metrics
      .gauge({ name: 'data_plane_bypassed', help: '1 if traffic of pods does not pass our table' })
      .set(bypassed ? 1 : 0);
    if (bypassed) {
      log.error({}, `self-test: ${test.message}`);
      source.announce({ bypassed: true });
    } else {
      log.info({ result: test.result }, `self-test: ${test.message}`);
    }
    return test;
  };

  let cancelAudit = (): void => {};
  const audit = async (): Promise<void> => {
    const started = clock.now();
    try {
      await output.audit();
      udp.reconcile(udpChanges(nothingWanted, output.wanted));
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the table cannot be audited');
    }
    if (!closed) planAudit(clock.now() - started);
  };
  const planAudit = (lastMs: number): void => {
    const interval = Math.max(options.auditIntervalMs, lastMs / auditShare);
    cancelAudit = clock.after(interval * (0.9 + Math.random() * 0.1), () => void audit());
  };
  planAudit(0);
  source.onChange(apply);

  return {
    get waitingFor() {
      if (programmed) return undefined;
      return source.complete
        ? 'the state is complete but not programmed yet'
        : `waiting for the complete state from ${controllers.join(', ')}`;
    },
    debug: {
      inputs: () =>
        yamlText({
          source: { controllers, connected: source.connected, complete: source.complete },
          selfTest: tested ?? 'not made yet',
        }),
      ir: () => yamlText(dumpIr(source.ir)),
      wanted: () => tableText(wantedTable(output.wanted), tableName),
    },
    close: async () => {
      closed = true;
      cancelAudit();
      cancelRetry();
      source.close();
      udp.close();
      await output.close();
    },
  };
}

/** Endpoints that this node knows, by cluster and state. */
class EndpointGauge {
  readonly #gauge;
  readonly #counts = new WeakMap<Backend, ReadonlyMap<string, number>>();

  constructor(metrics: Metrics) {
    this.#gauge = metrics.gauge({
      name: 'endpoints',
      help: 'endpoints of back ends by cluster and state (healthy, draining)',
      labels: ['cluster', 'state'],
    });
  }

  set(ir: Ir): void {
    const sums = new Map<string, number>();
    for (const backend of ir.backends.values()) {
      const counts = this.#counts.get(backend) ?? count(backend);
      this.#counts.set(backend, counts);
      for (const [id, n] of counts) sums.set(id, (sums.get(id) ?? 0) + n);
    }
    this.#gauge.reset();
    for (const [id, n] of sums) {
      const [state = '', cluster = ''] = id.split(' ');
      this.#gauge.set({ cluster, state }, n);
    }
  }
}

function count(backend: Backend): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const group of backend.groups) {
    for (const { health } of group.endpoints) {
      const id = `${health.toLowerCase()} ${group.cluster}`;
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
  }
  return counts;
}
