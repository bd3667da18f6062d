import { checkSandbox, runInSandbox } from '../../src/cli/playground/sandbox.ts';

/** Runs a shell text in a sandbox: the launcher alone, for tests that kill it. */
checkSandbox();
process.exitCode = await runInSandbox({ command: ['sh', '-c', process.argv[2] ?? 'true'] });
