import type { Frontend, FrontendKey } from '../../model/ir.ts';
import { type Address, parseAddress } from './address.ts';

/** `gateway|service/<namespace>/<name>` of a key that may go on with a port. */
export const ownerOf = (key: FrontendKey): string => key.split('/', 3).join('/');

/**
 * Who wants which address. An address belongs to the owner whose key sorts first; what others want there is
 * refused, on every node alike.
 */
export class VipClaims {
  /** Nearly always one: a list is smaller than a map. */
  readonly #byAddress = new Map<string, readonly FrontendKey[]>();
  readonly #vips = new Map<FrontendKey, readonly (Address | string)[]>();

  /** Addresses in the order of the front end; a text says why one is none. */
  vips(key: FrontendKey): readonly (Address | string)[] {
    return this.#vips.get(key) ?? [];
  }

  /** Undefined: nobody claims it. */
  owner(address: string): string | undefined {
    let first: string | undefined;
    for (const key of this.#byAddress.get(address) ?? []) {
      const owner = ownerOf(key);
      if (first === undefined || owner < first) first = owner;
    }
    return first;
  }

  /** Takes a front end's claims (undefined: it is gone). Front ends that lose or win an address by it. */
  set(key: FrontendKey, frontend: Frontend | undefined): readonly FrontendKey[] {
    const before = this.vips(key);
    const after = frontend?.vips.map(parseAddress) ?? [];
    if (frontend) this.#vips.set(key, after);
    else this.#vips.delete(key);
    const addresses = new Set([...before, ...after].flatMap((v) => (typeof v === 'string' ? [] : [v.text])));
    const affected: FrontendKey[] = [];
    for (const address of addresses) {
      const owner = this.owner(address);
      const claimed = after.some((v) => typeof v !== 'string' && v.text === address);
      const others = (this.#byAddress.get(address) ?? []).filter((k) => k !== key);
      const claims = claimed ? [...others, key] : others;
      if (claims.length > 0) this.#byAddress.set(address, claims);
      else this.#byAddress.delete(address);
      if (this.owner(address) !== owner) affected.push(...claims);
    }
    return affected;
  }
}
