import type { Compiled, Status, Touched } from '../../model/compiled.ts';
import { FileStatus } from '../../outputs/status/file-status.ts';
import { OutputDriver } from '../../runtime/output-driver.ts';
import type { RoleContext } from '../../runtime/run-role.ts';
import type { WriteFile } from '../../runtime/state-disk.ts';

export interface ControllerStatusesOptions extends RoleContext {
  readonly state: string;
  readonly controllerName: string;
  readonly write: WriteFile;
  readonly compiled: () => Compiled;
  readonly onRepaired: (what: string) => void;
}

/** The statuses of objects follow what the model says of them. */
export class ControllerStatuses {
  readonly #compiled: () => Compiled;
  readonly #output: FileStatus;
  readonly #driver: OutputDriver<Status>;

  constructor(options: ControllerStatusesOptions) {
    const { state, controllerName, compiled, clock, write, onRepaired } = options;
    this.#compiled = compiled;
    this.#output = new FileStatus({
      stateFolder: state,
      controllerName,
      clock,
      write,
      onDue: (key) => this.#driver.touch([key]),
      onRepaired: (key) => onRepaired(`the status of ${key}`),
    });
    this.#driver = new OutputDriver({
      ...options,
      name: 'status',
      output: this.#output,
      wanted: (key: string) => compiled().statuses.get(key),
    });
  }

  /** `touched` undefined: everything, and what else is written of ours goes. */
  update(compiled: Compiled, touched: Touched | undefined): void {
    if (!touched) this.#driver.prune(new Set(compiled.statuses.keys()));
    this.#driver.touch(touched ? touched.statuses : compiled.statuses.keys());
  }

  /** Looks at every status that was written; resolves when what differed was put right or failed. */
  async audit(): Promise<void> {
    this.#driver.touch(this.#compiled().statuses.keys());
    await this.#driver.settled();
  }

  async close(): Promise<void> {
    await this.#driver.close();
    this.#output.close();
  }
}
