import { apiVersionOf } from '../../api/kind.ts';
import { kinds } from '../../api/kinds.ts';
import { conditionsOf } from '../conditions.ts';
import type { Problem } from '../problem.ts';
import type { Reader, Unit } from '../reader.ts';
import { attachment, type ParentAttachment, readRoute } from './attachment.ts';
import { carrying } from './carriers.ts';
import type { StatusResult } from './gateway-class.ts';
import { refOf } from './object-key.ts';
import { routeTargets } from './route-targets.ts';

/** By the route's unit key: one entry for each parent that is ours. */
export const routeStatus: Unit<StatusResult | undefined> = {
  name: 'routeStatus',
  compute: (reader, unitKey) => {
    const found = readRoute(reader, unitKey);
    if (!found) return undefined;
    const { kind, route } = found;
    const ref = refOf(kind, route.metadata);
    const attachments = reader.unit(attachment, unitKey);
    const ours = attachments.filter((parent) => parent.ours);
    const notes = attachments.flatMap(({ problems }) => problems);
    if (ours.length === 0) return { status: undefined, problems: notes };
    const refs = reader.unit(routeTargets, unitKey).problems;
    const younger = ours.flatMap((parent) => youngerProblems(reader, unitKey, parent));
    const { generation } = route.metadata;
    const parents = ours.map((parent) => ({
      parentRef: parent.parentRef,
      controllerName: reader.config.controllerName,
      conditions: conditionsOf(
        generation,
        [
          { type: 'Accepted', status: 'True', reason: 'Accepted' },
          { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs' },
        ],
        [...parent.problems, ...youngerProblems(reader, unitKey, parent), ...refs],
      ),
    }));
    return {
      status: { ref, apiVersion: apiVersionOf(kinds[kind]), generation, status: { parents } },
      problems: [...notes, ...younger, ...refs],
    };
  },
};

/** On an L4 listener only the oldest route carries traffic; the others are told which one. */
function youngerProblems(
  reader: Reader,
  unitKey: string,
  { gateway, listeners, path }: ParentAttachment,
): readonly Problem[] {
  if (gateway === undefined) return [];
  const found = readRoute(reader, unitKey);
  if (!found) return [];
  const carriers = reader.unit(carrying, gateway);
  return listeners.flatMap((listener) => {
    const carrier = carriers.get(listener);
    if (carrier === undefined || carrier === unitKey) return [];
    return [
      {
        code: 'OlderRouteCarries' as const,
        ref: refOf(found.kind, found.route.metadata),
        path,
        message: `listener "${listener}" of Gateway ${gateway} is carried by the older ${carrier.replace('/', ' ')}; this route takes no traffic there`,
      },
    ];
  });
}
