import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CaFolder } from '../runtime/ca-folder.ts';
import { readTexts } from '../runtime/followed-file.ts';
import { parseRevokedFile } from '../runtime/revocations.ts';
import { commandFolder } from './command-folder-bed.ts';
import { type RelayRevokeOptions, runRelayRevoke } from './relay-revoke.ts';

const bed = commandFolder();

const members = (text: string): string => {
  writeFileSync(join(bed.dir, 'members.yaml'), text, { mode: 0o644 });
  return join(bed.dir, 'members.yaml');
};
const revoke = (file: string, over: Partial<RelayRevokeOptions>): Promise<number> =>
  runRelayRevoke({ members: file, serials: [], certificates: [], reason: '', ...over });

test('certificates are added by number and by file; the rest stays as it is, comments included', async () => {
  const { ca } = await CaFolder.init(join(bed.dir, 'ca'), 'demo', Date.now());
  const identity = {
    cluster: 'west',
    role: 'dns',
    labels: {},
    namespaces: [],
    region: '',
    network: '',
  } as const;
  const { cert } = await ca.issueInto(join(bed.dir, 'west'), { ...identity, now: Date.now(), ttl: 60_000 });
  const file = members('members: # ours\n- cluster: east\n- cluster: west # see the wiki\n');
  await revoke(file, { serials: ['41:23:4E:12'], reason: 'lost: 1' });
  await revoke(file, { certificates: [cert], serials: ['0x41234e12'] });
  const serial = new X509Certificate(readFileSync(cert)).serialNumber.toLowerCase();
  const text = readFileSync(file, 'utf8');
  expect(text).toContain('# ours\n');
  expect(text).toContain('# see the wiki');
  expect(parseRevokedFile(readTexts(text))).toEqual([{ serial: '41234e12' }, { serial }]);
  expect(text).toContain('lost: 1');
  expect(statSync(file).mode & 0o777).toBe(0o644);
  expect(bed.printed.trim().split('\n')).toEqual([
    `41234e12 is revoked in ${file}`,
    `41234e12 was revoked already in ${file}`,
    `${serial} is revoked in ${file}`,
  ]);
});

test('what cannot be used is named, and nothing is written', async () => {
  const file = members('members: []\nrevoked: [{cluster: A}]\n');
  await expect(revoke(file, { serials: ['1'] })).rejects.toThrow('revoked[0].cluster: expected a DNS label');
  await expect(revoke(file, {})).rejects.toThrow('expected --serial or --certificate, found none');
  await expect(revoke(file, { certificates: [file] })).rejects.toMatchObject({ code: 'E_TLS_LOAD' });
  await expect(revoke(join(bed.dir, 'none'), { serials: ['1'] })).rejects.toMatchObject({
    code: 'E_FILE_READ',
  });
  expect(readFileSync(file, 'utf8')).toBe('members: []\nrevoked: [{cluster: A}]\n');
});
