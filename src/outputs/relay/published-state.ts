import type { Export } from '../../model/compiled.ts';
import { formatOriginName } from '../../model/relay/names.ts';
import { encodeOriginStatus } from '../../model/relay/origin-status.ts';
import type { Clock } from '../../runtime/clock.ts';
import { messageName, typeUrls } from '../../wire/proto/type-urls.ts';
import { ResourceLog } from '../xds/resource-log.ts';
import type { Publishable } from './publish-link.ts';
import { type PublishedResource, type Publisher, renderExport } from './render.ts';

const heartbeatMs = 2_000;

export interface PublishedStateOptions extends Publisher {
  /** Start of this process' life, epoch milliseconds: of two publishers of a cluster the greater one counts. */
  readonly epoch: number;
  readonly clock: Clock;
}

/** What a resource was in the log, which holds its content. */
type Told = Pick<PublishedResource, 'typeUrl' | 'name'> & { readonly version: string | undefined };

/**
 * What this cluster tells its relays, in a log that their links read. Nothing is answered before the first
 * `update`: a controller that is starting must not look like one that has nothing.
 */
export class PublishedState implements Publishable {
  readonly log = new ResourceLog();
  readonly #options: PublishedStateOptions;
  readonly #rendered = new Map<string, { readonly from: Export; readonly resources: readonly Told[] }>();
  readonly #waiting: (() => void)[] = [];
  /** Resources by type, in a fixed order. */
  readonly #counts: Record<string, number> = {
    [messageName(typeUrls.cluster)]: 0,
    [messageName(typeUrls.assignment)]: 0,
  };
  #sequence = 0;
  #cancel: (() => void) | undefined;

  constructor(options: PublishedStateOptions) {
    this.#options = options;
  }

  get epoch(): number {
    return this.#options.epoch;
  }

  /** Calls `fn` once there is something to tell, even if it is that nothing is exported. */
  whenOpen(fn: () => void): void {
    if (this.log.isOpen) fn();
    else this.#waiting.push(fn);
  }

  /**
   * Takes everything that is exported now. `touched`: only these keys are other than before. `mark`: our clock when
   * what changed was seen, epoch milliseconds.
   */
  update(
    exports: ReadonlyMap<string, Export>,
    touched?: ReadonlySet<string>,
    mark: number = this.#options.clock.wall(),
  ): void {
    let changed = false;
    for (const key of touched ?? new Set([...this.#rendered.keys(), ...exports.keys()])) {
      const before = this.#rendered.get(key);
      const exported = exports.get(key);
      if (before?.from === exported) continue;
      changed = this.#replace(key, exported, before?.resources ?? [], mark) || changed;
    }
    if (changed) this.#sequence += 1;
    if (this.log.isOpen && !changed) return;
    this.#beat();
    if (this.log.isOpen) return;
    this.log.open();
    for (const fn of this.#waiting.splice(0)) fn();
  }

  close(): void {
    this.#cancel?.();
  }

  /** New shards before old ones go: their union never shrinks on the way. */
  #replace(key: string, exported: Export | undefined, before: readonly Told[], mark: number): boolean {
    const resources = exported ? renderExport(exported, this.#options, mark) : [];
    const told = resources.map(({ typeUrl, name, version }) => ({ typeUrl, name, version }));
    if (exported) this.#rendered.set(key, { from: exported, resources: told });
    else this.#rendered.delete(key);
    const versions = new Map(before.map((r) => [r.name, r.version]));
    let changed = false;
    for (const { typeUrl, ...resource } of resources) {
      if (!versions.has(resource.name)) this.#count(typeUrl, 1);
      if (versions.get(resource.name) === resource.version) continue;
      changed = this.log.set(typeUrl, resource) || changed;
    }
    const names = new Set(resources.map((r) => r.name));
    for (const { typeUrl, name } of before) {
      if (names.has(name)) continue;
      this.#count(typeUrl, -1);
      changed = this.log.remove(typeUrl, name) || changed;
    }
    return changed;
  }

  #count(typeUrl: string, by: 1 | -1): void {
    const type = messageName(typeUrl);
    this.#counts[type] = (this.#counts[type] ?? 0) + by;
  }

  #beat(): void {
    const { set, cluster, epoch, clock } = this.#options;
    this.#cancel?.();
    const status = {
      epoch,
      sequence: this.#sequence,
      synced: true,
      counts: this.#counts,
      sentAt: clock.wall(),
    };
    this.log.set(typeUrls.originStatus, {
      name: formatOriginName({ set, cluster }),
      body: encodeOriginStatus(status),
    });
    this.log.flush();
    this.#cancel = clock.after(heartbeatMs, () => this.#beat());
  }
}
