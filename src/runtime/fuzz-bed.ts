import { randomInt } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { givenSeed, playedAgainBy, type SeededRandom, seededRandom } from './seeded-random.ts';

/** For tests with very many cases: numbers that a seed repeats, and hostile changes of bytes. */
export class Fuzz {
  readonly #random: SeededRandom;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** 0 to `limit` - 1. */
  below(limit: number): number {
    return this.#random.below(limit);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(items: readonly T[]): T {
    return this.#random.pick(items);
  }

  bytes(most: number): Buffer {
    return Buffer.from(Array.from({ length: this.below(most + 1) }, () => this.below(256)));
  }

  /** Some octets changed, cut, added, repeated, or replaced by a part of `other`. */
  mutated(bytes: Uint8Array, other: Uint8Array = bytes): Buffer {
    let made = Buffer.from(bytes);
    for (let changes = 1 + this.below(4); changes > 0; changes -= 1) {
      const at = this.below(made.length + 1);
      const to = at + this.below(made.length - at + 1);
      const from = this.below(other.length + 1);
      const [before, after] = [made.subarray(0, at), made.subarray(at)];
      const change = this.below(8);
      if (change < 3 && at < made.length)
        made[at] = this.pick([0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff, this.below(256)]);
      else if (change === 3) made = before;
      else if (change === 4) made = Buffer.concat([before, this.bytes(8), after]);
      else if (change === 5) made = Buffer.concat([before, made.subarray(to)]);
      else if (change === 6) made = Buffer.concat([made.subarray(0, to), after]);
      else made = Buffer.concat([before, other.subarray(from, from + this.below(64)), after]);
    }
    return made.subarray(0, 64 * 1024);
  }

  /**
   * A protobuf message whose lengths fit: fields left out, repeated, moved, of another number or content, at any
   * depth. Now and then only its octets are changed.
   */
  mutatedMessage(bytes: Uint8Array, other: Uint8Array = bytes): Buffer {
    const fields = this.chance(80) ? fieldsOf(bytes) : undefined;
    if (!fields || fields.length === 0) return this.mutated(bytes, other);
    for (let changes = 1 + this.below(3); changes > 0 && fields.length > 0; changes -= 1) {
      const at = this.below(fields.length);
      const field = fields[at] as Field;
      const change = this.below(8);
      if (change === 0) fields.splice(at, 1);
      else if (change === 1) fields.splice(this.below(fields.length), 0, field);
      else if (change === 2) fields.push(...(fieldsOf(other) ?? []).slice(0, 8));
      else if (change === 3)
        fields[at] = { ...field, number: this.pick([1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 9001]) };
      else if (change === 4) fields[at] = { ...field, content: this.bytes(16), wireType: 2 };
      else if (field.wireType === 2)
        fields[at] = { ...field, content: this.mutatedMessage(field.content, other) };
      else fields[at] = { ...field, content: this.mutated(field.content) };
    }
    return Buffer.concat(fields.map(written)).subarray(0, 256 * 1024);
  }
}

interface Field {
  readonly number: number;
  readonly wireType: number;
  /** Without the length. */
  readonly content: Uint8Array;
}

/** Undefined: it is no message. */
function fieldsOf(bytes: Uint8Array): Field[] | undefined {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): number | undefined => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = bytes[at];
      if (byte === undefined) return undefined;
      at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return undefined;
  };
  while (at < bytes.length) {
    const tag = varint();
    if (tag === undefined || tag < 8) return undefined;
    const wireType = tag & 7;
    const start = at;
    if (wireType === 0) {
      if (varint() === undefined) return undefined;
    } else if (wireType === 1) at += 8;
    else if (wireType === 5) at += 4;
    else if (wireType !== 2) return undefined;
    const length = wireType === 2 ? varint() : undefined;
    if (wireType === 2 && length === undefined) return undefined;
    const from = wireType === 2 ? at : start;
    at += length ?? 0;
    if (at > bytes.length) return undefined;
    fields.push({ number: Math.floor(tag / 8), wireType, content: bytes.subarray(from, at) });
  }
  return fields;
}

function written({ number, wireType, content }: Field): Buffer {
  const head = [number * 8 + wireType, ...(wireType === 2 ? [content.length] : [])].flatMap((value) => {
    const octets: number[] = [];
    for (let rest = value; ; rest = Math.floor(rest / 128)) {
      octets.push(rest < 128 ? rest : (rest % 128) + 128);
      if (rest < 128) return octets;
    }
  });
  return Buffer.concat([Buffer.from(head), content]);
}

/** What may stay in memory after all cases, beyond what the first tenth needed. */
const heapGrowthBytes = 32 * 1024 * 1024;

/**
 * Runs `cases` cases, each with numbers of its own. One that throws is told with the seed that repeats it.
 * Throws where memory grows with the cases.
 */
export async function fuzz(
  cases: number,
  run: (random: Fuzz, index: number) => void | Promise<void>,
): Promise<void> {
  const first = givenSeed() ?? randomInt(2 ** 31);
  let before = Number.POSITIVE_INFINITY;
  for (let i = 0; i < cases; i += 1) {
    const seed = first + i;
    if (i === Math.floor(cases / 10)) before = await heapUsed();
    try {
      const done = run(new Fuzz(seed), i);
      if (done) await done;
    } catch (cause) {
      throw new Error(`case ${i} of ${cases} fails: repeat it with ${playedAgainBy(seed)}`, { cause });
    }
  }
  const grown = (await heapUsed()) - before;
  if (grown > heapGrowthBytes) {
    throw new Error(
      `${cases} cases from seed ${first} left ${Math.round(grown / 1024 / 1024)} MiB in memory`,
    );
  }
}

/** Bytes in use; buffers go a little after what held them. */
export async function heapUsed(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed: heap, arrayBuffers } = process.memoryUsage();
  return heap + arrayBuffers;
}
