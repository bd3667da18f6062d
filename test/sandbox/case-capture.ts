import { Client, type ClientDuplexStream } from '@grpc/grpc-js';
import { set } from '../../src/cli/playground/control-plane.ts';
import type { PeerRole } from '../../src/runtime/identity.ts';
import { DialCredentials } from '../../src/runtime/tls.ts';
import type { TlsFiles } from '../../src/runtime/tls-files.ts';
import { acknowledgement, decodeDeltaResponse, encodeDeltaRequest } from '../../src/wire/proto/discovery.ts';
import { codec } from '../../src/wire/proto/registry.ts';

const path = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const bytes = (message: Buffer): Buffer => message;

/** A client of delta ADS that asks, acknowledges everything and keeps every byte it is sent. */
export class XdsCapture {
  readonly #client: Client;
  readonly #call: ClientDuplexStream<Buffer, Buffer>;
  readonly #raw: Buffer[] = [];
  /** Names that were sent or said to be absent. */
  readonly answered = new Set<string>();
  /** Name of each resource that was sent, and of those that are there → the version, a hash of its content. */
  readonly sent = new Map<string, string>();
  /** Why the stream ended. */
  failure: string | undefined;

  /** `names`: what is asked of each type. */
  constructor(options: {
    readonly address: string;
    readonly tls: TlsFiles;
    readonly server: PeerRole;
    readonly names: Readonly<Record<string, readonly string[]>>;
  }) {
    const { address, server, tls } = options;
    const credentials = new DialCredentials(tls, { set, roles: [server] }).connection(address);
    this.#client = new Client(address, credentials);
    this.#call = this.#client.makeBidiStreamRequest(path, bytes, bytes);
    this.#call.on('data', (message: Buffer) => {
      this.#raw.push(message);
      const { typeUrl, nonce, resources, removals } = decodeDeltaResponse(message);
      for (const { name, version } of resources) this.sent.set(name, version);
      for (const name of [...removals, ...resources.map((r) => r.name)]) this.answered.add(name);
      this.#call.write(encodeDeltaRequest(acknowledgement(typeUrl, nonce, [])));
    });
    this.#call.on('error', (error) => {
      this.failure ??= error.message;
    });
    const node = codec('envoy.config.core.v3.Node').encode({ id: 'capture' });
    for (const [typeUrl, subscribe] of Object.entries(options.names)) {
      const request = { typeUrl, subscribe, unsubscribe: [], initialVersions: new Map(), nonce: '', node };
      this.#call.write(encodeDeltaRequest(request));
    }
  }

  /** Everything that came, as one text. */
  get text(): string {
    return Buffer.concat(this.#raw).toString('latin1');
  }

  close(): void {
    this.#call.cancel();
    this.#client.close();
  }
}
