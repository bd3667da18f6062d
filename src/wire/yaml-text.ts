import { Document, visit } from 'yaml';

const shortLine = 72;

/** YAML of plain data as people read it: what is small and not deep on one line, nothing folded, no anchors. */
export function yamlText(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Collection(key, node) {
      if (key === null) return;
      const plain: unknown = node.toJSON();
      if (depth(plain) <= 2 && JSON.stringify(plain).length <= shortLine) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function depth(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((deepest, item) => Math.max(deepest, depth(item)), 0);
}
