import type { InputKind } from './inputs.ts';
import type { Unit } from './reader.ts';
import { routeUnitKey } from './units/attachment.ts';
import { clusterPropertyProblems } from './units/cluster-property.ts';
import { compositeExports } from './units/composite-exports.ts';
import { compositeStatus } from './units/composite-status.ts';
import { frontend, gatewayFrontendKey } from './units/frontend.ts';
import { wantedClaim } from './units/gateway-addresses.ts';
import { gatewayClassStatus } from './units/gateway-class.ts';
import { gatewayStatus } from './units/gateway-status.ts';
import { importedPorts } from './units/imported-ports.ts';
import { nodeFacts } from './units/node-facts.ts';
import { probeTargets } from './units/probe-targets.ts';
import { routeStatus } from './units/route-status.ts';
import { selectorStatus } from './units/selector-status.ts';
import { xBackendStatus } from './units/x-backend-status.ts';

type RootTable = 'frontends' | 'nodes' | 'statuses' | 'claims' | 'exports' | 'imports' | 'probes';

/** What the model says because an object of `kind` exists: the value of `unit`, kept in `table`. */
export interface Root {
  readonly kind: InputKind;
  readonly unit: Unit<unknown>;
  readonly table: RootTable;
  /** The unit's key, from the object's. */
  readonly unitKey: (key: string) => string;
  /** The row's key, from the unit's. */
  readonly rowKey: (unitKey: string) => string;
}

const same = (key: string): string => key;

const root = (kind: InputKind, unit: Unit<unknown>, table: RootTable, rowKey = same): Root => ({
  kind,
  unit,
  table,
  unitKey: same,
  rowKey,
});

const status = (kind: InputKind, unit: Unit<unknown>): Root =>
  root(kind, unit, 'statuses', (key) => `${kind}/${key}`);

/** The keys of route units carry the kind, as those of statuses do. */
const route = (kind: 'TCPRoute' | 'UDPRoute'): readonly Root[] => {
  const unitKey = (key: string) => routeUnitKey(kind, key);
  return [
    { ...root(kind, routeStatus, 'statuses'), unitKey },
    { ...root(kind, importedPorts, 'imports'), unitKey },
  ];
};

/** Back ends are no roots: they are there because a front end refers to them. */
export const roots: readonly Root[] = [
  root('Gateway', frontend, 'frontends', gatewayFrontendKey),
  root('Gateway', wantedClaim, 'claims'),
  status('Gateway', gatewayStatus),
  status('GatewayClass', gatewayClassStatus),
  ...route('TCPRoute'),
  ...route('UDPRoute'),
  root('CompositeBackend', compositeExports, 'exports'),
  status('CompositeBackend', compositeStatus),
  status('XEndpointSelector', selectorStatus),
  status('XBackend', xBackendStatus),
  root('Contribution', probeTargets, 'probes'),
  root('Node', nodeFacts, 'nodes'),
  status('ClusterProperty', clusterPropertyProblems),
];
