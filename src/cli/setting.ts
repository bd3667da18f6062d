import { AppError } from '../runtime/errors.ts';
import type { Check } from './setting-checks.ts';

/** One setting of a command: a flag; of a role also the variable `CAUSEWAY_<NAME>` and a key of the config file. */
export interface Setting {
  /** Without dashes, as `service-cidr`. */
  readonly name: string;
  /** One letter, as `o` for `-o`. */
  readonly short?: string;
  /** Placeholder of the value in --help. */
  readonly value: string;
  readonly help: string;
  /** Of every value, of each one in a list, wherever it was given. */
  readonly check: Check;
  readonly default?: string;
  readonly required?: boolean;
  /** May be given several times; comma-separated in the variable, a list in the config file. */
  readonly list?: boolean;
}

/** What was given, and can be used: text, or a list of texts. Keys are setting names. */
export class Settings {
  readonly #values: ReadonlyMap<string, string | readonly string[]>;

  constructor(values: ReadonlyMap<string, string | readonly string[]>) {
    this.#values = values;
  }

  text(name: string): string {
    const value = this.optional(name);
    if (value === undefined) throw new AppError('E_USAGE', `--${name} is missing`);
    return value;
  }

  optional(name: string): string | undefined {
    const value = this.#values.get(name);
    return typeof value === 'string' ? value : undefined;
  }

  /** Of a number of seconds. */
  milliseconds(name: string): number {
    return Number(this.text(name)) * 1000;
  }

  list(name: string): readonly string[] {
    const value = this.#values.get(name) ?? [];
    return typeof value === 'string' ? [value] : value;
  }
}
