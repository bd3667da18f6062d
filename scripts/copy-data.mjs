// What the build needs beside compiled code: data that the program reads at run time.
import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const data = ['wire/proto/descriptors.json'];
for (const file of data) cpSync(join(root, 'src', file), join(root, 'dist', file));
