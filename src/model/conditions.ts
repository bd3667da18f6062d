import type { Problem } from './problem.ts';

type Status = 'True' | 'False' | 'Unknown';

interface Mapping {
  readonly type: string;
  readonly status: Status;
  readonly reason: string;
}

/**
 * Every problem code and the condition it leads to, strongest first: where several problems meet in one
 * condition, the first of this table gives status and reason, and all give their messages. `null`: a note, seen
 * in `explain` and the list of problems only. docs/errors.md has a section for each.
 */
export const problemCodes = {
  // GatewayClass, Gateway
  ParametersInvalid: { type: 'Accepted', status: 'False', reason: 'InvalidParameters' },
  AddressUnsupported: { type: 'Accepted', status: 'False', reason: 'UnsupportedAddress' },
  NoListenerValid: { type: 'Accepted', status: 'False', reason: 'ListenersNotValid' },
  SomeListenersInvalid: { type: 'Accepted', status: 'True', reason: 'ListenersNotValid' },
  GatewayInvalid: { type: 'Programmed', status: 'False', reason: 'Invalid' },
  AddressNotUsable: { type: 'Programmed', status: 'False', reason: 'AddressNotUsable' },
  AddressNotAssigned: { type: 'Programmed', status: 'False', reason: 'AddressNotAssigned' },
  DataPlaneBypassed: { type: 'Programmed', status: 'False', reason: 'DataPlaneBypassed' },
  ProgrammingPending: { type: 'Programmed', status: 'False', reason: 'Pending' },
  NameNotALabel: { type: 'causeway.dev/NameAssigned', status: 'False', reason: 'NotADNSLabel' },
  // Listeners
  ListenerProtocolConflict: { type: 'Conflicted', status: 'True', reason: 'ProtocolConflict' },
  ListenerHostnameConflict: { type: 'Conflicted', status: 'True', reason: 'HostnameConflict' },
  ListenerProtocolUnsupported: { type: 'Accepted', status: 'False', reason: 'UnsupportedProtocol' },
  RouteKindInvalid: { type: 'ResolvedRefs', status: 'False', reason: 'InvalidRouteKinds' },
  // Routes
  ParentNotFound: null,
  ParentKindUnsupported: { type: 'Accepted', status: 'False', reason: 'UnsupportedValue' },
  ListenerNotFound: { type: 'Accepted', status: 'False', reason: 'NoMatchingParent' },
  NotAllowedByListeners: { type: 'Accepted', status: 'False', reason: 'NotAllowedByListeners' },
  OlderRouteCarries: { type: 'Accepted', status: 'True', reason: 'Accepted' },
  RefNotPermitted: { type: 'ResolvedRefs', status: 'False', reason: 'RefNotPermitted' },
  BackendKindInvalid: { type: 'ResolvedRefs', status: 'False', reason: 'InvalidKind' },
  BackendNotFound: { type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound' },
  BackendPortNotFound: { type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound' },
  BackendProtocolMismatch: { type: 'ResolvedRefs', status: 'False', reason: 'UnsupportedProtocol' },
  BackendPortInvalid: { type: 'ResolvedRefs', status: 'False', reason: 'UnsupportedValue' },
  BackendNotAccepted: { type: 'ResolvedRefs', status: 'False', reason: 'UnsupportedValue' },
  // Back ends
  SelectorEmpty: { type: 'Accepted', status: 'False', reason: 'UnsupportedValue' },
  BackendTypeUnsupported: { type: 'Accepted', status: 'False', reason: 'UnsupportedValue' },
  PolicyUnsupported: { type: 'Accepted', status: 'False', reason: 'UnsupportedValue' },
  TargetPortNotAllowed: { type: 'ResolvedRefs', status: 'False', reason: 'UnsupportedValue' },
  PeerUnsupported: { type: 'ResolvedRefs', status: 'False', reason: 'UnsupportedValue' },
  PortNotOffered: { type: 'Conflicted', status: 'True', reason: 'PortConflict' },
  NoPortDeclared: { type: 'Accepted', status: 'True', reason: 'Accepted' },
  // The cluster
  ClusterPropertyDiffers: null,
  // The program
  Internal: null,
} as const satisfies Record<string, Mapping | null>;

export type ProblemCode = keyof typeof problemCodes;

const order = Object.keys(problemCodes);
const strength = ({ code }: Problem): number => order.indexOf(code);

/** Without lastTransitionTime, which the output that writes it adds. */
export interface Condition {
  readonly type: string;
  readonly status: Status;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

export interface DefaultCondition extends Mapping {
  readonly message?: string;
}

/** What a message of a condition may grow to: the rest is counted. */
const maxMessages = 8;

/**
 * The conditions of an object: each default holds unless a problem says otherwise. A problem whose condition is
 * not among the defaults has no place on this object.
 */
export function conditionsOf(
  generation: number,
  defaults: readonly DefaultCondition[],
  problems: readonly Problem[],
): readonly Condition[] {
  return defaults.map(({ message, ...fallback }) => {
    const own = problems
      .filter(({ code }) => problemCodes[code]?.type === fallback.type)
      .sort((a, b) => strength(a) - strength(b));
    const strongest = own[0];
    const mapping = strongest ? problemCodes[strongest.code] : null;
    return {
      ...(mapping ?? fallback),
      message: own.length === 0 ? (message ?? '') : joinMessages(own),
      observedGeneration: generation,
    };
  });
}

function joinMessages(problems: readonly Problem[]): string {
  const messages = [...new Set(problems.map(({ message }) => message))];
  const shown = messages.slice(0, maxMessages).join('; ');
  return messages.length > maxMessages ? `${shown}; and ${messages.length - maxMessages} more` : shown;
}
