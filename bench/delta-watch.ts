import { Client, type ClientDuplexStream } from '@grpc/grpc-js';
import { set } from '../src/cli/playground/control-plane.ts';
import type { PeerRole } from '../src/runtime/identity.ts';
import { DialCredentials } from '../src/runtime/tls.ts';
import type { TlsFiles } from '../src/runtime/tls-files.ts';
import {
  acknowledgement,
  type DeltaResponse,
  decodeDeltaResponse,
  encodeDeltaRequest,
} from '../src/wire/proto/discovery.ts';
import { methods } from '../src/wire/proto/methods.ts';
import { codec } from '../src/wire/proto/registry.ts';
import { nowMs } from './connector.ts';

const bytes = (message: Buffer): Buffer => message;

/** What came, and when, on the clock of `nowMs`. */
export interface Told extends DeltaResponse {
  readonly at: number;
  /** Of the message. */
  readonly size: number;
}

/** A client of delta ADS that asks, acknowledges everything and tells what comes. */
export class DeltaWatch {
  readonly #client: Client;
  readonly #call: ClientDuplexStream<Buffer, Buffer>;

  /** `names`: what is asked of each type. */
  constructor(options: {
    readonly address: string;
    readonly tls: TlsFiles;
    readonly server: PeerRole;
    readonly node: string;
    readonly names: Readonly<Record<string, readonly string[]>>;
    readonly onTold: (told: Told) => void;
  }) {
    this.#client = new Client(
      options.address,
      new DialCredentials(options.tls, { set, roles: [options.server] }).connection(options.address),
      { 'grpc.max_receive_message_length': 64 * 1024 * 1024 },
    );
    this.#call = this.#client.makeBidiStreamRequest(methods.deltaAds, bytes, bytes);
    this.#call.on('data', (message: Buffer) => {
      const at = nowMs();
      const response = decodeDeltaResponse(message);
      this.#call.write(encodeDeltaRequest(acknowledgement(response.typeUrl, response.nonce, [])));
      options.onTold({ ...response, at, size: message.length });
    });
    this.#call.on('error', (error) => {
      if (!this.#closed) throw error;
    });
    const node = codec('envoy.config.core.v3.Node').encode({ id: options.node });
    for (const [typeUrl, subscribe] of Object.entries(options.names)) {
      const request = { typeUrl, subscribe, unsubscribe: [], initialVersions: new Map(), nonce: '', node };
      this.#call.write(encodeDeltaRequest(request));
    }
  }

  #closed = false;

  close(): void {
    this.#closed = true;
    this.#call.cancel();
    this.#client.close();
  }
}
