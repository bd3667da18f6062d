import { decodeDeltaResponse } from '../../wire/proto/discovery.ts';
import { describeMessage } from '../../wire/proto/registry.ts';
import { typeUrls } from '../../wire/proto/type-urls.ts';
import type { Rendered } from './render.ts';
import type { ResourceLog } from './resource-log.ts';

/** Resources by the last word of their type, then by name, as people read them. null: withheld. */
export type Described = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const order = [typeUrls.listener, typeUrls.cluster, typeUrls.assignment, typeUrls.originStatus];

export function describeResources(resources: readonly Rendered[]): Described {
  const described: Record<string, Record<string, unknown>> = {};
  for (const typeUrl of order) {
    const ofType = resources.filter((r) => r.typeUrl === typeUrl).sort((a, b) => (a.name < b.name ? -1 : 1));
    if (ofType.length === 0) continue;
    const entries = ofType.map(({ name, body }) => [name, body ? describeMessage(typeUrl, body) : null]);
    described[typeUrl.slice(typeUrl.lastIndexOf('.') + 1)] = Object.fromEntries(entries);
  }
  return described;
}

/** Everything a log serves. */
export function describeLog(log: ResourceLog): Described {
  const resources = order.flatMap((typeUrl) =>
    [...log.since(typeUrl, 0)]
      .filter((entry) => entry.state !== 'removed')
      .map(({ name, state, fragment }) => {
        const [resource] = decodeDeltaResponse(fragment).resources;
        return { typeUrl, name, body: state === 'set' && resource ? Buffer.from(resource.body) : undefined };
      }),
  );
  return describeResources(resources);
}
