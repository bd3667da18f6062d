/** gRPC methods that we call and serve: `/package.Service/Method`. */
export const methods = {
  deltaAds: '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
  /** A member publishes to a relay. The member, which dialled, is the server of delta xDS on the call. */
  publish: '/causeway.v1.Relay/Publish',
} as const;
