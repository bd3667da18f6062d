import { expect, test } from 'vitest';
import type { Backend, Frontend, Ir } from '../../model/ir.ts';
import { describeMessage } from '../../wire/proto/registry.ts';
import { render, renderBackend, renderFrontend } from './render.ts';
import { contentVersion } from './resource-log.ts';

const store: Frontend = {
  key: 'gateway/shop/store',
  generation: 3,
  names: ['store.shop.gw.cluster.local'],
  ttl: 5,
  vips: ['10.96.0.9', 'fd00::9'],
  ports: [
    {
      protocol: 'TCP',
      port: 80,
      listeners: ['http'],
      appProtocol: 'http',
      targets: [
        { backend: 'composite/shop/store/tcp-80', weight: 90 },
        { backend: null, weight: 10 },
        { backend: 'selector/shop/old/tcp-80', weight: 0 },
      ],
    },
    {
      protocol: 'UDP',
      port: 53,
      listeners: ['dns'],
      targets: [
        { backend: 'selector/shop/a/udp-53', weight: 1 },
        { backend: 'selector/shop/b/udp-53', weight: 2 },
      ],
    },
  ],
};

const composite: Backend = {
  key: 'composite/shop/store/tcp-80',
  policy: 'PreferLocal',
  groups: [
    {
      cluster: 'east',
      network: 'n1',
      region: 'eu',
      zone: 'a',
      priority: 0,
      weight: 2,
      endpoints: [
        { addresses: ['10.1.0.1', 'fd01::1'], port: 8080, health: 'Healthy', weight: 1 },
        { addresses: ['10.1.0.2'], port: 8080, health: 'Draining', weight: 3 },
      ],
    },
    { cluster: 'south', network: 'n1', region: 'eu', zone: 'a', priority: 1, weight: 1, endpoints: [] },
    {
      cluster: 'west',
      network: 'n2',
      region: 'us',
      zone: 'b',
      priority: 2,
      weight: 1,
      endpoints: [{ addresses: ['10.2.0.1'], port: 8081, health: 'Healthy', weight: 1, snat: true }],
    },
  ],
};

const described = (resources: ReturnType<typeof render>) =>
  Object.fromEntries(
    resources.map((r) => [
      `${r.typeUrl.split('.').at(-1)} ${r.name}`,
      r.body && describeMessage(r.typeUrl, r.body),
    ]),
  );

test('a front end is one Listener per port, for Envoy and for nodes', () => {
  expect(described(renderFrontend(store))).toMatchInlineSnapshot(`
    {
      "Listener gateway/shop/store/tcp-80": {
        "additional_addresses": [
          {
            "address": {
              "socket_address": {
                "address": "fd00::9",
                "port_value": 80,
              },
            },
          },
        ],
        "address": {
          "socket_address": {
            "address": "10.96.0.9",
            "port_value": 80,
          },
        },
        "bind_to_port": {},
        "filter_chains": [
          {
            "filters": [
              {
                "name": "envoy.filters.network.tcp_proxy",
                "typed_config": {
                  "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
                  "stat_prefix": "gateway/shop/store/tcp-80",
                  "weighted_clusters": {
                    "clusters": [
                      {
                        "name": "composite/shop/store/tcp-80",
                        "weight": 90,
                      },
                      {
                        "name": "causeway.dev/none",
                        "weight": 10,
                      },
                    ],
                  },
                },
              },
            ],
          },
        ],
        "metadata": {
          "filter_metadata": {
            "causeway.dev": {
              "appProtocol": "http",
              "generation": 3,
              "key": "gateway/shop/store",
              "listeners": [
                "http",
              ],
              "names": [
                "store.shop.gw.cluster.local",
              ],
              "port": 80,
              "protocol": "TCP",
              "targets": [
                {
                  "backend": "composite/shop/store/tcp-80",
                  "weight": 90,
                },
                {
                  "backend": null,
                  "weight": 10,
                },
                {
                  "backend": "selector/shop/old/tcp-80",
                  "weight": 0,
                },
              ],
              "ttl": 5,
              "vips": [
                "10.96.0.9",
                "fd00::9",
              ],
            },
          },
        },
        "name": "gateway/shop/store/tcp-80",
        "traffic_direction": "OUTBOUND",
      },
      "Listener gateway/shop/store/udp-53": {
        "additional_addresses": [
          {
            "address": {
              "socket_address": {
                "address": "fd00::9",
                "port_value": 53,
                "protocol": "UDP",
              },
            },
          },
        ],
        "address": {
          "socket_address": {
            "address": "10.96.0.9",
            "port_value": 53,
            "protocol": "UDP",
          },
        },
        "bind_to_port": {},
        "listener_filters": [
          {
            "name": "envoy.filters.udp_listener.udp_proxy",
            "typed_config": {
              "@type": "type.googleapis.com/envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig",
              "matcher": {
                "on_no_match": {
                  "action": {
                    "name": "route",
                    "typed_config": {
                      "@type": "type.googleapis.com/envoy.extensions.filters.udp.udp_proxy.v3.Route",
                      "cluster": "selector/shop/b/udp-53",
                    },
                  },
                },
              },
              "stat_prefix": "gateway/shop/store/udp-53",
            },
          },
        ],
        "metadata": {
          "filter_metadata": {
            "causeway.dev": {
              "generation": 3,
              "key": "gateway/shop/store",
              "listeners": [
                "dns",
              ],
              "names": [
                "store.shop.gw.cluster.local",
              ],
              "port": 53,
              "protocol": "UDP",
              "targets": [
                {
                  "backend": "selector/shop/a/udp-53",
                  "weight": 1,
                },
                {
                  "backend": "selector/shop/b/udp-53",
                  "weight": 2,
                },
              ],
              "ttl": 5,
              "vips": [
                "10.96.0.9",
                "fd00::9",
              ],
            },
          },
        },
        "name": "gateway/shop/store/udp-53",
        "traffic_direction": "OUTBOUND",
        "udp_listener_config": {},
      },
    }
  `);
});

