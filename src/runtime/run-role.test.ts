import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { AppError } from './errors.ts';
import { runRole } from './run-role.ts';

async function listening(): Promise<{ address: string; close: () => Promise<unknown> }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

test('what cannot be looked at is not begun', async () => {
  const { address, close } = await listening();
  let begun = false;
  const running = runRole('role', { admin: address, logLevel: 'silent' }, {}, async () => {
    begun = true;
    throw new Error('begun');
  });
  await expect(running).rejects.toMatchObject({ code: 'E_LISTEN' });
  expect(begun).toBe(false);
  await close();
});

test('while it starts it is alive and not ready; when it cannot start, nothing is left', async () => {
  const { address, close } = await listening();
  await close();
  let seen: unknown[] = [];
  const running = runRole('role', { admin: address, logLevel: 'silent' }, {}, async () => {
    const get = async (path: string) => {
      const response = await fetch(`http://${address}${path}`);
      return [response.status, (await response.text()).trim()];
    };
    seen = [await get('/livez'), await get('/readyz'), (await get('/debug/constructor'))[0]];
    throw new AppError('E_STATE_READ', 'no state');
  });
  await expect(running).rejects.toMatchObject({ code: 'E_STATE_READ' });
  expect(seen).toEqual([[200, 'ok'], [503, 'it is starting'], 404]);
  await expect(fetch(`http://${address}/livez`)).rejects.toThrow();
});
