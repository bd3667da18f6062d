/**
 * Faults of the program or its surroundings (user mistakes are `Problem`s). Each code has a paragraph in
 * docs/errors.md.
 */
export const errorCodes = {
  E_USAGE: 'a flag, variable or config value is not usable',
  E_FILE_READ: 'a file or folder cannot be read',
  E_STATE_READ: 'what must be remembered over restarts cannot be read',
  E_STATE_WRITE: 'the state folder cannot be written',
  E_UNREACHABLE: 'a role that was asked does not answer',
  E_LISTEN: 'an address cannot be listened on',
  E_TLS_LOAD: 'a certificate, key or CA cannot be loaded',
  E_PEER_IDENTITY: 'the other end did not prove the identity it must have',
  E_XDS_STREAM: 'an xDS stream broke or its peer broke the protocol',
  E_NFT_UNUSABLE: 'nft is missing, too old or lacks what the table needs',
  E_NFT_APPLY: 'the kernel refused a transaction',
  E_CONNTRACK: 'conntrack entries cannot be listed or deleted',
  E_SANDBOX: 'the sandbox cannot be made',
} as const;

export type ErrorCode = keyof typeof errorCodes;

export class AppError extends Error {
  readonly code: ErrorCode;
  /** The same call may succeed later. */
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; retryable?: boolean } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

/** The text of anything thrown, for messages. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
