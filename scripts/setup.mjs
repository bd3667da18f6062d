// Brings a clone to the state in which it can run: dependencies of the lock file, generated descriptors, system
// programs. Plain JavaScript without dependencies, since it runs before they exist and under an older Node.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const forTests = process.argv.includes('--test');
process.env.PATH = ['/usr/sbin', '/sbin', process.env.PATH].join(delimiter);
process.env.HOME ??= root;

const say = (text) => process.stderr.write(`setup: ${text}\n`);

function fail(text) {
  say(text);
  process.exit(1);
}

function run(command, args, options = {}) {
  const done = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], ...options });
  return done.status === 0;
}

const hash = (text) => createHash('sha256').update(text).digest('hex');

function installPackages() {
  const lock = hash(readFileSync(join(root, 'package-lock.json')));
  const mark = join(root, 'node_modules', '.causeway-lock');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return;
  say('installing npm packages (about 30 s)');
  if (!run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])) fail('npm ci failed, see above');
  writeFileSync(mark, lock);
}

function generateDescriptors() {
  const script = join(root, 'scripts', 'descriptors.mjs');
  const mark = join(root, 'build', 'descriptors.mark');
  const proto = join(root, 'src', 'wire', 'proto');
  const sources = [script, join(root, 'package-lock.json'), join(proto, 'causeway.proto')];
  const want = hash(sources.map((file) => readFileSync(file, 'utf8')).join('\n'));
  const made = existsSync(join(proto, 'descriptors.json')) && existsSync(mark);
  if (made && readFileSync(mark, 'utf8') === want) return;
  if (!run(process.execPath, [script])) fail('the protobuf descriptors could not be generated, see above');
  mkdirSync(dirname(mark), { recursive: true });
  writeFileSync(mark, want);
}

// program → Debian package
const programs = {
  nft: 'nftables',
  ip: 'iproute2',
  conntrack: 'conntrack',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  curl: 'curl',
};

const onPath = (name) => process.env.PATH.split(delimiter).some((dir) => existsSync(join(dir, name)));

function installPackagesOfDebian(packages) {
  if (process.getuid() !== 0 || !onPath('apt-get')) return;
  say(`installing Debian packages: ${packages.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  run('apt-get', ['update', '-qq'], { env });
  run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], { env });
}

function installPrograms() {
  const missing = () => Object.keys(programs).filter((name) => !onPath(name));
  if (missing().length === 0) return;
  const packages = [...new Set(missing().map((name) => programs[name]))];
  installPackagesOfDebian(packages);
  if (missing().length > 0) {
    fail(`missing programs: ${missing().join(' ')}\n  as root: apt-get install ${packages.join(' ')}`);
  }
}

function checkGo() {
  const go = spawnSync('go', ['version'], { encoding: 'utf8' });
  const version = /go(\d+)\.(\d+)/.exec(go.stdout ?? '');
  if (!version || Number(version[1]) < 1 || Number(version[2]) < 21) {
    fail(
      'the tests build stock CoreDNS and need Go 1.21 or newer (it fetches the toolchain it wants);\n' +
        `  found: ${version ? version[0] : 'none'}; see https://go.dev/doc/install`,
    );
  }
}

function checkPip() {
  const isThere = () => spawnSync('python3', ['-m', 'pip', '--version']).status === 0;
  if (isThere()) return;
  installPackagesOfDebian(['python3-pip']);
  if (!isThere()) {
    fail('the tests fetch stock Envoy with pip, which is missing\n  as root: apt-get install python3-pip');
  }
}

installPackages();
generateDescriptors();
installPrograms();
if (forTests) {
  checkGo();
  checkPip();
}
