import { createProgram } from './cli/program.ts';
import { AppError, messageOf } from './runtime/errors.ts';

/** Exit codes: 0 yes, 1 no (the thing asked about is not right), 2 usage or could not ask. */
try {
  await createProgram().parseAsync();
} catch (error) {
  const code = error instanceof AppError ? ` ${error.code}` : '';
  process.stderr.write(`causeway:${code} ${messageOf(error)}\n`);
  if (process.env.CAUSEWAY_DEBUG && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  process.exitCode = error instanceof AppError && error.code === 'E_USAGE' ? 2 : 1;
}
