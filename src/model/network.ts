/**
 * The network of a cluster, by what its configuration or identity says. All clusters that say none are in one
 * together: who names no networks has only one.
 */
export function networkOf(said: string): string {
  return said || 'default';
}
