import type { Compiled, Touched } from '../model/compiled.ts';
import { dumpCompiled, dumpInputs, dumpIr, problemText } from '../model/dump.ts';
import type { Change } from '../model/inputs.ts';
import { Model } from '../model/model.ts';
import { FileStatus } from '../outputs/status/file-status.ts';
import { readProgrammed } from '../outputs/status/programmed.ts';
import { startAdmin } from '../runtime/admin.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { AppError } from '../runtime/errors.ts';
import type { PeerIdentity } from '../runtime/identity.ts';
import { Lifecycle } from '../runtime/lifecycle.ts';
import { createLog, type Log } from '../runtime/log.ts';
import { Metrics } from '../runtime/metrics.ts';
import { OutputDriver } from '../runtime/output-driver.ts';
import { requireOwnIdentity, type TlsFiles } from '../runtime/tls.ts';
import { formatProblem } from '../sources/file/file-problem.ts';
import { type FileBatch, FileSource } from '../sources/file/file-source.ts';
import { yamlText } from '../wire/yaml-text.ts';
import { ControllerAudit } from './controller/audit.ts';
import { ControllerClaims } from './controller/claims.ts';
import { CompileLoop } from './controller/compile-loop.ts';
import { controllerMetrics } from './controller/metrics.ts';
import { ProgrammingFeed } from './controller/programming-feed.ts';
import { ControllerRelays } from './controller/relays.ts';
import { ControllerXds } from './controller/xds.ts';

export interface ControllerOptions {
  readonly cluster: string;
  readonly set: string;
  /** Empty: what the certificate says; it must not say otherwise. */
  readonly region: string;
  readonly network: string;
  /** Folder of YAML objects, followed live. */
  readonly dir: string;
  /** Folder for statuses, claims and what must be remembered over restarts. */
  readonly state: string;
  /** The first one's family is the primary. */
  readonly serviceCidrs: readonly string[];
  readonly zone: string;
  readonly controllerName: string;
  readonly listen: string;
  /** `host:port` of relays; empty: a cluster of its own. */
  readonly relays: readonly string[];
  /** How often statuses and claims are compared with what was written; longer where that takes long. */
  readonly auditIntervalMs: number;
  readonly tls: TlsFiles;
  readonly admin: string;
  readonly logLevel: string;
}

/** Runs until SIGINT or SIGTERM. Throws E_USAGE, E_TLS_LOAD, E_STATE_WRITE or E_LISTEN. */
export async function runController(options: ControllerOptions): Promise<void> {
  const log = createLog({ role: 'controller', level: options.logLevel });
  const metrics = new Metrics();
  metrics.collectProcess();
  const lifecycle = new Lifecycle(log);
  const controller = await startController({ ...options, log, metrics, clock: systemClock });
  lifecycle.add('controller', () => controller.close());
  const admin = await startAdmin({
    listen: options.admin,
    metrics,
    ready: () => controller.waitingFor,
    debug: controller.debug,
  });
  lifecycle.add('admin', () => admin.close());
  log.info({ admin: admin.port, cluster: options.cluster, set: options.set }, 'controller is up');
  await lifecycle.untilSignal();
}

