import { expect, test } from 'vitest';
import { ManualClock } from '../../runtime/clock.ts';
import { silentLog } from '../../runtime/log.ts';
import { Metrics } from '../../runtime/metrics.ts';
import { type Entry, parseEntry } from './entry.ts';
import { UdpReconciler } from './reconciler.ts';

const lines =
  `udp      17 29 src=10.10.1.3 dst=10.96.0.10 sport=40000 dport=53 src=10.10.1.2 dst=10.10.1.3 sport=5353 dport=40000 [ASSURED] mark=0 use=1
udp      17 5 src=10.10.1.4 dst=10.96.0.10 sport=40001 dport=53 [UNREPLIED] src=10.96.0.10 dst=10.10.1.4 sport=53 dport=40001 mark=0 use=1
udp      17 5 src=10.10.1.4 dst=10.10.1.2 sport=40001 dport=5353 src=10.10.1.2 dst=10.10.1.4 sport=5353 dport=40001 mark=0 use=1
udp      17 29 src=fd00:10::3 dst=fd00:96::10 sport=40000 dport=53 src=fd00:10::2 dst=fd00:10::3 sport=5353 dport=40000 [ASSURED] mark=0 use=1
conntrack v1.4.7 (conntrack-tools): 4 flow entries have been shown.`.split('\n');

class FakeTool {
  entries: Entry[] = lines.map(parseEntry).filter((e) => e !== undefined);
  fail = false;
  lists = 0;
  async list(_: 'udp' | 'all', family: 4 | 6, visit: (entry: Entry) => void): Promise<void> {
    this.lists += 1;
    if (this.fail) throw new Error('netlink is busy');
    for (const e of this.entries) if (e.family === family) visit(e);
  }
  async deleteUdp(entry: Entry): Promise<void> {
    this.entries = this.entries.filter((e) => e.sentTo !== entry.sentTo || e.answeredBy !== entry.answeredBy);
  }
}

function start() {
  const tool = new FakeTool();
  const clock = new ManualClock();
  const reconciler = new UdpReconciler({
    tool,
    clock,
    random: () => 0.5,
    log: silentLog,
    metrics: new Metrics(),
  });
  return { tool, clock, reconciler };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));
const left = (tool: FakeTool) => tool.entries.map((e) => `${e.sentTo} > ${e.answeredBy}`);
const direct = '10.10.1.2 . 5353 > 10.10.1.2 . 5353';
const six = 'fd00:96::10 . 53 > fd00:10::2 . 5353';

test('lines of both families and of unanswered flows are read, others are not', () => {
  expect(left(new FakeTool())).toEqual([
    '10.96.0.10 . 53 > 10.10.1.2 . 5353',
    '10.96.0.10 . 53 > 10.96.0.10 . 53',
    direct,
    six,
  ]);
});

test('dataplane 17 entries of gone endpoints and from before the VIP go, others stay', async () => {
  const { tool, reconciler } = start();
  reconciler.reconcile(new Map([['10.96.0.10 . 53', new Set(['10.10.1.2 . 5353'])]]));
  await settle();
  expect(left(tool)).toEqual(['10.96.0.10 . 53 > 10.10.1.2 . 5353', direct, six]);
  reconciler.reconcile(new Map([['10.96.0.10 . 53', new Set()]]));
  await settle();
  expect(left(tool)).toEqual([direct, six]);
  reconciler.reconcile(new Map([['fd00:96::10 . 53', new Set(['fd00:10::9 . 5353'])]]));
  await settle();
  expect(left(tool)).toEqual([direct]);
});

test('dataplane 17 a failure of the tool is repeated with what came since', async () => {
  const { tool, clock, reconciler } = start();
  tool.fail = true;
  reconciler.reconcile(new Map([['10.96.0.10 . 53', new Set(['10.10.1.2 . 5353'])]]));
  await settle();
  reconciler.reconcile(new Map([['10.96.0.10 . 53', new Set()]]));
  expect(tool.lists).toBe(1);
  tool.fail = false;
  clock.advance(1000);
  await settle();
  expect(left(tool)).toEqual([direct, six]);
});
