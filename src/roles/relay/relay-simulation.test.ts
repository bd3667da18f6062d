import { expect, test } from 'vitest';
import { RelaySimulation } from './relay-simulation.ts';

const seeds = 1_000;

test('design relays Whatever happens to a tree or mesh, nothing wrong is ever seen, and healed everybody has exactly what it may see', async () => {
  const only = process.env.CAUSEWAY_SEED;
  const first = only === undefined ? 0 : Number(only);
  for (let seed = first; seed < (only === undefined ? seeds : first + 1); seed += 1) {
    const simulation = new RelaySimulation(seed);
    await simulation.run().catch((cause: unknown) => {
      throw new Error(`seed ${seed} failed`, { cause });
    });
    expect(simulation.problems, `seed ${seed}: run it alone with CAUSEWAY_SEED=${seed}`).toEqual([]);
  }
}, 300_000);
