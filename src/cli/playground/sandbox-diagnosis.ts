export interface SandboxFacts {
  readonly root: boolean;
  /** Programs that are not on the PATH. */
  readonly missing: readonly string[];
  /** What the attempt to make a sandbox said. */
  stderr: string;
  /** The value of a kernel setting; undefined where the kernel does not have it. */
  readonly sysctl: (name: string) => string | undefined;
}

const packages: Record<string, string> = {
  setpriv: 'util-linux',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  mount: 'mount',
  ip: 'iproute2',
  nft: 'nftables',
  conntrack: 'conntrack',
};

/** What keeps a sandbox from being made and what to do about it, for people. */
export function diagnoseSandbox(facts: SandboxFacts): string {
  if (facts.missing.length > 0) {
    const wanted = [...new Set(facts.missing.map((p) => packages[p] ?? p))];
    return `missing programs: ${facts.missing.join(' ')}\n  as root: apt-get install ${wanted.join(' ')}`;
  }
  const causes = causesOf(facts);
  const said =
    facts.stderr === '' ? 'the attempt said nothing' : facts.stderr.split('\n').slice(-3).join('\n  ');
  return [
    `the sandbox (user, network, mount and process namespaces) cannot be made: ${said}`,
    ...causes,
  ].join('\n  ');
}

function causesOf(facts: SandboxFacts): string[] {
  const causes: string[] = [];
  if (facts.sysctl('user.max_user_namespaces') === '0') {
    causes.push('user.max_user_namespaces is 0; as root: sysctl user.max_user_namespaces=10000');
  }
  if (!facts.root && facts.sysctl('kernel.unprivileged_userns_clone') === '0') {
    causes.push('kernel.unprivileged_userns_clone is 0; as root: sysctl kernel.unprivileged_userns_clone=1');
  }
  if (!facts.root && facts.sysctl('kernel.apparmor_restrict_unprivileged_userns') === '1') {
    causes.push(
      'kernel.apparmor_restrict_unprivileged_userns is 1; as root: ' +
        'sysctl kernel.apparmor_restrict_unprivileged_userns=0',
    );
  }
  if (causes.length > 0) return causes;
  if (/proc/.test(facts.stderr)) {
    return ['in a container, /proc must not be masked: docker run --security-opt systempaths=unconfined …'];
  }
  if (/nftables/.test(facts.stderr))
    return ['the kernel needs nf_tables with NAT for inet tables (Linux 5.9)'];
  if (/veth/.test(facts.stderr)) return ['the kernel needs the module veth; as root: modprobe veth'];
  if (/not permitted|permission denied/i.test(facts.stderr)) {
    return [
      'something forbids namespaces: in a container, docker run --security-opt seccomp=unconfined ' +
        '--security-opt apparmor=unconfined --security-opt systempaths=unconfined …',
    ];
  }
  return [];
}
