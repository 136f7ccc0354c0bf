/* The Search view: a map or a log, and the past cases that are nearest to it. */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { MODELS, ROOT, drop, fixture, seriousFindings, shoot, withPage, startServer }
    from './support.mjs';
import { BUILD } from '../support/server.mjs';
import { PATTERNS, waferPng } from './wafers.mjs';

const KINDS = Object.keys(PATTERNS);

const folder = mkdtempSync(join(tmpdir(), 'attnd-search-'));
const CASES = [['panic', 'Kernel panic - not syncing: VFS: Unable to mount root fs'],
    ['<b>lock</b>', 'BUG: soft lockup - CPU#1 stuck for 22s'],
    ['null', 'BUG: unable to handle kernel NULL pointer dereference']];

function indexOf(model, data) {
    const out = join(folder, `${model}.index`);
    execFileSync(`${ROOT}${BUILD}/attnd-index`, ['build', '--model', model, '--data', data, '--out',
        out], { cwd: ROOT });
    return out;
}

function logs() {
    const list = join(folder, 'logs.jsonl');
    writeFileSync(list, CASES.map(([label, text]) => JSON.stringify({ text, label })).join('\n'));
    return indexOf('kernel-bert', list);
}

function maps() {
    const list = join(folder, 'maps.csv');
    for (const kind of KINDS)
        writeFileSync(join(folder, `${kind}.png`), waferPng(kind));
    writeFileSync(list, ['image,label,id', ...KINDS.map((kind) => `${kind}.png,${kind},die-${kind}`)]
        .join('\n'));
    return indexOf('wafer-vit', list);
}

const shared = fixture(['--model', `wafer-vit=models/wafer-vit,index=${maps()}`,
    '--model', `kernel-bert=models/kernel-bert,index=${logs()}`,
    '--model', 'testlog-bert=models/testlog-bert']);
after(() => rmSync(folder, { recursive: true }));

async function nearest(page) {
    await page.waitForSelector('#neighbours');
    await page.waitForSelector('#search-result:not([aria-busy])');
    return page.locator('#neighbours tbody tr').evaluateAll((rows) =>
        rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

test('a pasted log finds the nearest cases with their labels', () =>
    shared.open({ path: '#search' }, async (page) => {
        await page.fill('#search-text', CASES[1][1]);
        await page.click('#search-send');
        const rows = await nearest(page);
        assert.equal(rows.length, CASES.length);
        assert.deepEqual(rows[0].slice(0, 3), ['<b>lock</b>', '1.0000', 'logs.jsonl:2']);
        assert.match(await page.textContent('#announce'), /^3 cases near to text/);
        assert.deepEqual(await seriousFindings(page), []);
        await shoot(page, 'search');
    }));

test('a map that is dropped is searched for, and nothing is predicted', () =>
    shared.open({ path: '#search' }, async (page) => {
        const bytes = waferPng(KINDS[0]);
        await drop(page, '#search-drop', [{ name: 'a.png', type: 'image/png', bytes }]);
        const rows = await nearest(page);
        assert.equal(rows[0][0], KINDS[0]);
        assert.equal(rows[0][2], `die-${KINDS[0]}`);
        assert.equal(await page.locator('#json').count(), 0);
        await page.selectOption('#search-count', '10');
        await page.waitForSelector('#search-result:not([aria-busy])');
        assert.equal((await nearest(page)).length, Math.min(10, KINDS.length));
    }));

test('only models with an index can be chosen', () => shared.open({ path: '#search' },
    async (page) => {
        assert.deepEqual(await page.locator('#search-model option').allTextContents(),
            ['First that has cases', `wafer-vit (${KINDS.length} cases)`, 'kernel-bert (3 cases)']);
        assert.equal(await page.textContent('#search-none'), '');
    }));

test('without an index the view says how to make one', async () => {
    const server = await startServer(MODELS);
    try {
        await withPage(shared.tab, server, { path: '#search', expected: [/422/] }, async (page) => {
            assert.match(await page.textContent('#search-none'), /attnd-index build makes one/);
            await page.fill('#search-text', 'BUG');
            await page.click('#search-send');
            await page.waitForSelector('#search-result .problem');
            assert.match(await page.textContent('#search-result .detail'), /has no index/);
        });
    } finally {
        assert.equal(await server.stop(), 0);
    }
});
