import { relayChannelOptions } from '../../outputs/relay/channel-options.ts';
import { PublishLink } from '../../outputs/relay/publish-link.ts';
import type { Admission } from '../../runtime/admission.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type AppError, messageOf } from '../../runtime/errors.ts';
import { parsePeerIdentity } from '../../runtime/identity.ts';
import type { Log } from '../../runtime/log.ts';
import { RenewedClient } from '../../runtime/renewed-client.ts';
import { DialCredentials } from '../../runtime/tls.ts';
import type { TlsFiles } from '../../runtime/tls-files.ts';
import type { Parent } from './feeds.ts';
import type { RelayHub } from './hub.ts';

export interface ParentLinksOptions {
  readonly set: string;
  /** `host:port` of each relay to dial. */
  readonly targets: readonly string[];
  readonly tls: TlsFiles;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

/** Both directions of the links to relays that we dial: the same two calls as a cluster's, over one connection each. */
export class ParentLinks {
  readonly #options: ParentLinksOptions;
  /** Target → the name in the certificate that was shown there last. */
  readonly #names = new Map<string, string>();
  /** Target → the state that was logged last. */
  readonly #logged = new Map<string, string>();
  readonly #clients: RenewedClient[] = [];
  readonly #links: PublishLink[] = [];

  constructor(options: ParentLinksOptions) {
    this.#options = options;
  }

  get parents(): readonly Parent[] {
    return this.#options.targets.map((target) => ({
      target,
      name: () => this.#names.get(target) ?? '',
      onState: (state) => this.#logState(target, state),
    }));
  }

  /** `hub` was made with `parents`. */
  dial(hub: RelayHub): void {
    const { set, tls, admission, clock, random, log } = this.#options;
    const epoch = clock.now();
    for (const parent of hub.feeds.parents) {
      const { target } = parent;
      const dialled = (raw: Uint8Array): void => {
        admission.dialled(raw, target);
        this.#names.set(target, parsePeerIdentity(raw).cluster);
      };
      const credentials = new DialCredentials(tls, { set, roles: ['relay'] }, { clock, dialled });
      const options = relayChannelOptions;
      const dialer = new RenewedClient({ target, credentials, options, clock, random, admission });
      this.#clients.push(dialer);
      const view = hub.parentView(() => parent.name);
      this.#links.push(
        new PublishLink({
          dialer,
          target,
          state: { log: view.log, epoch, whenOpen: (fn) => hub.whenListed(fn) },
          view,
          clock,
          random,
          refused: (name, message) =>
            log.warn({ name, relay: target }, `a relay refuses what we pass on: ${message}`),
          lost: (error) =>
            log.warn({ relay: target, code: error.code, error: error.message }, 'publishing is interrupted'),
        }),
      );
      parent.dial(dialer, random);
    }
  }

  close(): void {
    for (const link of this.#links) link.close();
    for (const client of this.#clients) client.close();
  }

  /** A relay that stays away is one line, not one for each try. */
  #logState(relay: string, state: 'up' | AppError): void {
    const text = state === 'up' ? 'up' : messageOf(state);
    if (this.#logged.get(relay) === text) return;
    this.#logged.set(relay, text);
    const { log } = this.#options;
    if (state === 'up') log.info({ relay, name: this.#names.get(relay) }, 'relay answers');
    else log.warn({ relay, error: text, code: state.code }, 'relay is lost; what it told stays');
  }
}
