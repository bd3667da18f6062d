import type { ExplainAnswer } from '../../roles/controller/api.ts';
import type { NodeLine } from '../../roles/controller/node-lines.ts';
import { AppError } from '../../runtime/errors.ts';
import { askAdmin } from '../ask-admin.ts';
import { causeText } from '../explain-text.ts';
import { type Paint, paintFor } from '../paint.ts';
import { formatValue } from '../print-value.ts';
import type { Hop } from './hop.ts';
import { realProbes } from './real-probes.ts';
import { verifyPath } from './verify-path.ts';

export interface VerifyOptions {
  readonly name: string;
  /** `host:port` of a controller's admin pages. */
  readonly admin: string | undefined;
  readonly resolver?: string;
  readonly dns?: string;
  readonly node?: string;
  /** What the application answers by UDP: text, or `hex:` and bytes. */
  readonly datagram?: string;
  readonly output: string;
}

/** Sends real packets along the path of a name. Returns 0, or 1 when a hop is broken. */
export async function runVerify(
  { name, admin, output, datagram, ...around }: VerifyOptions,
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const payload = datagram === undefined ? {} : { datagram: datagramOf(datagram) };
  const [answer, nodes] = await Promise.all([
    askAdmin<ExplainAnswer>(admin, 'explain', { name }),
    askAdmin<readonly NodeLine[]>(admin, 'nodes'),
  ]);
  const probes = realProbes();
  const paint = paintFor(process.stdout, process.env);
  // Checked before anything is sent.
  formatValue(output, '', () => '');
  const live = output === 'table';
  if (live) print(`${answer.asked} from ${probes.from}\n`);
  const onHop = (hop: Hop): void => print(`${hopText(hop, paint)}\n`);
  const result = await verifyPath({
    answer,
    nodes,
    probes,
    ...around,
    ...payload,
    ...(live ? { onHop } : {}),
  });
  print(formatValue(output, result, () => endText(result.hops, paint)));
  return result.works ? 0 : 1;
}

function datagramOf(text: string): Buffer {
  const [, hex] = /^hex:((?:[0-9a-f]{2})+)$/i.exec(text) ?? [];
  if (hex !== undefined && hex.length <= 2 * maxDatagram) return Buffer.from(hex, 'hex');
  if (text !== '' && !text.startsWith('hex:') && Buffer.byteLength(text) <= maxDatagram)
    return Buffer.from(text);
  throw new AppError(
    'E_USAGE',
    `--datagram: expected a text or hex:… of 1 to ${maxDatagram} bytes, found ${JSON.stringify(text)}`,
  );
}

/** What passes everywhere in one packet. */
const maxDatagram = 1_200;

const marks = { Good: '✔', Broken: '✖', Skipped: '●' } as const;

function hopText({ hop, what, result, found, ms }: Hop, paint: Paint): string {
  const color = { Good: paint.good, Broken: paint.bad, Skipped: paint.note }[result];
  const time = ms === 0 ? '' : `   ${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return `  ${color(marks[result])} ${hop.padEnd(9)} ${what}   ${found}${time}`;
}

/** Why the first broken hop is. */
function endText(hops: readonly Hop[], paint: Paint): string {
  const first = hops.find(({ cause }) => cause !== undefined)?.cause;
  return first ? `\n${causeText(first, paint)}\n` : '';
}
