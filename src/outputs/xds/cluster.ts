import type { Backend } from '../../model/ir.ts';
import { apiVersion, clusterType } from '../../wire/proto/messages.ts';
import { codec } from '../../wire/proto/registry.ts';
import { toMetadata } from '../../wire/proto/typed-config.ts';

/**
 * A back end as a Cluster whose endpoints come over the same stream. Localities count by their weight, and no
 * share of failed hosts makes a proxy spread over all of them: it must do what nodes do.
 */
export function renderCluster(backend: Pick<Backend, 'key' | 'policy'>): Buffer {
  return codec('envoy.config.cluster.v3.Cluster').encode({
    name: backend.key,
    type: clusterType.eds,
    eds_cluster_config: { eds_config: { ads: {}, resource_api_version: apiVersion.v3 } },
    connect_timeout: { seconds: 5 },
    common_lb_config: { healthy_panic_threshold: { value: 0 }, locality_weighted_lb_config: {} },
    metadata: toMetadata({ policy: backend.policy }),
  });
}
