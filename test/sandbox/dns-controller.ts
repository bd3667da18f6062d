import { join } from 'node:path';
import type { Frontend } from '../../src/model/ir.ts';
import { ResourceLog } from '../../src/outputs/xds/resource-log.ts';
import { startXdsServer, type XdsServer } from '../../src/outputs/xds/server.ts';
import { dataPlaneView } from '../../src/outputs/xds/view.ts';
import { XdsOutput } from '../../src/outputs/xds/xds-output.ts';
import { CaFolder } from '../../src/runtime/ca-folder.ts';
import { silentLog } from '../../src/runtime/log.ts';
import { Metrics } from '../../src/runtime/metrics.ts';
import { identifyCall, serverCredentials } from '../../src/runtime/tls.ts';
import type { TlsFiles } from '../../src/runtime/tls-files.ts';

/** The xDS side of a controller, told what to serve; with a CA of its own. */
export class StandInController {
  readonly address: string;
  readonly clientTls: TlsFiles;
  readonly #serverTls: TlsFiles;
  #server: XdsServer | undefined;
  #output: XdsOutput | undefined;

  private constructor(address: string, clientTls: TlsFiles, serverTls: TlsFiles) {
    this.address = address;
    this.clientTls = clientTls;
    this.#serverTls = serverTls;
  }

  /** Does not listen yet. */
  static async create(address: string, folder: string): Promise<StandInController> {
    const { ca } = await CaFolder.init(join(folder, 'ca'), 'demo', Date.now());
    const issue = (role: 'controller' | 'dns'): Promise<TlsFiles> =>
      ca.issueInto(join(folder, role), {
        ...{ cluster: 'east', role, labels: {}, namespaces: [], region: '', network: '' },
        now: Date.now(),
        ttl: 3_600_000,
      });
    return new StandInController(address, await issue('dns'), await issue('controller'));
  }

  /** Flags of a role that follows it. */
  get flags(): readonly string[] {
    const { cert, key, ca } = this.clientTls;
    return [
      ...['--cluster', 'east', '--set', 'demo', '--controller', this.address],
      ...['--tls-cert', cert, '--tls-key', key, '--tls-ca', ca],
    ];
  }

  async start(frontends: readonly Frontend[]): Promise<void> {
    const log = new ResourceLog();
    this.#output = new XdsOutput({ log, origin: { set: 'demo', cluster: 'east', epoch: Date.now() } });
    this.#server = await startXdsServer({
      listen: this.address,
      credentials: serverCredentials(this.#serverTls),
      identify: (call) => identifyCall(call, { set: 'demo', cluster: 'east', roles: ['dns'] }),
      views: (peer) => dataPlaneView(peer.role),
      log,
      logger: silentLog,
      metrics: new Metrics(),
    });
    this.update(frontends);
  }

  update(frontends: readonly Frontend[]): void {
    this.#output?.update({
      frontends: new Map(frontends.map((f) => [f.key, f])),
      backends: new Map(),
      nodes: new Map(),
    });
  }

  async stop(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }
}

/** A Gateway in namespace shop with a TCP listener `http` on port 80. */
export function gateway(name: string, zone: string, vips: readonly string[]): Frontend {
  return {
    key: `gateway/shop/${name}`,
    generation: 1,
    names: [`${name}.shop.${zone}`],
    ttl: 5,
    vips,
    ports: [
      {
        protocol: 'TCP',
        port: 80,
        listeners: ['http'],
        targets: [{ backend: `composite/shop/${name}/tcp-80`, weight: 1 }],
      },
    ],
  };
}
