import { createProgram } from './cli/program.ts';
import { reportError } from './cli/report-error.ts';

/** Exit codes: 0 yes, 1 no (the thing asked about is not right), 2 usage or could not ask. */
try {
  await createProgram().parseAsync();
} catch (error) {
  // Whatever had begun to run must not keep half of a process alive.
  process.exit(reportError(error));
}
