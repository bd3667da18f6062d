import { defineConfig } from 'vitest/config';

/**
 * `unit` runs anywhere; `sandbox` runs inside namespaces of its own (test/run.ts starts it there); `launch` runs
 * outside and makes sandboxes itself, as a user would.
 */
export default defineConfig({
  test: {
    watch: false,
    reporters: ['default', './test/plain-reporter.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/*.test.ts', 'bench/*.test.ts'],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'sandbox',
          include: ['test/sandbox/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'launch',
          include: ['test/launch/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
