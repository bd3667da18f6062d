import type { Cause } from '../model/explain/explanation.ts';
import type { PathOnNode } from '../outputs/nft/path-on-node.ts';
import type { ExplainAnswer } from '../roles/controller/api.ts';
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
  /** `host:port` of an agent's admin pages: what its kernel lists is compared with what it is told. */
  readonly agent?: string;
  readonly output: string;
}

/** Prints why a name leads where it leads. Returns 0, or 1 when something stops the path. */
export async function runExplain(
  options: ExplainOptions,
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const { name, admin, node, agent, output } = options;
  const asked = await askAdmin<ExplainAnswer>(admin, 'explain', { name, node });
  const answer = agent === undefined ? asked : await withPaths(asked, agent);
  print(formatValue(output, answer, () => explainText(answer, paintFor(process.stdout, process.env))));
  return answer.works ? 0 : 1;
}

/** Asks the agent about every address and port. */
async function withPaths(answer: ExplainAnswer, agent: string): Promise<ExplainedPaths> {
  const { addresses = [], ports = [] } = answer.frontend ?? {};
  const queries = addresses.flatMap((address) =>
    ports.map(({ port, protocol }) => ({ address, port: `${port}`, protocol: protocol.toLowerCase() })),
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
