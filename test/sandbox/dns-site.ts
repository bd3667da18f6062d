import { mkdirSync } from 'node:fs';
import { vi } from 'vitest';
import { DnsClient } from './dns-client.ts';
import { StandInController } from './dns-controller.ts';
import { type ServerProcess, startCoreDns, startDnsRole } from './dns-process.ts';
import { documentedStanza, kubernetesStanza } from './documented-corefile.ts';

/**
 * `causeway dns` and stock CoreDNS in front of it, set up as docs/dns.md says, as processes, and a controller that is
 * not started yet.
 */
export interface DnsSite {
  readonly zone: string;
  readonly controller: StandInController;
  readonly role: ServerProcess;
  /** Asks our dns. */
  readonly own: DnsClient;
  /** Asks CoreDNS. */
  readonly coredns: DnsClient;
  /** Address of our dns, on port 53; its admin pages are on 8080. */
  readonly address: string;
  page(path: string): Promise<{ readonly status: number; readonly text: string }>;
  close(): Promise<void>;
}

export interface DnsSiteOptions {
  /** Its addresses are 127.0.<number>.… */
  readonly number: number;
  readonly zone: string;
  /** More addresses to listen on. */
  readonly listen?: readonly string[];
  /** CoreDNS also serves these names of cluster.local, with their addresses. */
  readonly hosts?: Readonly<Record<string, string>>;
}

export async function startSite({ number, zone, listen = [], hosts = {} }: DnsSiteOptions): Promise<DnsSite> {
  const folder = `/run/causeway/dns-site-${number}`;
  mkdirSync(folder, { recursive: true });
  const [address, proxy] = [`127.0.${number}.1`, `127.0.${number}.2`];
  const controller = await StandInController.create(`127.0.${number}.9:18000`, folder);
  const role = await startDnsRole([
    ...controller.flags,
    ...['--zone', zone, '--admin', `${address}:8080`],
    ...[`${address}:53`, ...listen].flatMap((l) => ['--listen', l]),
  ]);
  const stanzas = [documentedStanza(zone, { dns: address, bind: proxy })];
  if (Object.keys(hosts).length > 0) stanzas.push(kubernetesStanza(hosts, proxy));
  const coredns = await startCoreDns(stanzas.join('')).catch(async (error: unknown) => {
    await role.stop();
    throw error;
  });
  return {
    zone,
    controller,
    role,
    own: new DnsClient(address),
    coredns: new DnsClient(proxy),
    address,
    page: async (path) => {
      const response = await fetch(`http://${address}:8080${path}`);
      return { status: response.status, text: await response.text() };
    },
    close: async () => {
      await Promise.all([coredns.stop(), role.stop(), controller.stop()]);
    },
  };
}

export const until = (check: () => Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 30_000, interval: 50 });
