import { AppError, messageOf } from '../runtime/errors.ts';

/** How long a role is given to answer. */
const patienceMs = 10_000;

/**
 * A page under `/api/` of a role's `--admin` address, as JSON. Throws E_USAGE without an address, E_UNREACHABLE when
 * nobody answers there or the page is missing.
 */
export async function askAdmin<T>(
  admin: string | undefined,
  page: string,
  query: Readonly<Record<string, string | undefined>> = {},
): Promise<T> {
  const response = await request(admin, `/api/${page}?${queryText(query)}`);
  return (await response.json()) as T;
}

/** The text of any page. Throws as `askAdmin`. */
export async function readAdminPage(admin: string | undefined, path: string): Promise<string> {
  return (await request(admin, path)).text();
}

/** Paths of all pages that a role has. Throws as `askAdmin`. */
export async function listAdminPages(admin: string): Promise<readonly string[]> {
  // A page that is not there names those that are.
  const response = await fetchFrom(admin, '/');
  return (await response.text()).match(/\/[\w/-]+/g) ?? [];
}

async function request(admin: string | undefined, path: string): Promise<Response> {
  const response = await fetchFrom(admin, path);
  if (response.ok) return response;
  const text = (await response.text()).trim();
  throw new AppError('E_UNREACHABLE', `${admin} answers ${response.status} to ${path}: ${text}`);
}

async function fetchFrom(admin: string | undefined, path: string): Promise<Response> {
  if (admin === undefined || admin === '') {
    throw new AppError(
      'E_USAGE',
      '--admin (or CAUSEWAY_ADMIN) is missing: expected host:port of a controller’s admin pages',
    );
  }
  if (!/^\S+:\d{1,5}$/.test(admin)) {
    throw new AppError('E_USAGE', `--admin: expected host:port, found ${JSON.stringify(admin)}`);
  }
  const signal = AbortSignal.timeout(patienceMs);
  return fetch(`http://${admin}${path}`, { signal }).catch((cause: unknown) => {
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    throw new AppError('E_UNREACHABLE', `no answer from ${admin}: ${messageOf(inner)}`, { cause });
  });
}

function queryText(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));
  return new URLSearchParams(given as [string, string][]).toString();
}
