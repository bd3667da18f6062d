import { hash } from 'node:crypto';
import type { ExportTarget } from '../../model/relay/export-policy.ts';
import { contentVersion } from '../xds/resource-log.ts';

/**
 * Towards relays a version covers the export policy as well, which rides beside the content: a relay that comes back
 * must not go on with an older policy.
 */
export function policyVersion(body: Uint8Array, policy: readonly ExportTarget[]): string {
  return `${contentVersion(body)}.${hash('sha256', JSON.stringify(policy), 'base64url').slice(0, 8)}`;
}
