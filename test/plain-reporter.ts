import { appendFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/**
 * Counts what ran and appends `passed failed` to the file named by CAUSEWAY_TEST_COUNTS. A module that does not
 * load and an unhandled error are failures: vitest itself counts them as no test at all.
 */
// biome-ignore lint/style/noDefaultExport: vitest loads reporters by their default export
export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env.CAUSEWAY_TEST_COUNTS;
    if (!file) return;
    let passed = 0;
    let failed = unhandled.length;
    for (const module of modules) {
      failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const state = test.result().state;
        if (state === 'passed') passed += 1;
        else if (state !== 'skipped') failed += 1;
      }
    }
    appendFileSync(file, `${passed} ${failed}\n`);
  }
}
