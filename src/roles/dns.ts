import type { ChannelCredentials } from '@grpc/grpc-js';
import { dumpIr } from '../model/dump-ir.ts';
import type { Ir } from '../model/ir.ts';
import { startDnsServer } from '../outputs/dns/server.ts';
import { Zone } from '../outputs/dns/zone.ts';
import { formatZone } from '../outputs/dns/zone-text.ts';
import { CertificateWatch } from '../runtime/certificate-watch.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Log } from '../runtime/log.ts';
import { type Role, type RoleContext, type RoleOptions, runRole } from '../runtime/run-role.ts';
import { DialCredentials } from '../runtime/tls.ts';
import { requireOwnIdentity, type TlsFiles } from '../runtime/tls-files.ts';
import { IrSource } from '../sources/xds/ir-source.ts';
import type { TouchedKeys } from '../sources/xds/resource-tables.ts';
import { yamlText } from '../wire/yaml-text.ts';

export interface DnsOptions extends RoleOptions {
  readonly cluster: string;
  readonly set: string;
  /** `host:port` of controllers of this cluster, tried in turn. */
  readonly controllers: readonly string[];
  /** `address:port` each, for UDP and TCP. An empty address is every address. */
  readonly listen: readonly string[];
  readonly zone: string;
  readonly tls: TlsFiles;
}

/** Runs until SIGINT or SIGTERM. Throws E_USAGE, E_TLS_LOAD or E_LISTEN. */
export async function runDns(options: DnsOptions): Promise<void> {
  const { cluster, set, tls, zone } = options;
  await runRole('dns', options, { zone, cluster }, (context) => {
    requireOwnIdentity(tls, { set, cluster, role: 'dns' });
    const certificates = new CertificateWatch({ ...context, own: tls.cert });
    const credentials = new DialCredentials(
      tls,
      { set, cluster, roles: ['controller'] },
      { clock: context.clock, dialled: (raw, target) => certificates.dialled(raw, target) },
    );
    return startDns({ ...options, ...context, credentials, certificates });
  });
}

export interface StartDnsOptions
  extends RoleContext,
    Pick<DnsOptions, 'cluster' | 'controllers' | 'listen' | 'zone'> {
  readonly credentials: ChannelCredentials | DialCredentials;
  /** Closed with the role. */
  readonly certificates?: CertificateWatch;
}

export interface Dns extends Role {
  readonly port: number;
}

/**
 * Answers at once: SERVFAIL until the controller has told its complete state, from then on what it told last,
 * also while no controller is there.
 */
export async function startDns(options: StartDnsOptions): Promise<Dns> {
  const { cluster, controllers, clock, random, log, metrics } = options;
  const zone = new Zone({ zone: options.zone });
  const server = await startDnsServer({ listen: options.listen, zone, clock, log, metrics });
  const source = new IrSource({
    addresses: controllers,
    credentials: options.credentials,
    view: 'dns',
    node: { id: 'dns', cluster },
    clock,
    random,
    log,
    metrics,
  });
  const names = metrics.gauge({
    name: 'dns_names',
    help: 'Names in the zone, those of SRV records included',
  });
  source.onChange((ir, touched) => {
    updateZone(zone, ir, touched, { clock, log });
    names.set(zone.size);
    // What was told before the end of the complete state is in the zone by now.
    if (source.complete) zone.complete();
    return undefined;
  });
  return {
    port: server.port,
    get waitingFor() {
      return zone.isComplete ? undefined : `waiting for the complete state from ${controllers.join(', ')}`;
    },
    debug: {
      inputs: () =>
        yamlText({ source: { controllers, connected: source.connected, complete: source.complete } }),
      ir: () => yamlText(dumpIr(source.ir)),
      wanted: () => formatZone(zone),
    },
    close: async () => {
      options.certificates?.close();
      source.close();
      await server.close();
    },
  };
}

function updateZone(
  zone: Zone,
  ir: Ir,
  touched: TouchedKeys,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): void {
  const start = performance.now();
  // Seconds of the clock, as zones are often numbered, and never twice the same.
  const serial = Math.max(zone.serial + 1, Math.floor(clock.now() / 1000));
  const changes = [...touched.frontends].map((key) => [key, ir.frontends.get(key)] as const);
  const { added, changed, removed, skipped } = zone.update(changes, serial);
  if (added + changed + removed + skipped.length === 0) return;
  const ms = Math.round((performance.now() - start) * 10) / 10;
  const notServed = skipped.length === 0 ? {} : { skipped: skipped.length, first: skipped.slice(0, 3) };
  log.info({ added, changed, removed, names: zone.size, serial, ms, ...notServed }, 'the zone changed');
}
