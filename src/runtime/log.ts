import { pino } from 'pino';

/** One JSON line per event on standard error. `child` adds fields. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  child(fields: object): Log;
}

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** `level`: one of `logLevels`. */
export function createLog(options: { role: string; level?: string }): Log {
  return pino(
    {
      level: options.level ?? 'info',
      base: { role: options.role },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}

const noop = (): void => {};
export const silentLog: Log = { info: noop, warn: noop, error: noop, debug: noop, child: () => silentLog };
