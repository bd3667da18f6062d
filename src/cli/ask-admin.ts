import { AppError, messageOf } from '../runtime/errors.ts';

/** What a page may be: roles are not trusted with our memory. */
const maxPageBytes = 64 * 1024 * 1024;
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
  const path = `/api/${page}?${queryText(query)}`;
  const { text, isCut } = await bodyOf(await request(admin, path), maxPageBytes);
  if (isCut)
    throw new AppError('E_UNREACHABLE', `${admin} answers more than ${maxPageBytes} bytes to ${path}`);
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new AppError('E_UNREACHABLE', `${admin} answers ${path} with something that is no JSON`, { cause });
  }
}

/** What a role waits for before it is ready; undefined: it is. Throws as `askAdmin`. */
export async function notReady(admin: string | undefined): Promise<string | undefined> {
  const response = await fetchFrom(admin, '/readyz');
  const { text } = await bodyOf(response, 4_096);
  return response.ok ? undefined : text.trim();
}

export interface PageText {
  readonly text: string;
  /** There was more. */
  readonly isCut: boolean;
}

/** The text of any page, of `limit` bytes at most. Throws as `askAdmin`. */
export async function readAdminPage(
  admin: string | undefined,
  path: string,
  limit: number = maxPageBytes,
): Promise<PageText> {
  return bodyOf(await request(admin, path), Math.min(limit, maxPageBytes));
}

/** Reads on until `limit` bytes are there, and no further. */
async function bodyOf({ body }: Response, limit: number): Promise<PageText> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limit) break;
    }
  } catch (cause) {
    throw new AppError('E_UNREACHABLE', `an answer broke off: ${messageOf(cause)}`, { cause });
  }
  return { text: Buffer.concat(chunks).subarray(0, limit).toString('utf8'), isCut: size > limit };
}

const maxPages = 50;

/** Paths of all pages that a role has. Throws as `askAdmin`. */
export async function listAdminPages(admin: string): Promise<readonly string[]> {
  // A page that is not there names those that are.
  const response = await fetchFrom(admin, '/');
  const { text } = await bodyOf(response, 64 * 1024);
  return (text.match(/\/[\w/-]+/g) ?? []).slice(0, maxPages);
}

async function request(admin: string | undefined, path: string): Promise<Response> {
  const response = await fetchFrom(admin, path);
  if (response.ok) return response;
  const text = (await bodyOf(response, 4_096)).text.trim();
  throw new AppError('E_UNREACHABLE', `${admin} answers ${response.status} to ${path}: ${text}`);
}

async function fetchFrom(admin: string | undefined, path: string): Promise<Response> {
  if (admin === undefined || admin === '') {
    throw new AppError(
      'E_USAGE',
      '--admin (or CAUSEWAY_CONTROLLER_ADMIN) is missing: expected host:port of a controller’s admin pages',
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
