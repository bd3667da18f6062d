import { type ClientPlace, clientPlace } from '../../model/explain/client-place.ts';
import { explain } from '../../model/explain/explain.ts';
import type { Cause, Explanation } from '../../model/explain/explanation.ts';
import {
  type BackendLine,
  type ClusterLine,
  listBackends,
  listClusters,
  listFrontends,
} from '../../model/explain/lists.ts';
import type { Model } from '../../model/model.ts';
import type { RefusedSubscriber } from '../../model/relay/refused-subscribers.ts';
import type { AckTracker, NodeHolding } from '../../outputs/xds/acks.ts';
import type { Api } from '../../runtime/admin.ts';
import { endsSoon } from '../../runtime/certificate-watch.ts';
import { type BrokenFiles, fileCauses, fileCausesOf } from './file-causes.ts';
import { type NodeLine, nodeLines } from './node-lines.ts';

export interface RelayLine {
  readonly relay: string;
  readonly connected: boolean;
  /** Why it is not connected: code and message of the link's last error. Absent: it is, or no try has ended yet. */
  readonly error?: string;
  /** Absent: none was proved yet. */
  readonly certificate?: CertificateLine;
}

export interface CertificateLine {
  /** RFC 3339. */
  readonly until: string;
  /** Negative: it has ended. */
  readonly secondsLeft: number;
  readonly endsSoon: boolean;
}

/** `wall`: epoch milliseconds of the wall clock. */
export const certificateLine = (
  certificate: { readonly from: number; readonly until: number },
  wall: number,
): CertificateLine => ({
  until: new Date(certificate.until).toISOString(),
  secondsLeft: Math.round((certificate.until - wall) / 1000),
  endsSoon: endsSoon(certificate, wall),
});

/** A cluster of `/api/clusters`. */
interface ContactLine extends ClusterLine {
  /** The last heartbeat that came, RFC 3339. Absent: none came to this process, or it is this cluster. */
  readonly heardAt?: string;
  /** Our own: others' are not told to us. */
  readonly certificate?: CertificateLine;
}

