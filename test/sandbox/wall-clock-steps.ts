/**
 * Loaded before a program (`node --import`), it makes that program's wall clock one that is set now and then: each
 * SIGUSR2 sets `Date` by the next of these steps. Timers and the monotonic clock go on as they do when an
 * administrator sets a machine's clock. The kernel has no wall clock for one process alone.
 */
const steps = [-3_600_000, 7_200_000, -3_600_000];

const system = Date;
let offset = 0;
let taken = 0;

class SteppedDate extends system {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(SteppedDate.now());
    else super(...(given as [number]));
  }

  static override now(): number {
    return system.now() + offset;
  }
}

globalThis.Date = SteppedDate as DateConstructor;
process.on('SIGUSR2', () => {
  offset += steps[taken % steps.length] as number;
  taken += 1;
});
