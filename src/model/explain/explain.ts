import { nearest } from '../../api/nearest.ts';
import { canonicalAddress } from '../../wire/address.ts';
import type { Model } from '../model.ts';
import type { Reader, Unit } from '../reader.ts';
import { parseKey, refOf } from '../units/object-key.ts';
import type { Cause, Explanation, FrontendExplanation, OfferExplanation } from './explanation.ts';
import { frontendExplanation } from './frontend-explanation.ts';
import { offerExplanation } from './offer-explanation.ts';

/**
 * Why `asked` leads where it leads. It is a DNS name, `<namespace>/<gateway>`, `<gateway>.<namespace>`, or a virtual
 * address. Where no Gateway is called so, `<namespace>/<composite>` is what this cluster contributes to it. Reads what
 * the model holds and changes nothing.
 */
export function explain(model: Model, asked: string): Explanation {
  const { cluster, zone } = model.config;
  const found = model.ask(gatewayOf, asked.trim().toLowerCase());
  const frontend = found === undefined ? undefined : model.ask(frontendExplanation, found);
  if (!frontend) {
    const offer = found === undefined ? undefined : model.ask(offerExplanation, found);
    if (offer && asked.includes('/')) {
      const causes = offerCauses(offer);
      return { asked, cluster, works: causes.every(({ stops }) => !stops), causes, offer };
    }
    const cause = notFound(model, asked, found, zone);
    const next = offer ? `causeway explain ${found} says what ${cluster} contributes to it` : cause.next;
    return { asked, cluster, works: false, causes: [{ ...cause, next }] };
  }
  const causes = causesOf(frontend);
  return { asked, cluster, works: causes.every(({ stops }) => !stops), causes, frontend };
}

/** From the name down; what stops comes before what is worth knowing. Each once. */
function causesOf({ causes, ports }: FrontendExplanation): readonly Cause[] {
  return inOrder([
    ...causes,
    ...ports.flatMap((port) => [
      ...port.causes,
      ...port.backends.flatMap((backend) => [
        ...backend.causes,
        ...backend.clusters.flatMap((cluster) => cluster.causes),
      ]),
    ]),
  ]);
}

const offerCauses = ({ causes, ports }: OfferExplanation): readonly Cause[] =>
  inOrder([...causes, ...ports.flatMap(({ own }) => own.causes)]);

function inOrder(all: readonly Cause[]): readonly Cause[] {
  const distinct = [...new Map(all.map((cause) => [JSON.stringify(cause), cause])).values()];
  return [...distinct.filter(({ stops }) => stops), ...distinct.filter(({ stops }) => !stops)];
}

/** The Gateway's key. Undefined: that is no name of ours, or an address that nobody holds. */
const gatewayOf: Unit<string | undefined> = {
  name: 'gatewayOf',
  compute: (reader, asked) => {
    const address = canonicalAddress(asked);
    if (address !== undefined) return holderOf(reader, address);
    if (asked.includes('/')) return asked;
    const name = asked.replace(/\.$/, '');
    const suffix = `.${reader.config.zone}`;
    const short = name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
    const dot = short.lastIndexOf('.');
    return dot < 0 ? undefined : `${short.slice(dot + 1)}/${short.slice(0, dot)}`;
  },
};

function holderOf(reader: Reader, address: string): string | undefined {
  const [claim] = reader.list('Claim', 'address', address).filter(({ state }) => state === 'bound');
  return claim && `${claim.gateway.namespace}/${claim.gateway.name}`;
}

function notFound(model: Model, asked: string, key: string | undefined, zone: string): Cause {
  const about = { stops: true, reason: 'NotFound', ref: refOf('Gateway', parseKey(key ?? asked)), field: '' };
  if (canonicalAddress(asked) !== undefined) {
    return {
      ...about,
      message: `no Gateway of this cluster holds the address ${asked}`,
      next: 'causeway get frontends lists the addresses',
    };
  }
  if (key === undefined) {
    return {
      ...about,
      message: `expected <gateway>.<namespace>.${zone}, <namespace>/<gateway> or an address, found ${JSON.stringify(asked)}`,
      next: 'causeway get frontends lists the names',
    };
  }
  const near = nearest(key, gatewaysOf(model));
  return {
    ...about,
    message: `Gateway ${key} does not exist in cluster ${model.config.cluster}`,
    next: near === undefined ? 'causeway get frontends lists what there is' : `did you mean ${near}?`,
  };
}

function gatewaysOf({ compiled }: Model): readonly string[] {
  return [...compiled.statuses.values()].flatMap(({ ref }) =>
    ref.kind === 'Gateway' ? [`${ref.namespace}/${ref.name}`] : [],
  );
}
