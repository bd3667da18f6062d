import { describe, expect, test } from 'vitest';
import { diagnoseSandbox } from './sandbox-diagnosis.ts';

const diagnose = (facts: {
  root?: boolean;
  missing?: string[];
  stderr?: string;
  sysctl?: Record<string, string>;
}): string =>
  diagnoseSandbox({
    root: facts.root ?? false,
    missing: facts.missing ?? [],
    stderr: facts.stderr ?? '',
    sysctl: (name) => facts.sysctl?.[name],
  });

const denied = 'unshare: unshare failed: Operation not permitted';

describe('what keeps a sandbox from being made is named, with the next step', () => {
  test.each([
    [{ missing: ['nft', 'ip'] }, /missing programs: nft ip\n.*apt-get install nftables iproute2/],
    [
      { stderr: denied, sysctl: { 'kernel.unprivileged_userns_clone': '0' } },
      /unprivileged_userns_clone is 0.*sysctl kernel.unprivileged_userns_clone=1/,
    ],
    [
      { stderr: denied, sysctl: { 'kernel.apparmor_restrict_unprivileged_userns': '1' } },
      /apparmor_restrict_unprivileged_userns is 1.*=0/,
    ],
    [{ stderr: 'x', root: true, sysctl: { 'user.max_user_namespaces': '0' } }, /max_user_namespaces is 0/],
    [{ stderr: denied }, /seccomp=unconfined/],
    [{ stderr: 'unshare: mount /proc failed: Operation not permitted' }, /systempaths=unconfined/],
    [{ stderr: 'sandbox: cannot make veth links' }, /modprobe veth/],
    [{ stderr: 'sandbox: cannot load an nftables table' }, /nf_tables/],
  ])('%j', (facts, expected) => {
    expect(diagnose(facts)).toMatch(expected);
  });

  test('settings that only bind the unprivileged are not blamed for root', () => {
    const sysctl = { 'kernel.unprivileged_userns_clone': '0' };
    expect(diagnose({ root: true, stderr: denied, sysctl })).not.toMatch(/userns_clone/);
  });
});
