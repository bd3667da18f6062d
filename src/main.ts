import { createProgram } from './cli/program.ts';
import { reportError } from './cli/report-error.ts';

/**
 * Exit codes: 0 yes, 1 no (the thing asked about is not right), 2 usage or could not ask. A command is over when its
 * promise is: what had begun, such as a connection that is being made, must not keep half of a process alive.
 */
try {
  await createProgram().parseAsync();
  process.exit();
} catch (error) {
  process.exit(reportError(error));
}
