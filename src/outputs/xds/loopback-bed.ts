import { ServerCredentials } from '@grpc/grpc-js';
import type { PeerIdentity, PeerRole } from '../../runtime/identity.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { startXdsServer, type XdsServer, type XdsServerOptions } from './server.ts';
import { dataPlaneView } from './view.ts';

/** A data plane of the cluster east. */
const peer = (role: PeerRole, node: string): PeerIdentity => ({
  set: 'demo',
  cluster: 'east',
  role,
  ...(role === 'agent' ? { node } : {}),
  labels: {},
  namespaces: [],
  region: '',
  network: '',
});

export interface LoopbackOptions
  extends Pick<XdsServerOptions, 'log'>,
    Partial<Omit<XdsServerOptions, 'log'>> {
  /** Who everybody is that calls. */
  readonly role: PeerRole;
  /** Of an agent; default e1. */
  readonly node?: string;
  /** Default: a free one. */
  readonly port?: number;
}

/** For tests: serves a log in plain text, as a controller does with TLS. */
export function serveOnLoopback({
  role,
  node = 'e1',
  port = 0,
  ...options
}: LoopbackOptions): Promise<XdsServer> {
  return startXdsServer({
    listen: `127.0.0.1:${port}`,
    credentials: ServerCredentials.createInsecure(),
    identify: () => peer(role, node),
    views: ({ role }) => dataPlaneView(role),
    logger: silentLog,
    metrics: new Metrics(),
    ...options,
  });
}
