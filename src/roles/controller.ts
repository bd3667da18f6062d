import type { Compiled, Touched } from '../model/compiled.ts';
import { dumpCompiled, dumpInputs, problemText } from '../model/dump.ts';
import { dumpIr } from '../model/dump-ir.ts';
import type { Change } from '../model/inputs.ts';
import { Model } from '../model/model.ts';
import type { Problem } from '../model/problem.ts';
import { readProgrammed } from '../outputs/status/programmed.ts';
import type { XdsServer } from '../outputs/xds/server.ts';
import { Admission } from '../runtime/admission.ts';
import { CertificateWatch } from '../runtime/certificate-watch.ts';
import { FollowedFile } from '../runtime/followed-file.ts';
import { LifeEpoch } from '../runtime/life-epoch.ts';
import { Lifecycle } from '../runtime/lifecycle.ts';
import { parseRevokedFile } from '../runtime/revocations.ts';
import { type Role, type RoleContext, type RoleOptions, runRole } from '../runtime/run-role.ts';
import { StateDisk } from '../runtime/state-disk.ts';
import { requireOwnIdentity, type TlsFiles } from '../runtime/tls-files.ts';
import type { FieldPlaces } from '../sources/file/field-places.ts';
import { inFolder } from '../sources/file/file-problem.ts';
import { FileSource } from '../sources/file/file-source.ts';
import { yamlText } from '../wire/yaml-text.ts';
import { certificateLine, controllerApi } from './controller/api.ts';
import { ControllerAudit } from './controller/audit.ts';
import { ControllerClaims } from './controller/claims.ts';
import { CompileLoop } from './controller/compile-loop.ts';
import { FileProblems } from './controller/file-problems.ts';
import { controllerMetrics } from './controller/metrics.ts';
import { modelConfig } from './controller/model-config.ts';
import { ProgrammingFeed } from './controller/programming-feed.ts';
import { Propagation } from './controller/propagation.ts';
import { ControllerRelays } from './controller/relays.ts';
import { ControllerStatuses } from './controller/statuses.ts';
import { ControllerXds } from './controller/xds.ts';

export interface ControllerOptions extends RoleOptions {
  readonly cluster: string;
  readonly set: string;
  /** Empty: what the certificate says. With relays it must say the same: others are told what it says. */
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
  /** Path of a YAML file with a list `revoked`; absent: nobody is. */
  readonly revoked?: string;
}

/** Runs until SIGINT or SIGTERM. Throws E_USAGE, E_FILE_READ, E_TLS_LOAD, E_STATE_WRITE or E_LISTEN. */
export async function runController(options: ControllerOptions): Promise<void> {
  const { cluster, set } = options;
  await runRole('controller', options, { cluster, set }, (context) =>
    startController({ ...options, ...context }),
  );
}

interface StartControllerOptions extends RoleContext, Omit<ControllerOptions, keyof RoleOptions> {}

/** Compiles one cluster, serves it by xDS, and says what became of it. Peers are never waited for. */
function startController(options: StartControllerOptions): Promise<Role> {
  const lifecycle = new Lifecycle(options.log);
  return lifecycle.closingOnThrow(() => startParts(options, lifecycle));
}

