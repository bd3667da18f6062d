import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { firstLine } from '../src/cli/playground/first-line.ts';
import type { Namespace } from '../src/cli/playground/namespace.ts';

const program = (name: string): string[] => ['perl', join(import.meta.dirname, 'perl', `${name}.pl`)];

/** Milliseconds of the clock that clients' times are of. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export interface Reached {
  /** When the connection that reached it was begun, on the clock of `nowMs`. */
  readonly at: number;
  readonly tries: number;
  readonly failed: number;
}

/** A client in a namespace that costs few microseconds a connection; see perl/connect.pl. */
export class Connector {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(host: Namespace) {
    this.#child = host.start(program('connect'), { stdio: ['pipe', 'pipe', 'inherit'] });
    if (!this.#child.stdout) throw new Error('the client has no output');
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Begins to connect all the time; `reached` resolves with the first connection that `prefix` answers. */
  async reach(to: { readonly address: string; readonly port: number; readonly prefix: string }): Promise<{
    readonly reached: Promise<Reached>;
  }> {
    this.#child.stdin?.write(`reach ${to.address} ${to.port} ${to.prefix}\n`);
    await this.#line('trying');
    const reached = this.#line('reached').then(([at, tries, failed]) => ({
      at: Number(at) / 1e6,
      tries: Number(tries),
      failed: Number(failed),
    }));
    return { reached };
  }

  /** Microseconds of each connect, of `count` to each of these, in turns. */
  async latency(count: number, targets: readonly string[]): Promise<readonly (readonly number[])[]> {
    this.#child.stdin?.write(`latency ${count} ${targets.join(' ')}\n`);
    const taken: number[][] = [];
    for (const _ of targets) taken.push((await this.#line('latency')).slice(1).map(Number));
    return taken;
  }

  close(): void {
    this.#child.kill();
  }

  async #line(word: string): Promise<string[]> {
    const { value, done } = await this.#lines.next();
    const [first, ...rest] = done ? [] : value.split(' ');
    if (first !== word)
      throw new Error(`expected ${word} from the client, found ${done ? 'its end' : value}`);
    return rest;
  }
}

/** Answers for every address of a namespace; see perl/answer.pl. */
export async function startAnswering(host: Namespace, port: number): Promise<void> {
  const child = host.start([...program('answer'), String(port)], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = await firstLine(child, 10_000);
  if (said !== 'ready') throw new Error(`the server in ${host.name} did not start: ${said}`);
}
