/* The right text of a model that writes: said beside the answer, and of inputs that were kept for a
 * person. */
import { strict as assert } from 'node:assert';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ROOT, ask, fixture, saved, seriousFindings, shoot, shownAnswer, startServer, withPage }
    from './support.mjs';
import { postJson } from './versions.mjs';
import { writer } from '../support/writers.mjs';

const folder = mkdtempSync(join(tmpdir(), 'attnd-right-'));
const MODELS = ['--model', `marian=${writer('marian-0')}`, '--model', `trocr=${writer('trocr-0')}`];
const LOG = 'The die failed the scan test at 3.97 V.';
const HOSTILE = 'Die <b>🔥</b>\n\u202Ex';
const shared = fixture(MODELS);
after(() => rmSync(folder, { recursive: true }));
let folders = 0;

/** A server that keeps what it is sent: two texts and a picture wait there. */
async function keeping(how, body) {
    const server = await startServer([...MODELS, '--state-dir', join(folder, `s${folders++}`),
        '--keep-inputs-bytes', '20000000', '--workers', '1']);
    try {
        for (const id of ['die-1', 'die-2'])
            await keep(server, { model: 'marian', id, text: `${id}: ${LOG}`, num_beams: 1,
                ...id === 'die-2' && { pattern: '[A-Z0-9]{6}', checksum: 'semi-m13' } });
        await keep(server, { model: 'trocr', id: 'mark', image: readFileSync(
            `${ROOT}tests/data/golden/images/0_center.png`).toString('base64') });
        await withPage(shared.tab, server, { path: '#review', ...how }, async (page) => {
            await page.waitForSelector('.review-text >> nth=1');
            await body(page, server);
        });
    } finally {
        await server.stop();
    }
}

/* Inputs are written after their replies, in an order of their own. */
async function keep(server, body) {
    await postJson(server, '/predict', body);
    while (!(await listed(server)).some(({ id }) => id === body.id))
        await new Promise((resolve) => setTimeout(resolve, 20));
}

async function listed(server) {
    return JSON.parse(await ask(server, '/review?limit=100')).inputs;
}

function told(page, at, text) {
    return page.waitForFunction(([id, wanted]) =>
        document.getElementById(id)?.textContent.startsWith(wanted), [`mark-told${at}`, text]);
}

test('the right text of an answer goes to the server, which says what differs', () =>
    shared.open({}, async (page) => {
        await page.selectOption('#model', 'marian');
        await page.fill('#text', LOG);
        await page.click('#send');
        const { output } = await shownAnswer(page);
        assert.equal(await page.inputValue('#mark-text'), output);
        await page.click('text=The text is right');
        await told(page, '', 'Sent to the server: it is what was written.');
        await page.fill('#mark-text', `${output}${HOSTILE}`);
        await page.click('text=Send the right text');
        await told(page, '', `Sent to the server: ${[...HOSTILE].length} characters differ.`);
        assert.deepEqual(await seriousFindings(page), []);
        await shoot(page, 'right-text');
        await page.click('#tab-history');
        const row = page.locator('#labels-rows tbody tr');
        assert.equal(await row.locator('td').nth(0).textContent(), output);
        assert.equal(await page.locator('#labels-rows b').count(), 0);
        const { text } = await saved(page, () => page.click('text=Download JSONL'));
        const mark = JSON.parse(text.trimEnd());
        assert.deepEqual([mark.output, mark.predicted, mark.label, mark.sent],
            [output + HOSTILE, output, undefined, true]);
    }));

test('kept texts are listed with what was written and why, and get their right text', () =>
    keeping({}, async (page, server) => {
        assert.equal(await page.textContent('#review-state'), '2 texts without a right one, 0 with one.');
        const [none, some] = await listed(server).then((all) =>
            all.filter(({ model }) => model.name === 'marian'));
        const rows = page.locator('.review-text');
        assert.match(await rows.nth(0).textContent(),
            /^die-2: The die.*No text obeys the rules; rejected: .{6}Review.*No text was found.*die-2/s);
        assert.match(await rows.nth(1).textContent(), /^die-1: .*Review confidence .* %.*not calibrated/s);
        assert.equal(await page.inputValue('#mark-text-review-0'), none.rejected);
        assert.equal(await page.inputValue('#mark-text-review-1'), some.output);
        assert.equal(await rows.nth(0).locator('text=The text is right').count(), 0);
        assert.deepEqual(await seriousFindings(page), []);
        await shoot(page, 'review-written');
        await rows.nth(1).locator('text=The text is right').click();
        await told(page, '-review-1', 'Sent: it is what was written.');
        await page.fill('#mark-text-review-0', HOSTILE);
        await rows.nth(0).locator('text=Send the right text').click();
        await told(page, '-review-0', `Sent: ${[...HOSTILE].length} characters differ.`);
        assert.deepEqual((await listed(server)).map((one) => one.right_output),
            [undefined, HOSTILE, some.output]);
        await page.click('text=Take the last back');
        await page.waitForFunction(() => document.getElementById('review-state').textContent ===
            '1 text without a right one, 1 with one.');
        assert.equal(await page.locator('.review-text').count(), 1);
        assert.match(await page.textContent('#review-told'), /is taken back from 1 input/);
    }));

test('a kept picture is shown beside what was read on it, and a text that is too long is refused', () =>
    keeping({ expected: [/Failed to load resource/] }, async (page) => {
        await page.selectOption('#review-model', 'trocr');
        await page.waitForFunction(() =>
            document.querySelector('.review-text img')?.naturalWidth > 0);
        assert.equal(await page.locator('.review-text').count(), 1);
        await page.fill('#mark-text-review-0', 'x'.repeat(4097));
        await page.click('text=Send the right text');
        await told(page, '-review-0', 'Not taken: $.output: at most 4096 bytes, found 4097.');
        await page.selectOption('#review-decision', 'unknown');
        await page.waitForFunction(() => document.getElementById('review-state').textContent ===
            'Nothing waits for a right text.');
    }));
