import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { parse as parseYaml } from 'yaml';
import { AppError, messageOf } from '../runtime/errors.ts';

/** One setting of a role: a flag, the variable `CAUSEWAY_<NAME>` and a key of the config file. */
export interface Setting {
  /** Without dashes, as `service-cidr`. */
  readonly name: string;
  /** Placeholder of the value in --help; absent: a switch. */
  readonly value?: string;
  readonly help: string;
  readonly default?: string;
  readonly required?: boolean;
  /** May be given several times; comma-separated in the variable, a list in the config file. */
  readonly list?: boolean;
  readonly choices?: readonly string[];
}

/** What was given: text, a list of texts, or true for a switch. Keys are setting names. */
export class Settings {
  readonly #values: ReadonlyMap<string, string | readonly string[] | boolean>;

  constructor(values: ReadonlyMap<string, string | readonly string[] | boolean>) {
    this.#values = values;
  }

  text(name: string): string {
    const value = this.#values.get(name);
    if (typeof value !== 'string') throw new AppError('E_USAGE', `--${name} is missing`);
    return value;
  }

  optional(name: string): string | undefined {
    const value = this.#values.get(name);
    return typeof value === 'string' ? value : undefined;
  }

  /** A positive number of seconds, as milliseconds. */
  milliseconds(name: string): number {
    const seconds = Number(this.text(name));
    if (seconds > 0 && seconds <= maxSeconds) return seconds * 1000;
    throw new AppError(
      'E_USAGE',
      `--${name}: expected 0 < seconds <= ${maxSeconds}, found ${this.text(name)}`,
    );
  }

  list(name: string): readonly string[] {
    const value = this.#values.get(name);
    return Array.isArray(value) ? (value as string[]) : typeof value === 'string' ? [value] : [];
  }

  isSet(name: string): boolean {
    return this.#values.get(name) === true;
  }
}

/** Timers of Node hold 31 bits of milliseconds. */
const maxSeconds = 2_000_000;

const variable = (name: string): string => `CAUSEWAY_${name.toUpperCase().replaceAll('-', '_')}`;

/** A flag wins over the environment, that over the config file, that over the default. */
export function roleCommand(
  name: string,
  description: string,
  settings: readonly Setting[],
  run: (settings: Settings) => Promise<void>,
): Command {
  const command = new Command(name).description(description);
  for (const s of settings) command.addOption(option(s));
  command.option('--config <file>', 'YAML file with these settings as keys, such as `cluster: east`');
  command.addHelpText('after', '\nEach flag is also a variable (CAUSEWAY_<FLAG>, lists comma-separated).');
  return command.action(async (_, self: Command) => {
    const file = self.getOptionValue('config') as string | undefined;
    await run(merge(settings, self, file === undefined ? {} : readConfig(file, settings)));
  });
}

function option(s: Setting): Option {
  const flags = s.value === undefined ? `--${s.name}` : `--${s.name} <${s.value}>`;
  const notes = [s.required ? 'required' : '', s.default === undefined ? '' : `default: ${s.default}`];
  const note = notes.filter(Boolean).join(', ');
  const result = new Option(flags, note ? `${s.help} (${note})` : s.help);
  if (s.list)
    result.argParser((value: string, previous: string[] | undefined) => [...(previous ?? []), value]);
  return result;
}

function merge(settings: readonly Setting[], command: Command, config: Record<string, unknown>): Settings {
  const values = new Map<string, string | readonly string[] | boolean>();
  for (const s of settings) {
    const camel = s.name.replace(/-([a-z0-9])/g, (_, c: string) => c.toUpperCase());
    const flag = command.getOptionValue(camel) as string | string[] | boolean | undefined;
    const found = flag ?? fromEnvironment(s) ?? fromConfig(s, config[s.name]) ?? s.default;
    if (found === undefined) {
      if (s.required)
        throw new AppError('E_USAGE', `--${s.name} (or ${variable(s.name)}) is missing: ${s.help}`);
      continue;
    }
    if (s.choices && !s.choices.includes(String(found))) {
      throw new AppError(
        'E_USAGE',
        `--${s.name}: expected ${s.choices.join(' or ')}, found ${JSON.stringify(found)}`,
      );
    }
    values.set(s.name, found);
  }
  return new Settings(values);
}

function fromEnvironment(s: Setting): string | readonly string[] | boolean | undefined {
  const text = process.env[variable(s.name)];
  if (text === undefined || text === '') return undefined;
  if (s.list) return text.split(',').map((part) => part.trim());
  return s.value === undefined ? text === 'true' || text === '1' : text;
}

function fromConfig(s: Setting, value: unknown): string | readonly string[] | boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (s.list) return (Array.isArray(value) ? value : [value]).map(String);
  return s.value === undefined ? value === true : String(value);
}

function readConfig(file: string, settings: readonly Setting[]): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseYaml(readFileSync(file, 'utf8'), { maxAliasCount: 0 });
  } catch (cause) {
    throw new AppError('E_USAGE', `--config ${file}: ${messageOf(cause)}`, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('E_USAGE', `--config ${file}: expected a mapping of settings`);
  }
  const known = settings.map((s) => s.name);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new AppError(
      'E_USAGE',
      `--config ${file}: unknown setting ${JSON.stringify(unknown)}; there are ${known.join(', ')}`,
    );
  }
  return value as Record<string, unknown>;
}
