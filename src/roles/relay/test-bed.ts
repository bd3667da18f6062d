import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Export, Touched } from '../../model/compiled.ts';
import type { Change, Contribution, Origin, RemoteEndpoint } from '../../model/inputs.ts';
import { Admission } from '../../runtime/admission.ts';
import { CaFolder } from '../../runtime/ca-folder.ts';
import { CertificateWatch } from '../../runtime/certificate-watch.ts';
import type { IssueOptions } from '../../runtime/certificates.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { readPeerCertificate } from '../../runtime/peer-certificate.ts';
import type { TlsFiles } from '../../runtime/tls-files.ts';
import { writeAtomic } from '../../runtime/write-atomic.ts';
import { type LoadedPeers, loadPeers } from '../../sources/relay/peer-file.ts';
import { ControllerRelays } from '../controller/relays.ts';
import { type Relay, type StartRelayOptions, startRelay } from '../relay.ts';

/** For tests: a CA, a relay and members in this process, over loopback with real TLS. */
export class RelayTestBed {
  readonly dir = mkdtempSync(join(tmpdir(), 'causeway-relay-'));
  readonly metrics = new Metrics();
  /** The one that is called hub. */
  relay: Relay | undefined;
  /** The others, by name. */
  readonly #relays = new Map<string, Relay>();
  #ca: CaFolder | undefined;
  readonly #members: TestMember[] = [];
  readonly #ports = new Map<string, number>();

  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.stop()));
    await Promise.all([this.relay?.close(), ...[...this.#relays.values()].map((relay) => relay.close())]);
    rmSync(this.dir, { recursive: true });
  }

  async issue(name: string, identity: Partial<IssueOptions>): Promise<TlsFiles> {
    this.#ca ??= (await CaFolder.init(join(this.dir, 'ca'), 'demo', Date.now())).ca;
    return this.#ca.issueInto(join(this.dir, name), {
      cluster: name,
      role: 'controller',
      labels: {},
      namespaces: ['*'],
      region: `region-${name}`,
      network: 'n1',
      now: Date.now(),
      ttl: 3_600_000,
      ...identity,
    });
  }

  /** Of the certificate that was issued last under this name. */
  serial(name: string): string {
    return readPeerCertificate(new X509Certificate(readFileSync(join(this.dir, name, 'tls.crt'))).raw).serial;
  }

  writeMembers(...clusters: readonly string[]): void {
    this.writeLists(clusters, []);
  }

  writeLists(clusters: readonly string[], revoked: readonly object[]): void {
    const members = clusters.map((cluster) => ({ cluster }));
    writeFileSync(join(this.dir, 'members.yaml'), JSON.stringify({ members, revoked }));
  }

  /** On the port of the relay before it, so that members find it again. */
  async startRelay(options: Partial<StartRelayOptions> = {}): Promise<Relay> {
    this.relay = await startRelay({
      name: 'hub',
      set: 'demo',
      members: join(this.dir, 'members.yaml'),
      listen: this.address('hub'),
      tls: await this.issue('hub', { role: 'relay' }),
      log: silentLog,
      metrics: this.metrics,
      clock: systemClock,
      random: Math.random,
      ...options,
    });
    this.#ports.set('hub', this.relay.port);
    return this.relay;
  }

  /** Where a relay is, or was last. */
  address(relay: string): string {
    return `127.0.0.1:${this.#ports.get(relay) ?? 0}`;
  }

  writeMembersOf(relay: string, members: readonly object[]): void {
    writeFileSync(join(this.dir, `${relay}.yaml`), JSON.stringify({ members }));
  }

  /** One of several; `parents`: names of those that it dials. */
  async startRelayOf(name: string, parents: readonly string[] = []): Promise<Relay> {
    const relay = await startRelay({
      name,
      set: 'demo',
      members: join(this.dir, `${name}.yaml`),
      listen: this.address(name),
      relays: parents.map((parent) => this.address(parent)),
      tls: await this.issue(`relay-${name}`, { cluster: name, role: 'relay' }),
      log: silentLog,
      metrics: new Metrics(),
      clock: systemClock,
      random: Math.random,
    });
    this.#relays.set(name, relay);
    this.#ports.set(name, relay.port);
    return relay;
  }

  async stopRelayOf(name: string): Promise<void> {
    await this.#relays.get(name)?.close();
    this.#relays.delete(name);
  }

  async stopRelay(): Promise<void> {
    await this.relay?.close();
    this.relay = undefined;
  }

  async member(
    cluster: string,
    identity: Partial<IssueOptions> = {},
    clock: Clock = systemClock,
    relay = 'hub',
  ): Promise<TestMember> {
    const state = join(this.dir, `${cluster}-state`);
    const member = new TestMember({
      cluster,
      target: this.address(relay),
      tls: await this.issue(cluster, identity),
      state,
      clock,
      loaded: await loadPeers(state, { set: 'demo', cluster }),
    });
    this.#members.push(member);
    return member;
  }
}

