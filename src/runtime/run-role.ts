import { startAdmin } from './admin.ts';
import { type Clock, systemClock } from './clock.ts';
import { Lifecycle } from './lifecycle.ts';
import { createLog, type Log } from './log.ts';
import { Metrics } from './metrics.ts';

/** What every role is given beside its options. */
export interface RoleContext {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: () => number;
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
  /** Where it listens for its clients; absent: it has none. */
  readonly port?: number;
  close(): Promise<void>;
}

/**
 * Runs a role with its admin pages until SIGINT or SIGTERM. `facts` go into the line that says it is up. Throws what
 * `start` throws, and E_LISTEN.
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
  const lifecycle = new Lifecycle(log);
  const role = await start({ log, metrics, clock: systemClock, random: Math.random });
  lifecycle.add(name, () => role.close());
  const admin = await startAdmin({
    listen: options.admin,
    metrics,
    ready: () => role.waitingFor,
    debug: role.debug,
  });
  lifecycle.add('admin', () => admin.close());
  const port = role.port === undefined ? {} : { port: role.port };
  log.info({ ...port, admin: admin.port, ...facts }, `${name} is up`);
  await lifecycle.untilSignal();
}
