import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const markdown = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
  .concat((readdirSync(join(root, 'docs'), { recursive: true }) as string[]).map((f) => `docs/${f}`))
  .concat((readdirSync(join(root, 'examples'), { recursive: true }) as string[]).map((f) => `examples/${f}`))
  .filter((f) => f.endsWith('.md'));

/** `<name> <labels>` of every metric that is made in src. */
function metricsMade(): string[] {
  const sources = (readdirSync(join(root, 'src'), { recursive: true }) as string[])
    .filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'))
    .map((f) => read(`src/${f}`))
    .join('\n');
  const calls = sources.matchAll(/\.(?:counter|gauge|histogram)\(\{\s*name: '([a-z_]+)'([^}]*?)\}/g);
  const made = [...calls].map(([, name, rest]) => {
    const labels = [...(/labels: \[([^\]]*)\]/.exec(rest ?? '')?.[1]?.matchAll(/'(\w+)'/g) ?? [])];
    return `${name} ${labels.map((m) => m[1]).join(', ')}`;
  });
  return [...new Set(made)].sort();
}

test('docs/metrics.md lists exactly the metrics there are, each with the same labels in all roles', () => {
  const rows = read('docs/metrics.md').matchAll(/^\| `causeway_([a-z_]+)` \| ([^|]*)\|/gm);
  const documented = [...rows].map(([, name, labels]) => `${name} ${labels?.replaceAll('`', '').trim()}`);
  expect(documented.sort()).toEqual(metricsMade());
});

test('links between documents lead somewhere', () => {
  const broken = markdown.flatMap((file) =>
    [...read(file).matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g)]
      .map((m) => normalize(join(dirname(file), m[1] as string)))
      .filter((target) => !existsSync(join(root, target)))
      .map((target) => `${file}: ${target}`),
  );
  expect(broken).toEqual([]);
});

/** The ids that titles of tests begin with: `P2`, `dataplane 6`, `design VIP`. */
function idsOfTests(): string[] {
  const files = ['src', 'test'].flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[])
      .filter((f) => f.endsWith('.test.ts'))
      .map((f) => read(`${folder}/${f}`)),
  );
  const titles = files.flatMap((text) => [
    ...text.matchAll(/\(\s*['"`](dataplane \d+|design \w+|[A-Z]\d+) /g),
  ]);
  return [...new Set(titles.map((m) => m[1] as string))].sort();
}

test('docs/tests.md explains exactly the ids that titles of tests begin with', () => {
  const explained = [...read('docs/tests.md').matchAll(/^\| `([^`]+)` \| .{20,} \|$/gm)].map((m) => m[1]);
  expect(idsOfTests().length).toBeGreaterThan(40);
  expect(explained.sort()).toEqual(idsOfTests());
});
