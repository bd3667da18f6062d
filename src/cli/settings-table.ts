import { peerRoles } from '../runtime/identity.ts';
import type { Setting } from './setting.ts';
import {
  isAddress,
  isCidr,
  isControllerName,
  isDnsLabel,
  isDnsName,
  isDuration,
  isHostName,
  isLabel,
  isListen,
  isListenAddress,
  isLogLevel,
  isNamespaces,
  isPath,
  isReason,
  isSeconds,
  isSerial,
  isTarget,
  isTopologyName,
  isZone,
  oneOf,
} from './setting-checks.ts';

const cluster: Setting = {
  name: 'cluster',
  value: 'id',
  help: 'id of this cluster, a DNS label',
  check: isDnsLabel,
};

const set: Setting = {
  name: 'set',
  value: 'name',
  help: 'the set of clusters it belongs to',
  check: isDnsName,
  default: 'default',
};

const identity: readonly Setting[] = [{ ...cluster, required: true }, set];

const region: Setting = {
  name: 'region',
  value: 'name',
  help: 'region of this cluster',
  check: isTopologyName,
  default: '',
};

const network: Setting = {
  name: 'network',
  value: 'name',
  help: 'clusters of one network reach each other’s pods',
  check: isTopologyName,
  default: '',
};

const dir: Setting = {
  name: 'dir',
  value: 'dir',
  help: 'folder of YAML objects',
  check: isPath,
  required: true,
};

const serviceCidr: Setting = {
  name: 'service-cidr',
  value: 'cidr',
  help: 'where VIPs come from, primary family first',
  check: isCidr,
  list: true,
};

const zone: Setting = {
  name: 'zone',
  value: 'domain',
  help: 'DNS zone of front ends',
  check: isZone,
  default: 'gw.cluster.local',
};

const controllerName: Setting = {
  name: 'controller-name',
  value: 'name',
  help: 'controllerName of our GatewayClasses',
  check: isControllerName,
  default: 'causeway.dev/gateway-controller',
};

const controllers: Setting = {
  name: 'controller',
  value: 'host:port',
  help: 'xDS address of a controller of this cluster; several are tried in turn',
  check: isTarget,
  list: true,
  required: true,
};

const auditInterval = (help: string): Setting => ({
  name: 'audit-interval',
  value: 'seconds',
  help,
  check: isSeconds,
  default: '30',
});

const listen = (value: string, help: string, otherwise: string): Setting => ({
  name: 'listen',
  value,
  help,
  check: isListen,
  default: otherwise,
});

const tls: readonly Setting[] = [
  {
    name: 'tls-cert',
    value: 'file',
    help: 'our certificate with a spiffe:// name, PEM',
    check: isPath,
    required: true,
  },
  { name: 'tls-key', value: 'file', help: 'its private key, PEM', check: isPath, required: true },
  { name: 'tls-ca', value: 'file', help: 'the CA of the set, PEM', check: isPath, required: true },
];

const operations: readonly Setting[] = [
  {
    name: 'admin',
    value: 'host:port',
    help: 'where /livez /readyz /metrics /debug are served',
    check: isListen,
    default: '127.0.0.1:0',
  },
  {
    name: 'log-level',
    value: 'level',
    help: 'debug, info, warn, error or silent',
    check: isLogLevel,
    default: 'info',
  },
];

export const controllerSettings: readonly Setting[] = [
  ...identity,
  { ...region, help: 'region of this cluster; with a relay its certificate must say it, and says it alone' },
  { ...network, help: 'clusters of one network reach each other’s pods; as for the region' },
  { ...dir, help: 'folder of YAML objects, followed live' },
  {
    name: 'state',
    value: 'dir',
    help: 'folder for status, claims and generations',
    check: isPath,
    required: true,
  },
  { ...serviceCidr, required: true },
  zone,
  controllerName,
  listen('host:port', 'xDS for agents, dns and other data planes', '127.0.0.1:18000'),
  { name: 'relay', value: 'host:port', help: 'a relay to dial', check: isTarget, list: true },
  {
    name: 'revoked',
    value: 'file',
    help: 'YAML with a list `revoked` of certificates that are not taken any more, followed live',
    check: isPath,
  },
  auditInterval('how often statuses and claims are compared with what was written'),
  ...tls,
  ...operations,
];