const nothing: ReadonlySet<string> = new Set();
const untouched: Touched = {
  frontends: nothing,
  backends: nothing,
  nodes: nothing,
  statuses: nothing,
  claims: nothing,
  exports: nothing,
  imports: nothing,
  probes: nothing,
};

/** The records that a member got. */
export class Records {
  readonly contributions = new Map<string, Contribution>();
  readonly origins = new Map<string, Origin>();
  readonly imports = new Map<string, boolean>();
  /** Every change in order, for what must never be seen. */
  readonly changes: Change[] = [];

  take(changes: readonly Change[]): void {
    this.changes.push(...changes);
    for (const { kind, key, value } of changes) {
      if (kind === 'Contribution') put(this.contributions, key, value);
      else if (kind === 'Origin') put(this.origins, key, value);
      else if (kind === 'Import') put(this.imports, key, value?.complete);
    }
  }

  /** Contributions and origins that went away, ever. */
  losses(): string[] {
    return this.changes
      .filter((c) => c.kind !== 'Import' && c.value === undefined)
      .map((c) => `${c.kind} ${c.key}`);
  }

  /** `<cluster>: <first addresses>` of a port. */
  endpoints(port: string): Record<string, readonly string[]> {
    const found: Record<string, readonly string[]> = {};
    for (const [key, c] of [...this.contributions].sort()) {
      if (key === `${port}/${c.cluster}`) found[c.cluster] = c.endpoints.map((e) => e.addresses[0] as string);
    }
    return found;
  }
}

/** A controller's links, and the records it got. */
export class TestMember extends Records {
  readonly metrics = new Metrics();
  readonly links: ControllerRelays;
  readonly #warnings: string[] = [];
  #imported: ReadonlySet<string> = nothing;
  #exported: ReadonlyMap<string, Export> | undefined;

  constructor(options: {
    cluster: string;
    target: string;
    tls: TlsFiles;
    state: string;
    clock: Clock;
    loaded: LoadedPeers;
  }) {
    super();
    const { cluster, target, tls, state, clock, loaded } = options;
    const links = {
      state,
      write: writeAtomic,
      hadDataPlanes: false,
      admission: new Admission({
        certificates: new CertificateWatch({ own: tls.cert, clock, log: silentLog, metrics: this.metrics }),
        clock,
        log: silentLog,
        metrics: this.metrics,
      }),
      epoch: clock.now(),
      set: 'demo',
      cluster,
      network: 'n1',
      relays: [target],
      tls,
      clock,
      random: () => 0.5,
      log: { ...silentLog, warn: (fields: object) => void this.#warnings.push(JSON.stringify(fields)) },
      metrics: this.metrics,
      onChanges: (changes: readonly Change[]) => this.take(changes),
    };
    this.links = new ControllerRelays(links, loaded);
  }

  /** The last warning, as JSON. */
  lastError(): string {
    return this.#warnings.at(-1) ?? '';
  }

  stop(): Promise<void> {
    return this.links.close();
  }

  import(...ports: readonly string[]): void {
    this.#imported = new Set(ports);
    this.links.source.setImports(this.#imported);
  }

  export(...exports: readonly Export[]): void {
    const keyed = exports.map(
      (e) => [`${e.namespace}/${e.composite}/${e.protocol.toLowerCase()}-${e.port}`, e] as const,
    );
    const next = new Map(keyed);
    const before = this.#exported;
    this.#exported = next;
    const touched = before && { ...untouched, exports: new Set([...before.keys(), ...next.keys()]) };
    this.links.update({ imports: this.#imported, exports: next, probes: new Map() }, touched);
  }
}

function put<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

export const endpoint = (address: string, over: Partial<RemoteEndpoint> = {}): RemoteEndpoint => ({
  addresses: [address],
  port: 8080,
  zone: 'a',
  health: 'Healthy',
  ...over,
});

/** `shop/store/tcp-80` with endpoints at these addresses. */
export function store(addresses: readonly string[], over: Partial<Export> = {}): Export {
  return {
    namespace: 'shop',
    composite: 'store',
    protocol: 'TCP',
    port: 80,
    kinds: ['XEndpointSelector'],
    ready: addresses.length,
    selected: addresses.length,
    endpoints: addresses.map((a) => endpoint(a)),
    to: [{}],
    ...over,
  };
}
export const storePort = 'shop/store/tcp-80';
