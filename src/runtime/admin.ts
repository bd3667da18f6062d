import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError, messageOf } from './errors.ts';
import { formatHostPort, type HostPort, requireHostPort } from './host-port.ts';
import type { Metrics } from './metrics.ts';

export interface AdminOptions {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  readonly metrics: Metrics;
  /** Why the role is not ready; undefined when it is. */
  readonly ready: () => string | undefined;
  /** `/debug/<name>` → text in the format of the golden files (YAML). */
  readonly debug: () => Readonly<Record<string, () => string>>;
  /** `/api/<name>?<query>` → a value, served as JSON. */
  readonly api?: () => Api;
}

export type Api = Readonly<Record<string, (query: URLSearchParams) => unknown>>;

export interface Admin {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves /livez, /readyz, /metrics, /debug/… and /api/…. Read only. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const server = createServer((request, response) => {
    answer(options, request.url ?? '/').then(
      (a) => {
        response.writeHead(a.status, { 'content-type': a.type });
        response.end(a.body);
      },
      (error: unknown) => {
        response.writeHead(500, { 'content-type': 'text/plain' });
        response.end(`${messageOf(error)}\n`);
      },
    );
  });
  await listen(server, requireHostPort('--admin', options.listen));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const text = (status: number, body: string): Answer => ({ status, type: 'text/plain; charset=utf-8', body });

async function answer(options: AdminOptions, url: string): Promise<Answer> {
  const { pathname, searchParams } = new URL(url, 'http://admin');
  if (pathname === '/livez') return text(200, 'ok\n');
  if (pathname === '/readyz') {
    const reason = options.ready();
    return reason === undefined ? text(200, 'ok\n') : text(503, `${reason}\n`);
  }
  if (pathname === '/metrics') {
    return {
      status: 200,
      type: options.metrics.registry.contentType,
      body: await options.metrics.registry.metrics(),
    };
  }
  const pages = options.debug();
  const page = Object.keys(pages).find((name) => pathname === `/debug/${name}`);
  if (page !== undefined) return text(200, pages[page]?.() ?? '');
  const apis = options.api?.() ?? {};
  const api = Object.keys(apis).find((name) => pathname === `/api/${name}`);
  if (api !== undefined) {
    const body = `${JSON.stringify(await apis[api]?.(searchParams))}\n`;
    return { status: 200, type: 'application/json', body };
  }
  const known = [
    '/livez',
    '/readyz',
    '/metrics',
    ...Object.keys(pages).map((name) => `/debug/${name}`),
    ...Object.keys(apis).map((name) => `/api/${name}`),
  ];
  return text(404, `no such page; there are ${known.join(' ')}\n`);
}

function listen(server: Server, { host, port }: HostPort): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new AppError(
          'E_LISTEN',
          `cannot listen on ${formatHostPort({ host, port })} (--admin): ${messageOf(cause)}`,
          { cause },
        ),
      ),
    );
    // No host: all addresses of both families, where the machine has both.
    server.listen({ port, ...(host === '' ? {} : { host }) }, () => resolve());
  });
}
