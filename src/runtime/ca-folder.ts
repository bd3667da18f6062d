import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type IssueOptions, issue, type KeyPair, makeCa } from './certificates.ts';
import { AppError, messageOf } from './errors.ts';
import { parseCaSet } from './identity.ts';
import type { TlsFiles } from './tls-files.ts';

/** `DIR/ca.crt` and `DIR/ca.key` (mode 0600): the certificate authority of one set of clusters. */
export class CaFolder {
  readonly set: string;
  /** PEM. */
  readonly certificate: string;
  readonly #ca: KeyPair;

  constructor(ca: KeyPair) {
    this.#ca = ca;
    this.certificate = ca.certificate;
    this.set = parseCaSet(new X509Certificate(ca.certificate).raw);
  }

  /** Makes the folder and the CA where there is none; `made` says which. Throws E_USAGE if it is another set's. */
  static async init(dir: string, set: string, now: number): Promise<{ ca: CaFolder; made: boolean }> {
    if (existsSync(join(dir, 'ca.crt'))) {
      const ca = CaFolder.open(dir);
      if (ca.set === set) return { ca, made: false };
      throw new AppError('E_USAGE', `${dir} holds the CA of set ${ca.set}, expected none or that of ${set}`);
    }
    const pair = await makeCa({ set, now });
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    write(join(dir, 'ca.key'), pair.key, 0o600);
    write(join(dir, 'ca.crt'), pair.certificate, 0o644);
    return { ca: new CaFolder(pair), made: true };
  }

  /** Throws E_TLS_LOAD. */
  static open(dir: string): CaFolder {
    try {
      return new CaFolder({
        certificate: readFileSync(join(dir, 'ca.crt'), 'utf8'),
        key: readFileSync(join(dir, 'ca.key'), 'utf8'),
      });
    } catch (cause) {
      throw new AppError('E_TLS_LOAD', `cannot use the CA in ${dir}: ${messageOf(cause)}`, { cause });
    }
  }

  /**
   * Writes `tls.crt`, `tls.key` (mode 0600) and `ca.crt` into `out`, each replaced whole, so that a running role
   * can follow them.
   */
  async issueInto(out: string, identity: Omit<IssueOptions, 'ca' | 'set'>): Promise<TlsFiles> {
    const pair = await issue({ ...identity, ca: this.#ca, set: this.set });
    mkdirSync(out, { recursive: true });
    const files = { cert: join(out, 'tls.crt'), key: join(out, 'tls.key'), ca: join(out, 'ca.crt') };
    write(files.key, pair.key, 0o600);
    write(files.cert, pair.certificate, 0o644);
    write(files.ca, this.certificate, 0o644);
    return files;
  }
}

function write(path: string, text: string, mode: number): void {
  try {
    writeFileSync(`${path}.new`, text, { mode });
    renameSync(`${path}.new`, path);
  } catch (cause) {
    throw new AppError('E_STATE_WRITE', `cannot write ${path}: ${messageOf(cause)}`, { cause });
  }
}
