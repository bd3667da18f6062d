/** RFC 1123 label, as ids of clusters are. */
export const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** RFC 1123 subdomain, as names of nodes and sets are. */
export const dnsSubdomain = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** Of a region or network; empty: not said. */
export const topologyName = /^[A-Za-z0-9._-]{0,63}$/;
/** Namespaces that a cluster may speak for: a name, or a prefix and `*`. */
export const namespacePattern = /^(\*|[a-z0-9][-a-z0-9]{0,61}\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$/;
export const labelKey = /^([a-z0-9.-]{1,253}\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
export const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