export interface ControllerApiOptions {
  readonly model: Model;
  readonly acks: AckTracker;
  readonly relays: () => readonly RelayLine[];
  /** When the last heartbeat of a cluster came; undefined: never. */
  readonly heardAt: (cluster: string) => number | undefined;
  /** Who asks for what our export does not offer them. */
  readonly refused: () => readonly RefusedSubscriber[];
  readonly files: () => BrokenFiles;
  /** Our own. */
  readonly certificate: () => CertificateLine | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** `/api/explain`: the model's explanation, and what nodes and relays have to do with it. */
export interface ExplainAnswer extends Explanation {
  readonly nodes: readonly NodeHolding[];
  /** Whose connections are asked about. */
  readonly client?: ClientPlace & { readonly agent: string };
  readonly relays: readonly RelayLine[];
}

/** A back end of `/api/backends`. */
export interface OfferedLine extends BackendLine {
  /** Clusters that ask for it and that its export leaves out. Sorted. */
  readonly refused: readonly string[];
}

/** `/api/clusters`. */
export interface ClustersAnswer {
  readonly clusters: readonly ContactLine[];
  readonly relays: readonly RelayLine[];
  /** Of the answer, RFC 3339. */
  readonly time: string;
}

/** The pages that `causeway get` and `causeway explain` print, and that scripts may read. */
export function controllerApi(options: ControllerApiOptions): Api {
  const { model, acks, relays, now } = options;
  return {
    frontends: () => listFrontends(model),
    backends: (): readonly OfferedLine[] => {
      const asked = options.refused();
      return listBackends(model).map((line) => ({ ...line, refused: refusedOf(line, asked) }));
    },
    clusters: (): ClustersAnswer => ({
      clusters: listClusters(model).map((line) => withContact(line, options)),
      relays: relays(),
      time: new Date(now()).toISOString(),
    }),
    nodes: (): readonly NodeLine[] => nodeLines(model, acks.snapshot()),
    files: (): readonly Cause[] => fileCauses(options.files()),
    explain: (query) => {
      const explanation = explain(model, query.get('name') ?? '');
      return explainAnswer(explanation, {
        acks,
        relays: relays(),
        refused: options.refused(),
        broken: fileCausesOf(explanation, options.files()),
        node: query.get('node') ?? undefined,
        client: clientOf(model, query.get('from')),
      });
    },
  };
}

function withContact(line: ClusterLine, { heardAt, certificate }: ControllerApiOptions): ContactLine {
  const own = line.own ? certificate() : undefined;
  const heard = line.own ? undefined : heardAt(line.cluster);
  return {
    ...line,
    ...(heard === undefined ? {} : { heardAt: new Date(heard).toISOString() }),
    ...(own ? { certificate: own } : {}),
  };
}

interface Around {
  readonly acks: Pick<AckTracker, 'holding' | 'adminOf'>;
  readonly relays: readonly RelayLine[];
  readonly refused: readonly RefusedSubscriber[];
  /** What is broken in files. */
  readonly broken: readonly Cause[];
  /** The client's node: what is wrong with it stops the path. */
  readonly node: string | undefined;
  /** Who the client is, and so its node; or why nobody can say. */
  readonly client?: ClientPlace | Cause | undefined;
}

const clientOf = (model: Model, from: string | null): ClientPlace | Cause | undefined =>
  from === null ? undefined : clientPlace(model, from);

/** Adds what nodes hold and which relays are there, and what of it stops the path. */
export function explainAnswer(explanation: Explanation, around: Around): ExplainAnswer {
  const { acks, relays, refused } = around;
  const { frontend } = explanation;
  const unknown = around.client && 'stops' in around.client ? around.client : undefined;
  const client = around.client && 'node' in around.client ? around.client : undefined;
  const node = client?.node ?? around.node;
  const held = frontend ? acks.holding(`${frontend.namespace}/${frontend.name}`) : [];
  const nodes = node === undefined ? held : held.filter((h) => h.node === node);
  const extra: Cause[] = [
    ...(unknown ? [unknown] : []),
    ...(node !== undefined && frontend && nodes.length === 0 ? [noSuchNode(node)] : []),
    ...nodes.filter(({ holds }) => holds !== 'Yes').map((holding) => nodeCause(holding, node)),
    ...(isAboutPeers(explanation) ? relays.filter(({ connected }) => !connected).map(relayCause) : []),
    ...refused.filter(({ composite }) => isOnPath(explanation, composite)).map(refusedCause),
    ...around.broken,
  ];
  const causes = [...explanation.causes, ...extra];
  return {
    ...explanation,
    works: causes.every(({ stops }) => !stops),
    causes: [...causes.filter(({ stops }) => stops), ...causes.filter(({ stops }) => !stops)],
    nodes,
    ...(client ? { client: { ...client, agent: acks.adminOf(client.node) } } : {}),
    relays,
  };
}

const noSuchNode = (name: string): Cause => ({
  stops: true,
  reason: 'NotFound',
  ref: { kind: 'Node', namespace: '', name },
  field: '',
  message: `no Node ${name} is Ready in this cluster, and no agent of that name was ever connected`,
  next: 'causeway get nodes lists them',
});

const nodeCause = ({ node, holds, reason, message }: NodeHolding, asked: string | undefined): Cause => ({
  stops: holds === 'No' || node === asked,
  reason,
  ref: { kind: 'Node', namespace: '', name: node },
  field: '',
  message,
  next:
    reason === 'AgentNotConnected'
      ? `see whether causeway agent runs on ${node} and reaches a controller`
      : `look at the log of the agent on ${node}`,
});

const relayCause = ({ relay, error }: RelayLine): Cause => ({
  stops: false,
  reason: 'RelayDown',
  ref: { kind: 'Relay', namespace: '', name: relay },
  field: '',
  message: `this controller has no link to relay ${relay}${error === undefined ? '' : ` (${error})`}: what other clusters gave stays in force, and no change of theirs or ours arrives`,
  next: error?.startsWith('E_PEER_IDENTITY')
    ? `see whether the certificates of both ends are of this set, have not ended and are not revoked, and whether this cluster is on the list of members of ${relay}`
    : `see whether causeway relay runs at ${relay} and is reached from here`,
});

const refusedCause = ({ cluster, port, composite }: RefusedSubscriber): Cause => {
  const slash = composite.indexOf('/');
  return {
    stops: false,
    reason: 'SubscriberRefused',
    ref: {
      kind: 'CompositeBackend',
      namespace: composite.slice(0, slash),
      name: composite.slice(slash + 1),
    },
    field: 'spec.export',
    message: `${cluster} asks for ${port}, and is not offered it`,
    next: `admit ${cluster} in spec.export, if it is to have this and its certificate speaks for the namespace; else nothing: it sees no difference to what does not exist`,
  };
};

const isOnPath = ({ frontend, offer }: Explanation, composite: string): boolean =>
  (offer !== undefined && `${offer.namespace}/${offer.name}` === composite) ||
  frontend?.ports.some(({ backends }) =>
    backends.some((b) => b.kind === 'CompositeBackend' && `${b.namespace}/${b.name}` === composite),
  ) === true;

const refusedOf = (
  { kind, namespace, name, port }: BackendLine,
  asked: readonly RefusedSubscriber[],
): readonly string[] => {
  if (kind !== 'CompositeBackend') return [];
  const [number, protocol = ''] = port.split('/');
  const its = `/${protocol.toLowerCase()}-${number}`;
  const of = asked.filter((a) => a.composite === `${namespace}/${name}` && a.port.endsWith(its));
  return [...new Set(of.map(({ cluster }) => cluster))].sort();
};

/** A composite is on the path: other clusters matter to it. */
const isAboutPeers = ({ frontend, offer }: Explanation): boolean =>
  offer !== undefined ||
  frontend?.ports.some(({ backends }) => backends.some(({ kind }) => kind === 'CompositeBackend')) === true;
