import { type MethodDefinition, type ServerDuplexStream, status } from '@grpc/grpc-js';
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

export interface BytesCallHandler {
  /** A throw ends the call. */
  readonly receive: (message: Buffer) => void;
  /** The call is over, whoever ended it. Called once. */
  readonly closed: () => void;
}

/** Ends the call, telling the peer why. */
export type EndCall = (error: AppError) => void;

/**
 * Serves one call. `open` takes it, or throws: then it is refused. `failed` is told what we refused or ended it with.
 */
export function serveBytesCall(
  call: BytesCall,
  open: (end: EndCall) => BytesCallHandler,
  failed: (error: AppError, refused: boolean) => void,
): void {
  let handler: BytesCallHandler | undefined;
  let ended = false;
  const close = (): void => {
    if (ended) return;
    ended = true;
    handler?.closed();
  };
  const end: EndCall = (error) => {
    if (ended) return;
    close();
    failed(error, handler === undefined);
    call.emit('error', { code: statusOf(error), details: `${error.code}: ${error.message}` });
  };
  try {
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