test('a back end is a Cluster and an assignment of what is usable', () => {
  expect(described(renderBackend(composite))).toMatchInlineSnapshot(`
    {
      "Cluster composite/shop/store/tcp-80": {
        "common_lb_config": {
          "healthy_panic_threshold": {},
          "locality_weighted_lb_config": {},
        },
        "connect_timeout": {
          "seconds": 5,
        },
        "eds_cluster_config": {
          "eds_config": {
            "ads": {},
            "resource_api_version": "V3",
          },
        },
        "metadata": {
          "filter_metadata": {
            "causeway.dev": {
              "policy": "PreferLocal",
            },
          },
        },
        "name": "composite/shop/store/tcp-80",
        "type": "EDS",
      },
      "ClusterLoadAssignment composite/shop/store/tcp-80": {
        "cluster_name": "composite/shop/store/tcp-80",
        "endpoints": [
          {
            "lb_endpoints": [
              {
                "endpoint": {
                  "additional_addresses": [
                    {
                      "address": {
                        "socket_address": {
                          "address": "fd01::1",
                          "port_value": 8080,
                        },
                      },
                    },
                  ],
                  "address": {
                    "socket_address": {
                      "address": "10.1.0.1",
                      "port_value": 8080,
                    },
                  },
                },
              },
            ],
            "load_balancing_weight": {
              "value": 2,
            },
            "locality": {
              "region": "eu",
              "sub_zone": "east",
              "zone": "a",
            },
            "metadata": {
              "filter_metadata": {
                "causeway.dev": {
                  "network": "n1",
                },
              },
            },
          },
          {
            "lb_endpoints": [
              {
                "endpoint": {
                  "address": {
                    "socket_address": {
                      "address": "10.2.0.1",
                      "port_value": 8081,
                    },
                  },
                },
                "metadata": {
                  "filter_metadata": {
                    "causeway.dev": {
                      "snat": true,
                    },
                  },
                },
              },
            ],
            "load_balancing_weight": {
              "value": 1,
            },
            "locality": {
              "region": "us",
              "sub_zone": "west",
              "zone": "b",
            },
            "metadata": {
              "filter_metadata": {
                "causeway.dev": {
                  "network": "n2",
                },
              },
            },
            "priority": 1,
          },
        ],
      },
    }
  `);
});

test('a withheld back end is known by its Cluster only', () => {
  const resources = renderBackend({ ...composite, withheld: true });
  expect(resources.map((r) => r.body !== undefined)).toEqual([true, false]);
});

test('a front end without an address or a port has no Listener; one without targets answers nothing', () => {
  expect(renderFrontend({ ...store, vips: [] })).toEqual([]);
  expect(renderFrontend({ ...store, ports: [] })).toEqual([]);
  const none = { ...store, ports: [{ protocol: 'TCP', port: 81, listeners: ['x'], targets: [] } as const] };
  expect(JSON.stringify(described(renderFrontend(none)))).toContain('"cluster":"causeway.dev/none"');
});

test('nodes are told by zone', () => {
  const nodes = new Map(
    [
      { name: 'e2', zone: 'b', podCIDRs: ['10.1.2.0/24'] },
      { name: 'e1', zone: 'a', podCIDRs: ['10.1.1.0/24', 'fd01:1::/64'] },
    ].map((n) => [n.name, n]),
  );
  const ir: Ir = { frontends: new Map(), backends: new Map(), nodes };
  expect(described(render(ir))).toMatchInlineSnapshot(`
    {
      "ClusterLoadAssignment nodes": {
        "cluster_name": "nodes",
        "endpoints": [
          {
            "lb_endpoints": [
              {
                "endpoint": {
                  "hostname": "e1",
                },
                "metadata": {
                  "filter_metadata": {
                    "causeway.dev": {
                      "name": "e1",
                      "podCIDRs": [
                        "10.1.1.0/24",
                        "fd01:1::/64",
                      ],
                    },
                  },
                },
              },
            ],
            "locality": {
              "zone": "a",
            },
          },
          {
            "lb_endpoints": [
              {
                "endpoint": {
                  "hostname": "e2",
                },
                "metadata": {
                  "filter_metadata": {
                    "causeway.dev": {
                      "name": "e2",
                      "podCIDRs": [
                        "10.1.2.0/24",
                      ],
                    },
                  },
                },
              },
            ],
            "locality": {
              "zone": "b",
            },
          },
        ],
      },
    }
  `);
});

test('equal input gives equal bytes and versions, whatever the order it came in', () => {
  const bytes = (ir: Ir) => render(ir).map((r) => r.body && contentVersion(r.body));
  const ir = {
    frontends: new Map([[store.key, store]]),
    backends: new Map([[composite.key, composite]]),
    nodes: new Map(),
  };
  const copy = { ...structuredClone(ir), nodes: new Map() };
  expect(bytes(copy)).toEqual(bytes(ir));
});

test('the bytes of a release are those of the next: agents need no new state after an upgrade', () => {
  const versions = [...renderFrontend(store), ...renderBackend(composite)].map(
    (r) => r.body && contentVersion(r.body),
  );
  expect(versions).toMatchInlineSnapshot(`
    [
      "rAwiUGggztwnxt5F",
      "c1SLkaWCvBYrDT0B",
      "eyUl-k5bP-H2KiZJ",
      "bJmEhi8Dh1WjHfHc",
    ]
  `);
});
