import { isClient } from '../model/explain/client-place.ts';
import type { Cause } from '../model/explain/explanation.ts';
import type { PathOnNode } from '../outputs/nft/path-on-node.ts';
import type { ExplainAnswer } from '../roles/controller/api.ts';
import { AppError } from '../runtime/errors.ts';
import { askAdmin } from './ask-admin.ts';
import { explainText } from './explain-text.ts';
import { paintFor } from './paint.ts';
import { formatValue } from './print-value.ts';

export interface ExplainOptions {
  readonly name: string;
  /** `host:port` of a controller's admin pages. */
  readonly admin: string | undefined;
  /** The client's node. */
  readonly node?: string;
  /** The client: `pod/<namespace>/<name>` or `node/<name>`. */
  readonly from?: string;
  /** `host:port` of an agent's admin pages: what its kernel lists is compared with what it is told. */
  readonly agent?: string;
  readonly output: string;
}

/** Prints why a name leads where it leads. Returns 0, or 1 when something stops the path. */
export async function runExplain(
  options: ExplainOptions,
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const { name, admin, node, from, output } = options;
  if (from !== undefined && !isClient(from)) {
    const expected = 'expected pod/<namespace>/<name> or node/<name>';
    throw new AppError('E_USAGE', `--from: ${expected}, found ${JSON.stringify(from)}`);
  }
  const asked = await askAdmin<ExplainAnswer>(admin, 'explain', { name, node, from });
  const answer = await withNode(asked, options.agent);
  print(formatValue(output, answer, () => explainText(answer, paintFor(process.stdout, process.env))));
  return answer.works ? 0 : 1;
}

/** Adds what the kernel of the client's node does; `agent` is asked in the place of the one that is known. */
async function withNode(
  answer: ExplainAnswer,
  agent: string | undefined,
): Promise<ExplainedPaths | ExplainAnswer> {
  const { client } = answer;
  if (agent !== undefined) return withPaths(answer, agent);
  if (!client) return answer;
  if (client.agent === '') {
    return withNote(answer, tableNotSeen(client.node, 'the controller does not know where they are'));
  }
  try {
    return await withPaths(answer, client.agent);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'E_UNREACHABLE') throw error;
    return withNote(answer, tableNotSeen(client.node, error.message));
  }
}

const withNote = (answer: ExplainAnswer, note: Cause): ExplainAnswer => ({
  ...answer,
  causes: [...answer.causes, note],
});

const tableNotSeen = (node: string, why: string): Cause => ({
  stops: false,
  reason: 'TableNotSeen',
  ref: { kind: 'Node', namespace: '', name: node },
  field: '',
  message: `the admin pages of its agent are not reached from here, so that the kernel’s table is not looked at: ${why}`,
  next: 'run this where they are reached, or name them with --agent; agents tell where they are unless --admin is on loopback',
});

/** Asks the agent about every address and port. */
async function withPaths(answer: ExplainAnswer, agent: string): Promise<ExplainedPaths> {
  const { client, frontend } = answer;
  const { addresses = [], ports = [] } = frontend ?? {};
  const queries = addresses.flatMap((address) =>
    ports.map(({ port, protocol }) => ({
      address,
      port: `${port}`,
      protocol: protocol.toLowerCase(),
      ...(client ? { from: sourceOf(client, address), client: client.hostNetwork ? 'host' : 'pod' } : {}),
    })),
  );
  const paths: PathOnNode[] = [];
  for (const query of queries) paths.push(await askAdmin<PathOnNode>(agent, 'path', query));
  const causes = [...paths.filter(({ missing, extra }) => missing.length + extra.length > 0).map(differs)];
  return {
    ...answer,
    works: answer.works && causes.length === 0,
    causes: [...causes, ...answer.causes],
    paths,
  };
}

/** The client's address of the same family; empty: it is not known. */
const sourceOf = ({ addresses }: Client, to: string): string =>
  addresses.find((address) => address.includes(':') === to.includes(':')) ?? '';

type Client = NonNullable<ExplainAnswer['client']>;

/** Beside what the controller says: what one node's kernel does. */
interface ExplainedPaths extends ExplainAnswer {
  readonly paths: readonly PathOnNode[];
}

function differs({ node, address, port, protocol, missing, extra }: PathOnNode): Cause {
  const parts = [
    ...(missing.length > 0 ? [`missing ${missing.join(', ')}`] : []),
    ...(extra.length > 0 ? [`too much ${extra.join(', ')}`] : []),
  ];
  return {
    stops: true,
    reason: 'TableDiffers',
    ref: { kind: 'Node', namespace: '', name: node },
    field: '',
    message: `the kernel’s table differs from what the agent is told for ${address} ${protocol} ${port}: ${parts.join('; ')}`,
    next: `look at the log of the agent on ${node}; it compares and repairs at its --audit-interval`,
  };
}
