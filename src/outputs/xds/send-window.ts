/** Bytes that may wait in all streams of a server together: each stream's messages are copies once written. */
export class SendBudget {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(bytes: number) {
    this.#free = bytes;
  }

  get isSpent(): boolean {
    return this.#free <= 0;
  }

  take(bytes: number): void {
    this.#free -= bytes;
  }

  give(bytes: number): void {
    this.#free += bytes;
    for (const wake of this.#waiting) {
      if (this.isSpent) return;
      this.#waiting.delete(wake);
      wake();
    }
  }

  /** Calls `wake` once when there is something left, first come first served. */
  wait(wake: () => void): void {
    this.#waiting.add(wake);
  }

  forget(wake: () => void): void {
    this.#waiting.delete(wake);
  }
}

export interface SendWindowOptions {
  readonly budget: SendBudget;
  /** Of this stream. */
  readonly bytes: number;
  /** `done` is called once the message has left the process' buffers. */
  readonly write: (message: Buffer, done: () => void) => void;
  /** After `send` returned false: there is room again. */
  readonly drained: () => void;
}

/** Lets a stream write while little of it waits, and the server's budget is not spent. */
export class SendWindow {
  readonly #options: SendWindowOptions;
  #inFlight = 0;
  #blocked = false;
  #closed = false;

  constructor(options: SendWindowOptions) {
    this.#options = options;
  }

  /** False: no more until `drained`. */
  send(message: Buffer): boolean {
    const { budget, write } = this.#options;
    const { length } = message;
    this.#inFlight += length;
    budget.take(length);
    write(message, () => {
      if (this.#closed) return;
      this.#inFlight -= length;
      budget.give(length);
      this.#resume();
    });
    this.#blocked = this.#isFull || budget.isSpent;
    if (this.#blocked && !this.#isFull) budget.wait(this.#resume);
    return !this.#blocked;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#options.budget.forget(this.#resume);
    this.#options.budget.give(this.#inFlight);
  }

  get #isFull(): boolean {
    return this.#inFlight >= this.#options.bytes;
  }

  readonly #resume = (): void => {
    if (this.#closed || !this.#blocked || this.#isFull) return;
    if (this.#options.budget.isSpent) {
      this.#options.budget.wait(this.#resume);
      return;
    }
    this.#blocked = false;
    this.#options.drained();
  };
}