async function startParts(options: StartControllerOptions, lifecycle: Lifecycle): Promise<Role> {
  const { cluster, set, tls, dir, state, relays, log, metrics, clock, random } = options;
  const identity = requireOwnIdentity(tls, { set, cluster, role: 'controller' });
  const context: RoleContext = { clock, random, log, metrics };
  const model = new Model(modelConfig(options, identity));
  const loop = new CompileLoop({
    ...context,
    model,
    onCompiled: (compiled, touched) => onCompiled(compiled, touched),
  });
  const push = (changes: readonly Change[]): void => loop.push(changes);
  const disk = new StateDisk(context);
  const life = await LifeEpoch.begin({ state, clock, write: disk.writer('epoch') });
  const { epoch } = life;
  lifecycle.add('epoch', () => life.close());
  const certificates = new CertificateWatch({ ...context, own: tls.cert });
  const admission = new Admission({ ...context, certificates });
  const revoked =
    options.revoked === undefined
      ? undefined
      : new FollowedFile({
          path: options.revoked,
          what: 'the list of revoked certificates',
          parse: parseRevokedFile,
          required: true,
          clock,
          log,
          onContent: (list) => admission.setRevoked(list),
        });
  const propagation = new Propagation({ cluster, clock, metrics });
  const xds = new ControllerXds({
    ...options,
    admission,
    epoch,
    admitted: (node) => claims.admitted(node),
    onAcks: () => onAcks(),
    onProgress: (before, after) => propagation.acknowledged(before, after),
  });
  const programming = new ProgrammingFeed(xds.acks, clock, push);
  const claims = await ControllerClaims.open({
    ...options,
    acks: xds.acks,
    write: disk.writer('claims'),
    onChanges: (changes) => {
      if (changes.length > 0) propagation.saw();
      push(changes);
    },
  });
  const programmed = await readProgrammed(state);
  const links =
    relays.length > 0
      ? await ControllerRelays.open({
          ...options,
          network: model.config.network,
          epoch,
          admission,
          hadDataPlanes: programmed.size > 0,
          write: disk.writer('peers'),
          onChanges: (changes, marks) => {
            propagation.told(marks);
            push(changes);
          },
        })
      : undefined;
  const statuses = new ControllerStatuses({
    ...options,
    write: disk.writer('statuses'),
    compiled: () => model.compiled,
    onRepaired: (what) => audit.repaired(what),
  });
  const audit = new ControllerAudit({
    ...context,
    intervalMs: options.auditIntervalMs,
    look: async () => {
      if (await claims.audit()) audit.repaired('the file of claims');
      await statuses.audit();
    },
  });
  const problems = new FileProblems(dir, log);
  let started = false;

  const onAcks = (): void => {
    programming.look();
    claims.look();
  };

  const onCompiled = (compiled: Compiled, touched: Touched | undefined): void => {
    const position = xds.update(compiled, touched);
    claims.compiled(compiled, touched, position);
    links?.update(compiled, touched, propagation.seen);
    propagation.compiled(touched, position);
    statuses.update(compiled, touched);
    programming.compiled();
  };

  const files = new FileSource({
    folder: dir,
    stateFolder: state,
    write: disk.writer('files'),
    clock,
    log,
    onBatch: async (batch) => {
      problems.replace(batch.problems);
      xds.followNodes(batch.changes);
      claims.followObjects(batch);
      if (batch.changes.length > 0) propagation.saw();
      loop.push(batch.changes);
      if (!batch.complete || started) return;
      programming.restore(programmed);
      started = true;
      loop.start();
    },
  });
  controllerMetrics(metrics, {
    cluster,
    complete: () => files.complete,
    origins: () => links?.source.origins ?? new Map(),
    compiled: () => model.compiled,
    fileProblems: () => problems.texts.length,
  });
  let server: XdsServer | undefined;
  lifecycle.add('certificates', () => admission.close());
  lifecycle.add('revoked', () => revoked?.close());
  lifecycle.add('claims', () => claims.close());
  lifecycle.add('statuses', () => statuses.close());
  lifecycle.add('relays', () => links?.close());
  lifecycle.add('xDS', () => server?.close());
  lifecycle.add('programming', () => programming.close());
  lifecycle.add('loop', () => loop.close());
  lifecycle.add('files', () => files.close());
  lifecycle.add('audit', () => audit.close());
  // It answers nobody before the first compilation: what is absent is not known to be absent.
  server = await xds.serve();
  const { port, streams } = server;
  files.start();
  return {
    port,
    get waitingFor() {
      return started ? undefined : `the folder ${dir} has not been read whole yet`;
    },
    debug: {
      ...modelPages(model),
      problems: () =>
        [
          ...[...(claims.fault === undefined ? [] : [claims.fault]), ...disk.faults].map((f) => `✖ ${f}\n`),
          ...problems.texts.map((text) => `${text}\n`),
          ...placedProblems(model.compiled.problems, files.places, dir),
        ].join('\n'),
      nodes: () => yamlText(xds.acks.snapshot()),
      claims: () => yamlText(claims.debug),
      refused: () => yamlText(links?.refusedSubscribers ?? []),
      streams: () => yamlText({ streams: streams(), certificates: admission.certificates }),
    },
    api: controllerApi({
      model,
      acks: xds.acks,
      relays: () => links?.states(clock.wall()) ?? [],
      refused: () => links?.refusedSubscribers ?? [],
      heardAt: (name) => links?.source.heardAt(name),
      files: () => {
        const { places } = files;
        return { folder: dir, problems: problems.now, fileOf: (ref) => places.of(ref, '')?.file };
      },
      certificate: () => certificates.own && certificateLine(certificates.own, clock.wall()),
      now: () => clock.now(),
    }),
    close: () => lifecycle.close(),
  };
}

/** Where a file has the object or the field, that place comes first. */
const placedProblems = (problems: readonly Problem[], places: FieldPlaces, dir: string): readonly string[] =>
  problems.map((problem) => {
    const place = places.of(problem.ref, problem.path);
    return `● ${place ? `${inFolder(dir, place.file)}:${place.line}  ` : ''}${problemText(problem)}\n`;
  });

/** In the format of the golden files. */
const modelPages = (model: Model) => ({
  inputs: () =>
    [...dumpInputs(model.config, model.inputs, model.now)]
      .map((document) => yamlText(document))
      .join('---\n'),
  ir: () => yamlText(dumpIr(model.compiled)),
  wanted: () => yamlText(dumpCompiled(model.compiled)),
});
