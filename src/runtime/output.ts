/**
 * An output brings the world to what is wanted, one key at a time. All three are idempotent; a rejection means
 * "not done, try again". Retries, pacing and metrics live once, in `runtime`.
 */
export interface Output<T> {
  update(key: string, wanted: T): Promise<void>;
  delete(key: string): Promise<void>;
  /** Removes everything of ours that is not in `keys`. Called only with a complete set. */
  prune(keys: ReadonlySet<string>): Promise<void>;
}
