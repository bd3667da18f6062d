import type { Refusal } from './backend-object.ts';

interface NumberedPort {
  readonly protocol: string;
  readonly port: number;
}

/** `80/TCP, 53/UDP`. */
export const portTexts = (ports: readonly NumberedPort[]): string =>
  ports.map(({ port, protocol }) => `${port}/${protocol}`).join(', ') || 'none';

/** Why a reference to a port of `backend` does not resolve, which has `ports` and not this one. */
export function portRefusal(
  backend: string,
  ports: readonly NumberedPort[],
  { protocol, port }: NumberedPort,
): Refusal {
  const other = ports.find((p) => p.port === port);
  if (other) {
    const message = `expected port ${port} of ${backend} with ${protocol}, found ${other.protocol}`;
    return { code: 'BackendProtocolMismatch', message };
  }
  const message = `expected a port of ${backend} (${portTexts(ports)}), found ${port}/${protocol}`;
  return { code: 'BackendPortNotFound', message };
}
