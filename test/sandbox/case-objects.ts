/** Objects of the cases, as a user writes them. Everything is in namespace `shop`. */

const namespace = 'shop';
const ours = 'causeway.dev';
const gatewayApi = 'gateway.networking.k8s.io/v1';

export type Protocol = 'TCP' | 'UDP';

export interface ListenerPort {
  readonly port: number;
  readonly protocol?: Protocol;
}

export const gatewayClass: object = {
  apiVersion: gatewayApi,
  kind: 'GatewayClass',
  metadata: { name: 'cluster-ip' },
  spec: { controllerName: 'causeway.dev/gateway-controller' },
};

const listenerName = ({ port, protocol = 'TCP' }: ListenerPort): string =>
  `${protocol.toLowerCase()}-${port}`;

export function gateway(
  name: string,
  ports: readonly ListenerPort[],
  addresses: readonly string[] = [],
): object {
  return {
    apiVersion: gatewayApi,
    kind: 'Gateway',
    metadata: { name, namespace },
    spec: {
      gatewayClassName: 'cluster-ip',
      ...(addresses.length === 0
        ? {}
        : { addresses: addresses.map((value) => ({ type: 'IPAddress', value })) }),
      listeners: ports.map((p) => ({
        name: listenerName(p),
        protocol: p.protocol ?? 'TCP',
        port: p.port,
      })),
    },
  };
}

/** One listener of the Gateway of this name → the composite of this name. */
export function route(name: string, listener: ListenerPort, backend = name): object {
  const { port, protocol = 'TCP' } = listener;
  return {
    apiVersion: gatewayApi,
    kind: `${protocol}Route`,
    metadata: { name: `${name}-${port}`, namespace },
    spec: {
      parentRefs: [{ name, sectionName: listenerName(listener) }],
      rules: [{ backendRefs: [{ group: ours, kind: 'CompositeBackend', name: backend, port }] }],
    },
  };
}

export interface CompositePort {
  readonly port: number;
  readonly protocol?: Protocol;
  readonly targetPort?: number;
}

/** `own`: its back end is the selector of the same name; `spec`: fields beside. */
export function composite(
  name: string,
  ports: readonly CompositePort[],
  own: boolean,
  spec: Readonly<Record<string, unknown>> = {},
): object {
  return {
    apiVersion: `${ours}/v1alpha1`,
    kind: 'CompositeBackend',
    metadata: { name, namespace },
    spec: {
      ports: ports.map((p) => ({ name: `p${p.port}`, ...p })),
      ...(own
        ? { backends: [{ group: 'gateway.networking.x-k8s.io', kind: 'XEndpointSelector', name }] }
        : {}),
      ...spec,
    },
  };
}

/** Pods with the label `app: <name>`. */
export const selector = (name: string): object => ({
  apiVersion: 'gateway.networking.x-k8s.io/v1alpha1',
  kind: 'XEndpointSelector',
  metadata: { name, namespace },
  spec: { selector: { matchLabels: { app: name } } },
});

/** A Gateway with a route for each of its ports. */
export const frontEnd = (name: string, ports: readonly ListenerPort[]): readonly object[] => [
  gateway(name, ports),
  ...ports.map((port) => route(name, port)),
];

const http: CompositePort = { port: 80, targetPort: 8080 };

/** All of `<name>.shop` → pods `app=<name>` of every cluster that has it, front end included; default: 80 → 8080. */
export const wholeOf = (
  name: string,
  spec: Readonly<Record<string, unknown>> = {},
  ports: readonly CompositePort[] = [http],
): readonly object[] => [...frontEnd(name, ports), composite(name, ports, true, spec), selector(name)];

/** As `wholeOf`, of a cluster that only has the name and no pods. */
export const consumerOf = (name: string, spec: Readonly<Record<string, unknown>> = {}): readonly object[] => [
  ...frontEnd(name, [http]),
  composite(name, [http], false, spec),
];

/** As `wholeOf`, of a cluster that only has the pods. */
export const providerOf = (name: string, spec: Readonly<Record<string, unknown>> = {}): readonly object[] => [
  composite(name, [http], true, spec),
  selector(name),
];
