import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { messageOf } from '../../runtime/errors.ts';
import { reserved } from './address.ts';
import { runProcess } from './runner.ts';
import { probePort } from './schema.ts';

/** `hit`: proven. `bypassed`: traffic does not pass our table. `unproven`: the test could not be made. */
export interface SelfTest {
  readonly result: 'hit' | 'bypassed' | 'unproven';
  readonly message: string;
}

export interface SelfTestOptions {
  /** Prefix that enters the node's network namespace; default: we are in it. */
  readonly command?: readonly string[];
  readonly timeoutMs?: number;
}

const link = 'cwprobe';
/** Of 192.0.0.0/29 (RFC 7335), which is only ever used between the two ends of a link. */
const near = '192.0.0.1';
const far = '192.0.0.2';

/**
 * Sends a TCP SYN to the reserved address, from a namespace that hangs on this node as a pod does. Our table
 * alone answers it, with a reset: anything else means that traffic of pods does not pass netfilter here. The
 * table must be loaded. The namespace belongs to one child process and ends with it; the link, which would go
 * with the namespace a little later, is deleted before this resolves.
 */
export async function selfTest(options: SelfTestOptions = {}): Promise<SelfTest> {
  const prefix = options.command ?? [];
  const timeoutMs = options.timeoutMs ?? 20_000;
  const [file, ...args] = [...prefix, 'unshare', '--net', process.execPath, '-e', script];
  const child = spawn(file as string, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  try {
    const lines = linesOf(child);
    if ((await lines()) !== 'ready') return unproven('a network namespace cannot be made');
    await removeLink(prefix, timeoutMs);
    await ip([...prefix, 'ip'], timeoutMs, [
      `link add ${link} type veth peer name eth0 netns ${child.pid}`,
      `address add ${near}/29 dev ${link}`,
      `link set ${link} up`,
    ]);
    await ip(['nsenter', `--net=/proc/${child.pid}/ns/net`, 'ip'], timeoutMs, [
      `address add ${far}/29 dev eth0`,
      'link set lo up',
      'link set eth0 up',
      `route add default via ${near}`,
    ]);
    child.stdin?.write('go\n');
    return verdict(await lines());
  } catch (error) {
    return unproven(messageOf(error));
  } finally {
    await removeLink(prefix, timeoutMs).catch(() => {});
    child.kill('SIGKILL');
    await closed;
  }
}

/** Also one that an agent left which was killed on the way. None there is no error. */
async function removeLink(prefix: readonly string[], timeoutMs: number): Promise<void> {
  await runProcess([...prefix, 'ip', 'link', 'delete', link], { timeoutMs });
}

function verdict(answer: string | undefined): SelfTest {
  if (answer === undefined) return unproven('the probe ended without an answer');
  if (answer === 'ECONNREFUSED') {
    return { result: 'hit', message: 'a packet from a pod-like namespace met our table' };
  }
  const message = `a packet from a pod-like namespace to ${reserved[4]} was not answered by our table (${answer})`;
  return { result: 'bypassed', message };
}

function unproven(why: string): SelfTest {
  return { result: 'unproven', message: `the self-test could not be made: ${why}` };
}

async function ip(command: readonly string[], timeoutMs: number, lines: readonly string[]): Promise<void> {
  const input = `${lines.join('\n')}\n`;
  const { code, stderr } = await runProcess([...command, '-batch', '-'], { input, timeoutMs });
  if (code !== 0) throw new Error(`${lines[0]}: ${stderr.trim().split('\n')[0]}`);
}

/** The next line each call; undefined at the end. */
function linesOf(child: ChildProcess): () => Promise<string | undefined> {
  child.once('error', () => {});
  child.stdin?.on('error', () => {});
  if (!child.stdout) return async () => undefined;
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => {
    const next = await lines.next();
    return next.done ? undefined : next.value;
  };
}

/** Waits for the link, then connects; tries again while the link comes up. Ends with us. */
const script = `
const { connect } = require('node:net');
process.stdin.on('end', () => process.exit(0));
process.stdin.once('data', () => attempt(2));
console.log('ready');
function attempt(more) {
  const socket = connect({ host: '${reserved[4]}', port: ${probePort} });
  const end = (answer) => {
    socket.destroy();
    if (answer !== 'ECONNREFUSED' && more > 0) return attempt(more - 1);
    console.log(answer);
    process.exit(0);
  };
  socket.setTimeout(1500, () => end('timeout'));
  socket.once('connect', () => end('connected'));
  socket.once('error', (error) => end(error.code));
}
`;
