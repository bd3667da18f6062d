import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

export interface User {
  readonly name: string;
  /** Command and arguments that run `command` as this user; its last words may name files of the clone. */
  readonly command: (command: readonly string[]) => [string, ...string[]];
}

/**
 * Somebody without privileges, a home or system folders on the PATH. The clone may lie in a folder that only
 * root may enter, so it is reached under /mnt, bound there in a mount namespace.
 */
const nobody: User = {
  name: 'nobody',
  command: (command) => [
    'setpriv',
    '--pdeathsig',
    'KILL',
    'unshare',
    '--mount',
    'sh',
    '-c',
    'mount --bind "$0" /mnt && cd /mnt && exec setpriv --pdeathsig KILL --reuid nobody --regid nogroup ' +
      '--clear-groups env -u HOME -u XDG_RUNTIME_DIR PATH=/usr/local/bin:/usr/bin:/bin "$@"',
    root,
    ...command.map((word) => (word.startsWith(`${root}/`) ? `/mnt${word.slice(root.length)}` : word)),
  ],
};

const self: User = {
  name: process.getuid?.() === 0 ? 'root' : 'an unprivileged user',
  command: (command) => [...command] as [string, ...string[]],
};

/** Who launches: whoever runs the tests; when that is root, also somebody without privileges. */
export const users: readonly User[] = process.getuid?.() === 0 ? [self, nobody] : [self];
