/** Time and timers, injected so that tests decide when time passes. */
export interface Clock {
  /**
   * Epoch milliseconds of what passes: the wall clock's when the process began, and steady from then on. Deadlines
   * and ages are reckoned in it, so that nothing expires or waits because somebody set a clock.
   */
  now(): number;
  /** Epoch milliseconds of the wall clock, which may be set: for people, certificates and other processes. */
  wall(): number;
  /** Calls `fn` once after `ms` milliseconds, unless the returned function is called first. */
  after(ms: number, fn: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Math.floor(performance.timeOrigin + performance.now()),
  wall: () => Date.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
};

/** A clock that stands still until `advance`; timers fire in order of their time. */
export class ManualClock implements Clock {
  #now: number;
  #set = 0;
  #timers: { at: number; fn: () => void }[] = [];

  constructor(now = 0) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#now + this.#set;
  }

  /** The wall clock is set forward, or back where it is negative. */
  setWall(byMs: number): void {
    this.#set += byMs;
  }

  after(ms: number, fn: () => void): () => void {
    const timer = { at: this.#now + ms, fn };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((t) => t !== timer);
    };
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((t) => t !== next);
      this.#now = next.at;
      next.fn();
    }
    this.#now = end;
  }

  /** As on a machine that slept: what was due meanwhile fires once, late, in order of its time. */
  sleep(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter((t) => t.at <= this.#now).sort((a, b) => a.at - b.at);
    for (const timer of due) {
      if (!this.#timers.includes(timer)) continue;
      this.#timers = this.#timers.filter((t) => t !== timer);
      timer.fn();
    }
  }
}
