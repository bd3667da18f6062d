import { expect, test } from 'vitest';
import { givenSeed, playedAgainBy } from '../../runtime/seeded-random.ts';
import { RelaySimulation } from './relay-simulation.ts';

const seeds = 1_000;

test('design relays Whatever happens to a tree or mesh, nothing wrong is ever seen, and healed everybody has exactly what it may see', async () => {
  const only = givenSeed();
  const first = only ?? 0;
  for (let seed = first; seed < (only === undefined ? seeds : first + 1); seed += 1) {
    const simulation = new RelaySimulation(seed);
    await simulation.run().catch((cause: unknown) => {
      throw new Error(`seed ${seed} failed: run it alone with ${playedAgainBy(seed)}`, { cause });
    });
    expect(simulation.problems, `seed ${seed}: run it alone with ${playedAgainBy(seed)}`).toEqual([]);
  }
}, 300_000);
