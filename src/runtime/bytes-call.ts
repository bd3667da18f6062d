import { type MethodDefinition, type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { Admission } from './admission.ts';
import { AppError, messageOf } from './errors.ts';

/** The serving end of a bidirectional call whose messages are bytes. */
export type BytesCall = ServerDuplexStream<Buffer, Buffer>;

const bytes = (message: Buffer): Buffer => message;

/** `path`: `/package.Service/Method`. */
export const bytesMethod = (path: string): MethodDefinition<Buffer, Buffer> => ({
  path,
  requestStream: true,
  responseStream: true,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});

interface BytesCallHandler {
  /** A throw ends the call. */
  readonly receive: (message: Buffer) => void;
  /** The call is over, whoever ended it. Called once. */
  readonly closed: () => void;
}

/** Ends the call, telling the peer why. */
type EndCall = (error: AppError) => void;

export interface ServedCall {
  /** Whether the call is taken and stays, beside what `open` says. */
  readonly admission: Admission | undefined;
  /** Takes the call. A throw refuses it. */
  readonly open: (end: EndCall) => BytesCallHandler;
  /** What we refused or ended it with. */
  readonly failed: (error: AppError, refused: boolean) => void;
}

/** Serves one call. */
export function serveBytesCall(call: BytesCall, { admission, open, failed }: ServedCall): void {
  let handler: BytesCallHandler | undefined;
  let leave: (() => void) | undefined;
  let ended = false;
  const close = (): void => {
    if (ended) return;
    ended = true;
    leave?.();
    handler?.closed();
  };
  const end: EndCall = (error) => {
    if (ended) return;
    close();
    failed(error, handler === undefined);
    call.emit('error', { code: statusOf(error), details: `${error.code}: ${error.message}` });
  };
  try {
    leave = admission?.enter(call, end);
    handler = open(end);
  } catch (cause) {
    end(toAppError(cause));
    return;
  }
  const { receive, closed } = handler;
  if (ended) {
    closed();
    return;
  }
  call.on('data', (message: Buffer) => {
    try {
      receive(message);
    } catch (cause) {
      end(toAppError(cause));
    }
  });
  call.on('end', () => {
    close();
    call.end();
  });
  for (const event of ['cancelled', 'error', 'close']) call.on(event, close);
}

function statusOf({ code }: AppError): number {
  return code === 'E_PEER_IDENTITY' ? status.PERMISSION_DENIED : status.ABORTED;
}

const toAppError = (cause: unknown): AppError =>
  cause instanceof AppError ? cause : new AppError('E_XDS_STREAM', messageOf(cause), { cause });
