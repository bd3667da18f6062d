import { hash } from 'node:crypto';
import type { ExportTarget } from '../../model/relay/export-policy.ts';
import { contentVersion } from '../xds/resource-log.ts';

/**
 * Towards relays a version covers the export policy as well, which rides beside the content: a relay that comes back
 * must not go on with an older policy.
 */
export function policyVersion(body: Uint8Array, policy: readonly ExportTarget[]): string {
  const ofPolicy = hash('sha256', JSON.stringify(policy), 'buffer').toString('base64url', 0, 6);
  // One text: a joined one holds its parts as well, for as long as it is there.
  return Buffer.from(`${contentVersion(body)}.${ofPolicy}`, 'latin1').toString('latin1');
}
