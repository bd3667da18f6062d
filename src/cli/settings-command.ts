import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { parseDocument } from 'yaml';
import { AppError, messageOf } from '../runtime/errors.ts';
import { firstYamlFault } from '../wire/yaml-fault.ts';
import { type GivenBy, sayingWhatGave } from './given-by.ts';
import { type Setting, Settings } from './setting.ts';

export interface SettingsCommand {
  readonly name: string;
  readonly description: string;
  readonly settings: readonly Setting[];
  /** More keys that a config file may have: those of another command that reads the same file. */
  readonly alsoInFile?: readonly Setting[];
  readonly run: (settings: Settings) => Promise<void>;
}

/** A value and where it was given, as `--zone`, `CAUSEWAY_ZONE` or `east.yaml, zone`. */
interface Given {
  readonly value: string | readonly string[];
  readonly where: string;
}

const variable = (name: string): string => `CAUSEWAY_${name.toUpperCase().replaceAll('-', '_')}`;

/**
 * A command whose settings are flags, variables and keys of a config file. A flag wins over the variable, that over
 * the file, that over the default; an empty variable or key counts as not given. What cannot be used is E_USAGE.
 */
export function settingsCommand(spec: SettingsCommand): Command {
  const command = new Command(spec.name).description(spec.description);
  for (const setting of spec.settings) command.addOption(option(setting));
  command.option('--config <file>', 'YAML file with these settings as keys, such as `zone: gw.example`');
  command.addHelpText('after', '\nEach flag is also a variable (CAUSEWAY_<FLAG>, lists comma-separated).');
  return command.action(async (_, self: Command) => {
    const file = self.getOptionValue('config') as string | undefined;
    const config = file === undefined ? new Map() : readConfig(file, spec);
    const { settings, others } = collect(spec.settings, [
      fromFlags(self),
      fromEnvironment,
      (s) => config.get(s.name),
    ]);
    await sayingWhatGave(others, () => spec.run(settings));
  });
}

/** A command that takes flags only. */
export function flagsCommand(spec: Omit<SettingsCommand, 'alsoInFile'>): Command {
  const command = new Command(spec.name).description(spec.description);
  for (const setting of spec.settings) command.addOption(option(setting));
  return command.action((_, self: Command) => spec.run(collect(spec.settings, [fromFlags(self)]).settings));
}

function option({ name, short, value, help, required, list, default: otherwise }: Setting): Option {
  const notes = [required ? 'required' : '', otherwise ? `default: ${otherwise}` : ''].filter(Boolean);
  const text = notes.length > 0 ? `${help} (${notes.join(', ')})` : help;
  const result = new Option(`${short === undefined ? '' : `-${short}, `}--${name} <${value}>`, text);
  return list ? result.argParser((each: string, previous: string[] = []) => [...previous, each]) : result;
}

interface Collected {
  readonly settings: Settings;
  /** Those that were not given by their flags. */
  readonly others: readonly GivenBy[];
}

/** The first source that gives a setting counts. */
function collect(
  settings: readonly Setting[],
  sources: readonly ((setting: Setting) => Given | undefined)[],
): Collected {
  const others: GivenBy[] = [];
  const values = new Map<string, string | readonly string[]>();
  for (const setting of settings) {
    const given = sources.reduce<Given | undefined>((found, source) => found ?? source(setting), undefined);
    if (given) check(setting, given);
    const flag = `--${setting.name}`;
    if (given && given.where !== flag) others.push({ flag, where: given.where });
    const value = given?.value ?? setting.default;
    if (value !== undefined) values.set(setting.name, value);
    else if (setting.required) {
      const also = sources.length > 1 ? ` (or ${variable(setting.name)})` : '';
      throw new AppError('E_USAGE', `--${setting.name}${also} is missing: ${setting.help}`);
    }
  }
  return { settings: new Settings(values), others };
}

function check(setting: Setting, { value, where }: Given): void {
  for (const text of typeof value === 'string' ? [value] : value) {
    const expected = setting.check(text);
    if (expected === undefined) continue;
    throw new AppError(
      'E_USAGE',
      `${where}: expected ${expected}, found ${JSON.stringify(text.slice(0, 300))}`,
    );
  }
}

function fromFlags(command: Command): (setting: Setting) => Given | undefined {
  return ({ name }) => {
    const camel = name.replace(/-([a-z0-9])/g, (_, c: string) => c.toUpperCase());
    const value = command.getOptionValue(camel) as string | readonly string[] | undefined;
    return value === undefined ? undefined : { value, where: `--${name}` };
  };
}

function fromEnvironment({ name, list }: Setting): Given | undefined {
  const where = variable(name);
  const text = process.env[where];
  if (text === undefined || text === '') return undefined;
  return { value: list ? text.split(',').map((part) => part.trim()) : text, where };
}

function readConfig(file: string, { settings, alsoInFile = [] }: SettingsCommand): Map<string, Given> {
  let content: unknown;
  let fault: string | undefined;
  try {
    const text = readFileSync(file, 'utf8');
    // Scalars stay as they are written: a cluster may be called 1e3.
    const document = parseDocument(text, { schema: 'failsafe' });
    fault = firstYamlFault(document.errors, text);
    content = fault === undefined ? document.toJS({ maxAliasCount: 0 }) : undefined;
  } catch (cause) {
    throw new AppError('E_USAGE', `--config ${file}: ${messageOf(cause)}`, { cause });
  }
  if (fault !== undefined) throw new AppError('E_USAGE', `--config ${file}: ${fault}`);
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new AppError('E_USAGE', `--config ${file}: expected a mapping of settings`);
  }
  const given = new Map<string, Given>();
  for (const [name, value] of Object.entries(content)) {
    const setting = [...settings, ...alsoInFile].find((s) => s.name === name);
    if (!setting) {
      const known = settings.map((s) => s.name).join(', ');
      throw new AppError('E_USAGE', `${file}: unknown setting ${JSON.stringify(name)}; there are ${known}`);
    }
    const where = `${file}, ${name}`;
    const parsed = textsOf(setting, value, where);
    if (parsed.length > 0) given.set(name, { value: parsed, where });
  }
  return given;
}

function textsOf({ list }: Setting, value: unknown, where: string): string | readonly string[] {
  if (typeof value === 'string') return list ? [value] : value;
  if (list && Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  const found = Array.isArray(value) ? 'a list' : 'a mapping';
  throw new AppError(
    'E_USAGE',
    `${where}: expected ${list ? 'one value or a list of values' : 'one value'}, found ${found}`,
  );
}
