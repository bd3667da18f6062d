import type { ObjectFolder } from '../src/cli/playground/object-folder.ts';
import { gateway } from '../test/sandbox/case-objects.ts';

/**
 * Gateways `s0`, `s1`, … on port 80, each with a route to a Service of ten endpoints on port 8080, as YAML that is
 * JSON. Each EndpointSlice that will change has a file of its own, the others share files of a hundred front ends.
 */
export class ManyServices {
  readonly #folder: ObjectFolder;
  readonly #own: ReadonlySet<number>;

  constructor(
    folder: ObjectFolder,
    options: { readonly count: number; readonly changing: Iterable<number> },
  ) {
    this.#folder = folder;
    this.#own = new Set(options.changing);
    for (let first = 0; first < options.count; first += 100) {
      const numbers = Array.from({ length: Math.min(100, options.count - first) }, (_, i) => first + i);
      this.#write(
        `many/${first}.yaml`,
        numbers.flatMap((i) => this.#objects(i)),
      );
    }
    for (const i of this.#own) this.setEndpoints(i, endpointsOf(i));
  }

  setEndpoints(i: number, addresses: readonly string[]): void {
    this.#write(`own/${i}.yaml`, [slice(i, addresses)]);
  }

  #objects(i: number): object[] {
    const own = this.#own.has(i) ? [] : [slice(i, endpointsOf(i))];
    return [gateway(nameOf(i), [{ port: 80 }]), route(i), service(i), ...own];
  }

  #write(path: string, objects: readonly object[]): void {
    this.#folder.writeText(path, objects.map((object) => `${JSON.stringify(object)}\n`).join('---\n'));
  }
}

export const nameOf = (i: number): string => `s${i}`;

/** Ten addresses of 10.128.0.0/12 and what follows it: no cluster of the network has these. */
export const endpointsOf = (i: number): string[] =>
  Array.from({ length: 10 }, (_, e) => `10.${128 + e}.${i >> 8}.${i & 255}`);

/** An address that no front end has at the start. */
export const newEndpoint = (k: number): string => `10.140.${k >> 8}.${k & 255}`;

/** All of them. */
export const endpointRange = '10.128.0.0/9';

const metadata = (i: number) => ({ name: nameOf(i), namespace: 'shop' });

const route = (i: number): object => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'TCPRoute',
  metadata: metadata(i),
  spec: {
    parentRefs: [{ name: nameOf(i) }],
    rules: [{ backendRefs: [{ kind: 'Service', name: nameOf(i), port: 80 }] }],
  },
});

const service = (i: number): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: metadata(i),
  spec: { ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }] },
});

const slice = (i: number, addresses: readonly string[]): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { ...metadata(i), labels: { 'kubernetes.io/service-name': nameOf(i) } },
  addressType: 'IPv4',
  ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
});
