import { AppError } from '../runtime/errors.ts';

/** A setting that something else than its flag gave. */
export interface GivenBy {
  /** As `--admin`. */
  readonly flag: string;
  /** What gave it, as `CAUSEWAY_ADMIN`. */
  readonly where: string;
  /** By these an error is about it, too. */
  readonly values?: readonly string[];
}

/**
 * Runs a command. Errors name a setting by its flag; where the user wrote none, the error also says what gave the
 * value. Throws what `run` throws.
 */
export async function sayingWhatGave(given: readonly GivenBy[], run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof AppError) {
      const text = error.message;
      const about = given.filter((each) => isAbout(text, each));
      for (const { flag, where } of about) error.message += `; ${flag} is given by ${where}`;
    }
    throw error;
  }
}

/** No part of a longer word: `--admin` is not in `--admin-port`. */
const isAbout = (text: string, { flag, values = [] }: GivenBy): boolean =>
  text.split(/[\s(),;]+|:(?=\s)/).some((word) => word === flag || values.includes(word));
