/** The type URLs that travel on our streams. */
export const typeUrls = {
  listener: 'type.googleapis.com/envoy.config.listener.v3.Listener',
  cluster: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  assignment: 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
  originStatus: 'type.googleapis.com/causeway.v1.OriginStatus',
  resourceInfo: 'type.googleapis.com/google.rpc.ResourceInfo',
} as const;

/** Key of our own facts in `filter_metadata`, of `Resource.metadata` and of node metadata. */
export const metadataKey = 'causeway.dev';

/** `type.googleapis.com/a.b.C` → `a.b.C`: the message's full name. */
export function messageName(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
}
