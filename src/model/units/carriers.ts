import type { Unit } from '../reader.ts';
import { attachment, type RouteKindName, routeKinds, routeUnitKey } from './attachment.ts';
import { byAge, keyOf } from './object-key.ts';

/** Listener → unit keys of the routes attached to it, oldest first: the first carries the traffic. */
export type Carriers = ReadonlyMap<string, readonly string[]>;

/** By the Gateway's key. */
export const carriers: Unit<Carriers> = {
  name: 'carriers',
  compute: (reader, gateway) => {
    const attached = new Map<string, string[]>();
    const routes = routeKinds
      .flatMap((kind) =>
        reader.list(kind, 'gateway', gateway).map((route) => ({ kind: kind as RouteKindName, route })),
      )
      .sort((a, b) => byAge(a.route.metadata, b.route.metadata));
    for (const { kind, route } of routes) {
      const unitKey = routeUnitKey(kind, keyOf(route.metadata));
      const listeners = reader
        .unit(attachment, unitKey)
        .flatMap((parent) => (parent.gateway === gateway ? parent.listeners : []));
      for (const listener of new Set(listeners)) {
        const before = attached.get(listener);
        if (before) before.push(unitKey);
        else attached.set(listener, [unitKey]);
      }
    }
    return attached;
  },
};

/** Listener → the route that carries its traffic, by the Gateway's key. */
export const carrying: Unit<ReadonlyMap<string, string>> = {
  name: 'carrying',
  compute: (reader, gateway) => {
    const first = new Map<string, string>();
    for (const [listener, [route]] of reader.unit(carriers, gateway)) if (route) first.set(listener, route);
    return first;
  },
};