interface StartControllerOptions extends Omit<ControllerOptions, 'admin' | 'logLevel'> {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

interface Controller {
  /** Why it does not serve yet; undefined once it does. Peers are never waited for. */
  readonly waitingFor: string | undefined;
  /** Of the xDS server. */
  readonly port: number;
  readonly debug: Readonly<Record<string, () => string>>;
  close(): Promise<void>;
}

/** Compiles one cluster, serves it by xDS, and says what became of it. */
async function startController(options: StartControllerOptions): Promise<Controller> {
  const { cluster, set, tls, state, relays, log, metrics, clock } = options;
  const identity = requireOwnIdentity(tls, { set, cluster, role: 'controller' });
  const random = Math.random;
  const common = { clock, random, log, metrics };
  const lifecycle = new Lifecycle(log);
  const epoch = clock.now();
  const model = new Model(modelConfig(options, identity));
  controllerMetrics(metrics, () => model.compiled);
  const synced = metrics.gauge({
    name: 'source_synced',
    help: '1 once the source has told its complete state',
    labels: ['cluster'],
  });
  synced.set({ cluster }, 0);
  const loop = new CompileLoop({
    ...common,
    model,
    onCompiled: (compiled, touched) => onCompiled(compiled, touched),
  });
  const push = (changes: readonly Change[]): void => loop.push(changes);
  const xds = new ControllerXds({ ...options, epoch, onAcks: () => onAcks() });
  const programming = new ProgrammingFeed(xds.acks, clock, push);
  const claims = await ControllerClaims.open({ ...options, ...common, acks: xds.acks, onChanges: push });
  const links =
    relays.length > 0
      ? new ControllerRelays({ ...options, ...common, network: model.config.network, epoch, onChanges: push })
      : undefined;
  const status = new FileStatus({
    stateFolder: state,
    controllerName: options.controllerName,
    clock,
    onDue: (key) => statuses.touch([key]),
    onRepaired: (key) => audit.repaired(`the status of ${key}`),
  });
  const statuses = new OutputDriver({
    ...common,
    name: 'status',
    output: status,
    wanted: (key: string) => model.compiled.statuses.get(key),
  });
  const audit = new ControllerAudit({
    ...common,
    intervalMs: options.auditIntervalMs,
    look: async () => {
      if (await claims.audit()) audit.repaired('the file of claims');
      statuses.touch(model.compiled.statuses.keys());
      await statuses.settled();
    },
  });
  let problems: FileBatch['problems'] = [];
  let started = false;

  const onAcks = (): void => {
    programming.look();
    claims.look();
  };

  const onCompiled = (compiled: Compiled, touched: Touched | undefined): void => {
    const position = xds.update(compiled, touched);
    claims.compiled(compiled, position);
    links?.update(compiled, touched);
    if (!touched) statuses.prune(new Set(compiled.statuses.keys()));
    statuses.touch(touched ? touched.statuses : compiled.statuses.keys());
    programming.compiled();
  };

  const files = new FileSource({
    folder: options.dir,
    stateFolder: state,
    clock,
    log,
    onBatch: async (batch) => {
      reportProblems(log, problems, batch.problems, options.dir);
      problems = batch.problems;
      xds.followNodes(batch.changes);
      claims.followObjects(batch);
      loop.push(batch.changes);
      synced.set({ cluster }, batch.complete ? 1 : 0);
      if (!batch.complete || started) return;
      programming.restore(await readProgrammed(state));
      started = true;
      loop.start();
    },
  });
  // It answers nobody before the first compilation: what is absent is not known to be absent.
  const server = await xds.serve();
  files.start();
  lifecycle.add('claims', () => claims.close());
  lifecycle.add('statuses', async () => {
    await statuses.close();
    status.close();
  });
  lifecycle.add('relays', () => links?.close());
  lifecycle.add('xDS', () => server.close());
  lifecycle.add('programming', () => programming.close());
  lifecycle.add('loop', () => loop.close());
  lifecycle.add('files', () => files.close());
  lifecycle.add('audit', () => audit.close());
  return {
    get waitingFor() {
      return started ? undefined : `the folder ${options.dir} has not been read whole yet`;
    },
    port: server.port,
    debug: {
      inputs: () =>
        [...dumpInputs(model.config, model.inputs)].map((document) => yamlText(document)).join('---\n'),
      ir: () => yamlText(dumpIr(model.compiled)),
      wanted: () => yamlText(dumpCompiled(model.compiled)),
      problems: () =>
        [
          ...problems.map((p) => `${formatProblem(p, options.dir)}\n`),
          ...model.compiled.problems.map((p) => `● ${problemText(p)}\n`),
        ].join('\n'),
      nodes: () => yamlText(xds.acks.snapshot()),
      claims: () => yamlText(claims.debug),
      streams: () => yamlText(server.streams()),
    },
    close: () => lifecycle.close(),
  };
}

/** What others are told of a cluster is what its identity carries, so the flags may not say otherwise. */
function modelConfig(options: StartControllerOptions, identity: PeerIdentity): Model['config'] {
  for (const field of ['region', 'network'] as const) {
    if (options[field] && identity[field] && options[field] !== identity[field]) {
      throw new AppError('E_USAGE', `--${field} ${options[field]}: the certificate says ${identity[field]}`);
    }
  }
  return {
    cluster: options.cluster,
    region: options.region || identity.region,
    network: options.network || identity.network || 'default',
    labels: identity.labels,
    zone: options.zone,
    ttl: 5,
    controllerName: options.controllerName,
    serviceCidrs: options.serviceCidrs,
    clusterset: options.set,
    relay: options.relays.length > 0,
  };
}

/** Each problem is one line when it appears and one when it is gone. */
function reportProblems(
  log: Log,
  before: FileBatch['problems'],
  now: FileBatch['problems'],
  folder: string,
): void {
  const old = new Set(before.map((p) => formatProblem(p, folder)));
  for (const problem of now) {
    const text = formatProblem(problem, folder);
    if (old.delete(text)) continue;
    const { severity, file, line, path, kind, namespace, name } = problem;
    const fields = { file, line, kind, namespace, name, path };
    if (severity === 'error') log.warn(fields, text);
    else log.info(fields, text);
  }
  if (old.size > 0) log.info({ problems: old.size, left: now.length }, 'problems of files are gone');
}
