export interface StopOptions {
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** Called by a second wish to stop: there was no good end. */
  readonly exit: () => void;
}

/**
 * Calls `stop` once when we are asked to stop. One Ctrl-C arrives several times, from the terminal and from npm:
 * what comes within a second of the first is the same wish.
 */
export function onStop(stop: () => void, options: StopOptions): void {
  let first: number | undefined;
  const asked = (): void => {
    if (first === undefined) {
      first = options.now();
      stop();
    } else if (options.now() - first > 1_000) options.exit();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, asked);
}