export const agentSettings: readonly Setting[] = [
  ...identity,
  {
    name: 'node',
    value: 'name',
    help: 'name of the node this agent programs',
    check: isDnsName,
    required: true,
  },
  controllers,
  auditInterval('how often the kernel’s table is compared'),
  ...tls,
  ...operations,
];

export const dnsSettings: readonly Setting[] = [
  ...identity,
  controllers,
  {
    ...listen('address:port', 'DNS over UDP and TCP; no address means all', ':53'),
    check: isListenAddress,
    list: true,
  },
  zone,
  ...tls,
  ...operations,
];

export const relaySettings: readonly Setting[] = [
  { name: 'name', value: 'name', help: 'name of this relay, a DNS label', check: isDnsLabel, required: true },
  { ...set, help: 'the set of clusters it joins' },
  {
    name: 'members',
    value: 'file',
    help: 'YAML list of member clusters and of revoked certificates, followed live',
    check: isPath,
    required: true,
  },
  listen('host:port', 'where members dial in', ':18100'),
  { name: 'relay', value: 'host:port', help: 'a relay to dial, as its member', check: isTarget, list: true },
  ...tls,
  ...operations,
];

export const compileSettings: readonly Setting[] = [
  dir,
  { ...cluster, help: 'the cluster it is compiled for', default: 'local' },
  { ...region, help: 'its region' },
  { ...network, help: 'its network' },
  { ...serviceCidr, default: '10.96.0.0/16' },
  zone,
  controllerName,
  {
    name: 'output',
    short: 'o',
    value: 'format',
    help: 'table, json or yaml',
    check: oneOf('table', 'json', 'yaml'),
    default: 'table',
  },
];

export const relayInitSettings: readonly Setting[] = [
  { ...set, help: 'the set of clusters' },
  { name: 'state', value: 'dir', help: 'where ca.crt and ca.key are kept', check: isPath, required: true },
];

export const relayCertificateSettings: readonly Setting[] = [
  { name: 'state', value: 'dir', help: 'where relay init made the CA', check: isPath, required: true },
  { ...cluster, help: 'the cluster; of a relay its name', required: true },
  {
    name: 'role',
    value: 'role',
    help: peerRoles.join(', '),
    check: oneOf(...peerRoles),
    required: true,
  },
  { name: 'node', value: 'name', help: 'the node of an agent, or which proxy', check: isDnsName },
  {
    name: 'label',
    value: 'key=value',
    help: 'a label of the cluster; may be given several times',
    check: isLabel,
    list: true,
  },
  {
    name: 'namespaces',
    value: 'list',
    help: 'what it may speak for: names or prefixes with *, comma-separated',
    check: isNamespaces,
    default: '*',
  },
  { ...region, help: 'its region' },
  network,
  {
    name: 'ttl',
    value: 'time',
    help: 'how long it is valid, as 90d or 12h',
    check: isDuration,
    default: '365d',
  },
  {
    name: 'dns',
    value: 'name',
    help: 'a DNS name in it, for clients that check it',
    check: isHostName,
    list: true,
  },
  { name: 'ip', value: 'address', help: 'an IP address in it', check: isAddress, list: true },
  { name: 'out', value: 'dir', help: 'where the files go', check: isPath, required: true },
];

export const relayRevokeSettings: readonly Setting[] = [
  {
    name: 'members',
    value: 'file',
    help: 'the file that relays (--members) or controllers (--revoked) follow',
    check: isPath,
    required: true,
  },
  {
    name: 'serial',
    value: 'hex',
    help: 'serial number of a certificate; may be given several times',
    check: isSerial,
    list: true,
  },
  {
    name: 'certificate',
    value: 'file',
    help: 'a certificate, PEM; may be given several times',
    check: isPath,
    list: true,
  },
  { name: 'reason', value: 'text', help: 'for people', check: isReason, default: '' },
];
