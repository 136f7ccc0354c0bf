/* Checkpoints of models that write, each put together from two folders of tests/data: golden/ has
 * the network, recoding/ the tokenizer. */
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { ROOT } from './server.mjs';

/**
 * @param {string} name  "marian-0"
 * @returns {string} a directory that is gone when the tests of the file have ended
 */
export function writer(name) {
    const folder = mkdtempSync(join(tmpdir(), 'attnd-writer-'));
    after(() => rmSync(folder, { recursive: true }));
    for (const room of ['golden', 'recoding']) {
        const from = join(ROOT, 'tests/data', room, name);
        for (const file of readdirSync(from))
            if (!existsSync(join(folder, file)))
                symlinkSync(join(from, file), join(folder, file));
    }
    return folder;
}
