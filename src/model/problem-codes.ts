export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** What a condition says. */
export interface ConditionMapping {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
}

/**
 * Every problem code and the condition it leads to, strongest first: where several problems meet in one
 * condition, the first of this table gives status and reason, and all give their messages. `null`: a note, seen
 * in `/debug/problems` and `causeway compile` only. docs/errors.md has a section for each.
 */
export const problemCodes = {
  // GatewayClass, Gateway
  ParametersInvalid: { type: 'Accepted', status: 'False', reason: 'InvalidParameters' },
  AddressUnsupported: { type: 'Accepted', status: 'False', reason: 'UnsupportedAddress' },
  ClassNotFound: null,
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
  NoWeight: { type: 'Accepted', status: 'True', reason: 'Accepted' },
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
  SelectsNothing: { type: 'Accepted', status: 'True', reason: 'Accepted' },
  BackendTypeUnsupported: { type: 'Accepted', status: 'False', reason: 'UnsupportedValue' },
  PolicyUnsupported: { type: 'Accepted', status: 'False', reason: 'UnsupportedValue' },
  TargetPortNotAllowed: { type: 'ResolvedRefs', status: 'False', reason: 'UnsupportedValue' },
  PortNotOffered: { type: 'Conflicted', status: 'True', reason: 'PortConflict' },
  NoPortDeclared: { type: 'Accepted', status: 'True', reason: 'Accepted' },
  // The cluster
  ClusterPropertyDiffers: null,
  // The program
  Internal: null,
} as const satisfies Record<string, ConditionMapping | null>;

export type ProblemCode = keyof typeof problemCodes;
