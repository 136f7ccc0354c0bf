/* Versions of a small model for the Models view's tests: copies of one checkpoint whose attnd.json
 * says which version it is, and whose labels may be others.
 *
 *     const registry = makeRegistry({ v1: { version: '1' }, v2: { version: '2', labels: [...] } });
 *     const options = [...registry.options];
 *     registry.remove();
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, ask } from './support.mjs';

const MODEL = `${ROOT}tests/data/golden/bert-3`;

/* The number of labels that a promotion needs here. */
const LABELS_LEAST = 2;

export const LABELS = Object.values(
    JSON.parse(readFileSync(`${MODEL}/config.json`, 'utf8')).id2label);

function copyModel(folder, { version, labels = LABELS }) {
    const path = join(folder, 'config.json');
    cpSync(MODEL, folder, { recursive: true });
    const config = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...config,
        id2label: Object.fromEntries(labels.map((label, i) => [i, label])),
        label2id: Object.fromEntries(labels.map((label, i) => [label, i])) }));
    writeFileSync(join(folder, 'attnd.json'), JSON.stringify({ version }));
}

/**
 * @param {Object<string, {version: string, labels?: string[]}>} models  by directory; the first is
 *     served as "text", each may be loaded
 */
export function makeRegistry(models) {
    const folder = mkdtempSync(join(tmpdir(), 'attnd-versions-'));
    for (const [dir, model] of Object.entries(models))
        copyModel(join(folder, dir), model);
    return { folder, remove: () => rmSync(folder, { recursive: true }),
        options: ['--model', `text=${join(folder, Object.keys(models)[0])}`, '--models-root', folder,
            '--promote-min-feedback', String(LABELS_LEAST), '--workers', '1',
            '--threads-per-worker', '1'] };
}

export function postJson(server, path, body) {
    return ask(server, path, { method: 'POST', body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json' } }).then(JSON.parse);
}

/** The answer of /models about a version. */
export async function versionOf(server, version) {
    const { versions } = JSON.parse(await ask(server, '/models/text'));
    return versions.find((one) => one.version === version);
}
