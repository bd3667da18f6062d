/** What is spoken on a port: an IANA service name as `http`, or `<prefix>/<name>` as `kubernetes.io/h2c`. */
export const appProtocolPattern =
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$';

export const appProtocolLength = 317;

const shape = new RegExp(appProtocolPattern);

export const isAppProtocol = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= appProtocolLength && shape.test(value);
