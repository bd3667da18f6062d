import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { type Api, startAdmin } from './admin.ts';
import { type Clock, systemClock } from './clock.ts';
import { isLoopback, requireHostPort } from './host-port.ts';
import { Lifecycle } from './lifecycle.ts';
import { createLog, type Log } from './log.ts';
import { Metrics } from './metrics.ts';

/** What every role is given beside its options. */
export interface RoleContext {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: () => number;
  /** Port of the admin pages, where others than this machine reach them; undefined: nobody else does. */
  readonly adminPort?: number;
}

/** Settings that every role has. */
export interface RoleOptions {
  /** `host:port` of the admin pages. */
  readonly admin: string;
  readonly logLevel: string;
}

export interface Role {
  /** Why it is not ready; undefined once it is. */
  readonly waitingFor: string | undefined;
  /** Page under `/debug/` → its text. Every role has these three. */
  readonly debug: Readonly<Record<'inputs' | 'ir' | 'wanted', () => string> & Record<string, () => string>>;
  /** Page under `/api/` → its value. */
  readonly api?: Api;
  /** Where it listens for its clients; absent: it has none. */
  readonly port?: number;
  close(): Promise<void>;
}

/**
 * Runs a role with its admin pages until SIGINT or SIGTERM. `facts` go into the line that says it is up. Throws what
 * `start` throws, and E_LISTEN or E_USAGE; then nothing is left running.
 */
export async function runRole(
  name: string,
  options: RoleOptions,
  facts: Readonly<Record<string, unknown>>,
  start: (context: RoleContext) => Promise<Role>,
): Promise<void> {
  const log = createLog({ role: name, level: options.logLevel });
  const metrics = new Metrics();
  metrics.collectProcess();
  // What breaks in gRPC is told by us, in lines of our own.
  setLogVerbosity(logVerbosity.NONE);
  const lifecycle = new Lifecycle(log);
  await lifecycle.closingOnThrow(async () => {
    let role: Role | undefined;
    // First: where it cannot be looked at nothing is begun.
    const admin = await startAdmin({
      listen: options.admin,
      metrics,
      ready: () => (role ? role.waitingFor : 'it is starting'),
      debug: () => role?.debug ?? {},
      api: () => role?.api ?? {},
    });
    lifecycle.add('admin', () => admin.close());
    const context: RoleContext = { log, metrics, clock: systemClock, random: Math.random };
    const reached = isLoopback(requireHostPort('--admin', options.admin).host)
      ? {}
      : { adminPort: admin.port };
    const started = await start({ ...context, ...reached });
    role = started;
    lifecycle.add(name, () => started.close());
    const port = started.port === undefined ? {} : { port: started.port };
    // Who reads that it is up may stop it at once.
    const stopped = lifecycle.untilSignal();
    log.info({ ...port, admin: admin.port, ...facts }, `${name} is up`);
    await stopped;
  });
}
