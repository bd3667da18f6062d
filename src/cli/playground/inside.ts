import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../../runtime/errors.ts';
import { runScenes } from './run-scenes.ts';
import { type LineOptions, milliseconds, sceneLines, titleLine } from './scene-lines.ts';
import { type SceneOutcome, SceneRecord } from './scene-record.ts';
import { scenes } from './scenes/all-scenes.ts';
import { store } from './scenes/store-pods.ts';
import { Screen } from './screen.ts';
import { Stage } from './stage.ts';
import { onStop } from './stop-signal.ts';
import { failureOf, summaryOf } from './summary.ts';
import { World } from './world.ts';

export interface PlaygroundOptions {
  /** Run the scenes and end; otherwise stay up until Ctrl-C. */
  readonly once: boolean;
  /** Print one JSON object last. */
  readonly json: boolean;
}

/** How our commands are called from a shell, which in a clone is in its folder. */
const causeway = import.meta.filename.endsWith('.ts') ? 'bin/causeway' : 'causeway';
const sceneLimitMs = 180_000;
const redrawMs = 200;

/** The playground, inside its sandbox. Resolves with the exit code. */
export async function runInside(options: PlaygroundOptions): Promise<number> {
  const screen = new Screen(process.stdout, process.env);
  process.once('exit', () => screen.close());
  const show = new Show(screen, options);
  try {
    return await show.run();
  } catch (error) {
    if (show.stopped) return 130;
    const [first = '', ...rest] = messageOf(error).split('\n');
    screen.print(`  ${screen.paint.bad('✖')} ${first}`, ...rest.map((line) => `  ${line}`));
    if (options.json) screen.print(JSON.stringify(failureOf(error)));
    return 1;
  }
}

class Show {
  readonly #screen: Screen;
  readonly #options: PlaygroundOptions;
  readonly #stop = new AbortController();
  readonly #now = (): number => performance.now();
  #deaths: string[] = [];

  constructor(screen: Screen, options: PlaygroundOptions) {
    this.#screen = screen;
    this.#options = options;
    onStop(() => this.#stop.abort(new Error('stopped')), { now: this.#now, exit: () => process.exit(130) });
  }

  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async run(): Promise<number> {
    const started = this.#now();
    const { paint } = this.#screen;
    this.#screen.print(
      `${paint.strong('causeway playground')} · 2 clusters, 4 nodes in a sandbox of its own; nothing outside it is touched`,
      '',
    );
    const world = await Promise.race([this.#build(), this.#whenStopped()]);
    this.#screen.print('');
    const outcomes = await this.#play(world);
    const good = outcomes.filter((o) => o.ok).length;
    const ok = good === scenes.length;
    const seconds = Math.round((this.#now() - started) / 1_000);
    if (!this.stopped) {
      const mark = ok ? paint.good('✔') : paint.bad('✖');
      this.#screen.print(`${mark} ${good} of ${scenes.length} scenes as expected   ${seconds} s`, '');
      if (!this.#options.once) await this.#stayUp(world);
    }
    if (this.#options.json) this.#screen.print(JSON.stringify(summaryOf(ok, outcomes)));
    return ok ? 0 : this.stopped ? 130 : 1;
  }

  #whenStopped(): Promise<never> {
    return new Promise((_, reject) =>
      this.#stop.signal.addEventListener('abort', () => reject(this.#stop.signal.reason)),
    );
  }

  #build(): Promise<World> {
    const { paint } = this.#screen;
    this.#screen.draw([paint.dim('  … starting')]);
    const logs = process.env.CAUSEWAY_PLAYGROUND_LOGS;
    return World.create({
      ...(logs ? { logs } : {}),
      now: this.#now,
      onStanding: (name, what, ms) => {
        this.#screen.print(
          `  ${paint.good('✔')} ${name.padEnd(8)} ${what.padEnd(52)} ${milliseconds(ms).padStart(7)}`,
        );
        this.#screen.draw([paint.dim('  … starting')]);
      },
      onDeath: (name, how, lastLines) => {
        this.#deaths.push(`${name} ended: ${how}`);
        this.#screen.print(
          `  ${paint.bad('✖')} ${name} ended: ${how}; its last lines:`,
          ...lastLines.map((line) => `      ${line}`),
        );
      },
      onReturn: (name) => this.#screen.print(`  ${paint.good('✔')} ${name} was started again and is ready`),
    });
  }

  async #play(world: World): Promise<SceneOutcome[]> {
    const lines = this.#lineOptions(world);
    let redraw: NodeJS.Timeout | undefined;
    return await runScenes(scenes, {
      signal: this.#stop.signal,
      now: this.#now,
      limitMs: sceneLimitMs,
      deaths: () => this.#deaths.splice(0),
      stage: (record, signal) => new Stage(world, record, signal, this.#now),
      onStart: (record) => {
        this.#screen.print(titleLine(record, lines()));
        redraw = setInterval(() => this.#screen.draw(sceneLines(record, lines())), redrawMs);
      },
      onEnd: (record) => {
        clearInterval(redraw);
        this.#screen.print(...sceneLines(record, lines()), '');
      },
    });
  }

  #lineOptions(world: World): () => LineOptions {
    return () => ({
      width: this.#screen.width,
      paint: this.#screen.paint,
      nodeOf: (who) => world.nodeOf(who),
    });
  }

  /** Traffic goes on, and a table of who answers it, until Ctrl-C. */
  async #stayUp(world: World): Promise<void> {
    const { paint } = this.#screen;
    this.#screen.print(
      `Try it:   ${causeway} playground exec east -- curl http://store.shop.gw.cluster.local`,
      `          ${causeway} playground exec east -- causeway explain store.shop.gw.cluster.local`,
      `          ${causeway} playground exec west/w1 -- nft list table inet causeway`,
      'Stop:     Ctrl-C (everything goes)',
      '',
    );
    const record = new SceneRecord({
      letter: '●',
      name: 'live',
      subject: `${store.host}:${store.port}, last 10 s`,
    });
    const traffic = new Stage(world, new SceneRecord(record.title), this.#stop.signal, this.#now).background(
      world.east,
      store,
    );
    const lines = this.#lineOptions(world);
    const recent = [traffic.recent()];
    while (!this.stopped) {
      await wait(this.#screen.live ? 1_000 : 10_000, undefined, { signal: this.#stop.signal }).catch(
        () => {},
      );
      recent.push(traffic.recent());
      if (recent.length > (this.#screen.live ? 10 : 1)) recent.shift();
      record.traffic.length = 0;
      const sum = record.addTraffic('client in east', 'connections');
      for (const tally of recent) sum.add(tally);
      const text = [titleLine(record, lines()), ...sceneLines(record, lines())];
      if (this.#screen.live) this.#screen.draw(text);
      else if (!this.stopped) this.#screen.print(...text);
    }
    this.#screen.print(paint.dim('stopping; nothing is left behind'));
  }
}
