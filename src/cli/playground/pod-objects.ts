/** Objects that a kubelet or an API server would write, as far as a cluster needs them to be one. */

export interface PodPort {
  readonly name?: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
}

export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ports: readonly PodPort[];
  readonly ips: readonly string[];
  readonly hostIp: string;
  readonly ready: boolean;
  /** RFC 3339. */
  readonly created: string;
  /** RFC 3339; present while the pod terminates. */
  readonly deleted?: string;
}

const condition = (type: string, status: boolean) => ({ type, status: status ? 'True' : 'False' });

export function podObject(pod: PodFacts): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: pod.name,
      namespace: pod.namespace,
      uid: pod.uid,
      creationTimestamp: pod.created,
      labels: pod.labels,
      ...(pod.deleted === undefined
        ? {}
        : { deletionTimestamp: pod.deleted, deletionGracePeriodSeconds: 30 }),
    },
    spec: {
      nodeName: pod.node,
      containers: [
        {
          name: 'echo',
          image: 'echo',
          ports: pod.ports.map((p) => ({
            ...(p.name === undefined ? {} : { name: p.name }),
            containerPort: p.port,
            protocol: p.protocol,
          })),
        },
      ],
    },
    status: {
      phase: 'Running',
      hostIP: pod.hostIp,
      podIP: pod.ips[0],
      podIPs: pod.ips.map((ip) => ({ ip })),
      conditions: [
        condition('PodScheduled', true),
        condition('Initialized', true),
        condition('ContainersReady', pod.ready),
        condition('Ready', pod.ready),
      ],
    },
  };
}

export interface NodeFacts {
  readonly name: string;
  readonly uid: string;
  readonly zone: string;
  readonly region: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly podCidrs: readonly string[];
  readonly ips: readonly string[];
  readonly created: string;
  readonly ready: boolean;
}

export function nodeObject(node: NodeFacts): object {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: node.name,
      uid: node.uid,
      creationTimestamp: node.created,
      labels: {
        'kubernetes.io/hostname': node.name,
        'topology.kubernetes.io/zone': node.zone,
        'topology.kubernetes.io/region': node.region,
        ...node.labels,
      },
    },
    spec: { podCIDR: node.podCidrs[0], podCIDRs: node.podCidrs },
    status: {
      conditions: [condition('Ready', node.ready)],
      addresses: [
        ...node.ips.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: node.name },
      ],
    },
  };
}

export function namespaceObject(name: string, uid: string, created: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, uid, creationTimestamp: created, labels: { 'kubernetes.io/metadata.name': name } },
    status: { phase: 'Active' },
  };
}
