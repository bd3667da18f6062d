import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const path = 'sigs.k8s.io/gateway-api';
const version = 'v1.7.0';
const sum = 'h1:duVnm7nO6oXfMMUWfcDoBph47CYR/ME3NGxccOVglaY=';

/**
 * The folder of the Gateway API's own module, with its CRDs and examples, from Go's module cache, where it is put
 * if need be. Only its files are wanted, so it does not matter that its code asks for a newer Go.
 */
export function gatewayApiModule(): string {
  const env: NodeJS.ProcessEnv = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '', GOWORK: 'off' };
  env.PATH = [env.PATH, '/usr/local/go/bin', '/usr/lib/go/bin'].join(delimiter);
  const go = (args: readonly string[]): string => {
    const ran = spawnSync('go', args, { env, encoding: 'utf8', timeout: 100_000 });
    if (ran.error) throw new Error(`expected Go, to download ${path}: ${ran.error.message}`);
    return ran.stdout;
  };
  const answer = go(['mod', 'download', '-json', `${path}@${version}`]);
  const { Sum: found } = JSON.parse(answer || '{}') as { Sum?: string };
  if (found !== sum)
    throw new Error(`expected ${path}@${version} with sum ${sum}, found: ${answer || 'nothing'}`);
  const folder = join(go(['env', 'GOMODCACHE']).trim(), `${path}@${version}`);
  if (!existsSync(folder)) throw new Error(`expected ${folder} after its download, found nothing`);
  return folder;
}
