import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Namespace } from '../../src/cli/playground/namespace.ts';

const patienceMs = 10_000;

/** One TCP connection on which a line is asked and answered as long as it lives. It is never opened again. */
export class HeldConnection {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    this.#child = child;
    this.#lines = lines;
  }

  /** Resolves once the first answer has come. */
  static async open(from: Namespace, host: string, port: number): Promise<HeldConnection> {
    const script = `exec 3<>/dev/tcp/${host}/${port}
      while read -r line; do echo "$line" >&3; read -r line <&3 || exit; echo "$line"; done`;
    const child = from.start(['bash', '-c', script], { stdio: ['pipe', 'pipe', 'ignore'] });
    const lines = child.stdout && createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    if (!lines) throw new Error('it has no output');
    const connection = new HeldConnection(child, lines);
    await connection.ask();
    return connection;
  }

  /** What the server says of itself. Rejects when the connection has ended or nothing comes for 10 s. */
  async ask(): Promise<string> {
    let late: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      late = setTimeout(() => reject(new Error('no answer on the connection')), patienceMs);
    });
    this.#child.stdin?.write('who\n');
    try {
      const { done, value } = await Promise.race([this.#lines.next(), tooLate]);
      if (done) throw new Error('the connection has ended');
      return value;
    } finally {
      clearTimeout(late);
    }
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }
}
