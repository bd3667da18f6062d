import type { Change } from '../../model/inputs.ts';

/** The addresses that Services hold: address → `Service <namespace>/<name>`. */
export class ReservedAddresses {
  readonly #services = new Map<string, readonly string[]>();

  follow(changes: readonly Change[]): void {
    for (const { kind, key, value } of changes) {
      if (kind !== 'Service') continue;
      if (value) this.#services.set(key, value.spec.clusterIPs);
      else this.#services.delete(key);
    }
  }

  get holders(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#services].flatMap(([key, addresses]) =>
        addresses.map((address) => [address, `Service ${key}`] as const),
      ),
    );
  }
}
