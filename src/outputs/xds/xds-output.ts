import type { Backend, Frontend, Ir, NodeFacts } from '../../model/ir.ts';
import { formatOriginName } from '../../model/relay/names.ts';
import { codec } from '../../wire/proto/registry.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import type { AckTracker } from './acks.ts';
import { nodesName, renderNodes } from './assignment.ts';
import { type Rendered, renderBackend, renderFrontend } from './render.ts';
import type { ResourceLog } from './resource-log.ts';

export interface XdsOutputOptions {
  readonly log: ResourceLog;
  readonly acks?: AckTracker;
  /** Who serves: named by the marker that closes the initial state of our own streams. */
  readonly origin: {
    readonly set: string;
    readonly cluster: string;
    /** Start of this process, epoch milliseconds. */
    readonly epoch: number;
  };
}

/** Keys that changed; others are not looked at. */
export interface TouchedKeys {
  readonly frontends: ReadonlySet<string>;
  readonly backends: ReadonlySet<string>;
  readonly nodes: ReadonlySet<string>;
}

interface Made<T> {
  readonly value: T;
  readonly names: readonly { readonly typeUrl: string; readonly name: string }[];
}

/**
 * Brings the log to what an intermediate representation says. A value that is the same object as before is not
 * rendered again. The log is open from the first update on, so the first one must be complete.
 */
export class XdsOutput {
  readonly #log: ResourceLog;
  readonly #acks: AckTracker | undefined;
  readonly #origin: XdsOutputOptions['origin'];
  readonly #frontends = new Map<string, Made<Frontend>>();
  readonly #backends = new Map<string, Made<Backend>>();

  constructor(options: XdsOutputOptions) {
    this.#log = options.log;
    this.#acks = options.acks;
    this.#origin = options.origin;
  }

  /** Position of the log at which nodes that follow it hold this. */
  update(ir: Ir, touched?: TouchedKeys): number {
    this.#apply(this.#backends, ir.backends, touched?.backends, renderBackend);
    if (!touched || touched.nodes.size > 0 || !this.#log.isOpen) this.#setNodes(ir.nodes);
    const changed = this.#apply(this.#frontends, ir.frontends, touched?.frontends, renderFrontend);
    for (const key of changed) this.#tellAcks(key);
    if (this.#log.isOpen) this.#log.flush();
    else this.#open();
    return this.#log.position;
  }

  /** The marker says that all is told, and never changes: it is no heartbeat here. */
  #open(): void {
    const { epoch } = this.#origin;
    const body = codec('causeway.v1.OriginStatus').encode({ epoch, synced: true });
    this.#log.set(typeUrls.originStatus, { name: formatOriginName(this.#origin), body });
    this.#log.open();
  }

  #apply<T>(
    made: Map<string, Made<T>>,
    wanted: ReadonlyMap<string, T>,
    touched: ReadonlySet<string> | undefined,
    render: (value: T) => readonly Rendered[],
  ): string[] {
    const keys = touched ?? new Set([...wanted.keys(), ...made.keys()]);
    const changed: string[] = [];
    for (const key of keys) {
      const value = wanted.get(key);
      const old = made.get(key);
      if (value === old?.value) continue;
      changed.push(key);
      const resources = value === undefined ? [] : render(value);
      this.#put(resources);
      const kept = new Set(resources.map((r) => `${r.typeUrl} ${r.name}`));
      for (const { typeUrl, name } of old?.names ?? []) {
        if (!kept.has(`${typeUrl} ${name}`)) this.#log.remove(typeUrl, name);
      }
      if (value === undefined) made.delete(key);
      else made.set(key, { value, names: resources.map(({ typeUrl, name }) => ({ typeUrl, name })) });
    }
    return changed;
  }

  #put(resources: readonly Rendered[]): void {
    for (const { typeUrl, name, body } of resources) {
      if (body) this.#log.set(typeUrl, { name, body });
      else this.#log.withhold(typeUrl, name);
    }
  }

  #setNodes(nodes: ReadonlyMap<string, NodeFacts>): void {
    this.#log.set(typeUrls.assignment, { name: nodesName, body: renderNodes(nodes.values()) });
  }

  #tellAcks(key: string): void {
    if (!this.#acks || !key.startsWith('gateway/')) return;
    const gateway = key.slice('gateway/'.length);
    const made = this.#frontends.get(key);
    if (!made || made.names.length === 0) {
      this.#acks.rendered(gateway, undefined);
      return;
    }
    const { value, names } = made;
    const listeners = names.map(
      ({ typeUrl, name }) => [name, this.#log.get(typeUrl, name)?.version ?? ''] as const,
    );
    const targets = value.ports.flatMap((port) => port.targets.map((t) => t.backend));
    this.#acks.rendered(gateway, {
      generation: value.generation,
      listeners: new Map(listeners),
      backends: [...new Set(targets.filter((backend) => backend !== null))],
    });
  }
}
