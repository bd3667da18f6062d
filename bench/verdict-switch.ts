import { Network } from '../src/cli/playground/network.ts';
import { runInSandbox, sandboxVariable } from '../src/cli/playground/sandbox.ts';
import { spawnRunner } from '../src/outputs/nft/runner.ts';

/**
 * What a packet under way sees of a transaction: connects to a VIP all the time while its verdict is switched, and
 * counts refusals. Three ways: to a chain made by the same transaction, to one made by the transaction before,
 * and by replacing the whole table. `node bench/verdict-switch.ts [switches]`; rare events, so take many.
 */
if (process.env[sandboxVariable] === undefined) {
  process.exit(await runInSandbox({ command: [process.execPath, ...process.argv.slice(1)] }));
}

const switches = Number(process.argv[2] ?? 3000);
const network = await Network.create({ root: '/run/causeway/verdict-switch' });
const east = await network.addCluster('east');
const { namespace } = await east.addNode('e1');
const server = await east.addPod({ namespace: 'shop', name: 'server', node: 'e1', ports: [] });
const client = await east.addPod({ namespace: 'shop', name: 'client', node: 'e1', ports: [] });
const nft = spawnRunner({ command: ['nsenter', `--net=/run/netns/${namespace.name}`, 'nft'] });

const vip = '10.96.0.1';
const rule = 'dnat ip to ip daddr . tcp dport . numgen random mod 2 map @slots';
const chain = (name: string): string => `table inet t {\n  chain ${name} {\n    ${rule}\n  }\n}\n`;
const table = `add table inet t
delete table inet t
table inet t {
  map vips { type ipv4_addr . inet_proto . inet_service : verdict; }
  map slots {
    typeof ip daddr . tcp dport . numgen random mod 2 : ip daddr . tcp dport
    elements = { ${vip} . 80 . 0 : ${server.ip} . 8080, ${vip} . 80 . 1 : ${server.ip} . 8080 }
  }
  chain rej {
    meta l4proto tcp reject with tcp reset
  }
  chain n-pre {
    type nat hook prerouting priority -105;
    ip daddr . meta l4proto . th dport vmap @vips
  }
  chain f-fwd {
    type filter hook forward priority -10;
    ip daddr ${vip} goto rej
  }
  chain n-post {
    type nat hook postrouting priority 95;
    ct status dnat accept
  }
}
${chain('c0')}add element inet t vips { ${vip} . tcp . 80 : goto c0 }
`;
const turn = (to: string): string =>
  `delete element inet t vips { ${vip} . tcp . 80 }\nadd element inet t vips { ${vip} . tcp . 80 : goto ${to} }\n`;

/** Connections end with a reset, so that the client does not run out of ports. */
const accept = `use Socket; socket(L, PF_INET, SOCK_STREAM, 0); setsockopt(L, SOL_SOCKET, SO_REUSEADDR, 1);
  bind(L, sockaddr_in(8080, INADDR_ANY)); listen(L, 1024);
  while (accept(C, L)) { setsockopt(C, SOL_SOCKET, SO_LINGER, pack("ii", 1, 0)); close(C) }`;
const connect = `use Socket; use Errno; my ($n, $refused, $stop) = (0, 0, 0); $SIG{TERM} = sub { $stop = 1 };
  my $to = sockaddr_in(80, inet_aton("${vip}"));
  until ($stop) { socket(S, PF_INET, SOCK_STREAM, 0); setsockopt(S, SOL_SOCKET, SO_LINGER, pack("ii", 1, 0));
    connect(S, $to) or $!{ECONNREFUSED} && $refused++; close(S); $n++ }
  print "$n $refused\\n"`;

server.host.start(['perl', '-e', accept], { stdio: 'ignore' });

async function run(label: string, step: (i: number) => Promise<void>): Promise<void> {
  await nft.run(table);
  const child = client.host.start(['perl', '-e', connect], { stdio: ['ignore', 'pipe', 'ignore'] });
  const said = new Promise<string>((resolve) =>
    child.stdout?.once('data', (d: Buffer) => resolve(d.toString())),
  );
  for (let i = 1; i <= switches; i++) await step(i);
  child.kill('SIGTERM');
  const [connections, refused] = (await said).trim().split(' ').map(Number);
  console.log(`${label}: ${switches} switches, ${connections} connections, ${refused} refused`);
}

await run('chain of the same transaction', async (i) => {
  await nft.run(chain(`c${i}`) + turn(`c${i}`));
  await nft.run(`delete chain inet t c${i - 1}\n`);
});
await run('chain of the transaction before', async (i) => {
  await nft.run(chain(`c${i}`));
  await nft.run(turn(`c${i}`));
  await nft.run(`delete chain inet t c${i - 1}\n`);
});
await run('whole table replaced', () => nft.run(table));
await network.close();
