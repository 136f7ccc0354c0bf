/* The inputs and answers of this tab can be saved as files and printed. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { drop, fixture, saved, shoot, shownAnswer } from './support.mjs';
import { waferPng } from './wafers.mjs';

const shared = fixture();
const WAFER = { name: 'ring.png', type: 'image/png', bytes: waferPng('edge_ring') };

function rowsOf(page, id) {
    return page.locator(`#${id} tbody tr`).evaluateAll((rows) =>
        rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

test('every answer of the tab is in its history, and in its files', () =>
    shared.open({}, async (page) => {
        await drop(page, '#drop', [WAFER]);
        const one = await shownAnswer(page);
        await page.fill('#text', 'kernel panic in lot SECRET-42');
        await page.click('#send');
        await page.waitForSelector('#words');
        const two = await shownAnswer(page);
        await drop(page, '#drop', [{ ...WAFER, name: '=cmd|x!A0.png' },
            { ...WAFER, name: 'b, "c".png' }]);
        await page.waitForSelector('#batch-status:has-text("2 of 2")');
        await page.click('#batch-rows button >> nth=0');
        await shownAnswer(page);
        await page.click('#tab-history');
        await page.waitForFunction(() =>
            document.querySelectorAll('#history-rows tbody tr').length === 4);
        const rows = await rowsOf(page, 'history-rows');
        assert.deepEqual(rows.map((row) => row[1]), ['b, "c".png', '=cmd|x!A0.png',
            'text, 29 characters', 'ring.png']);
        const json = await saved(page, () => page.click('#history button:has-text("JSON")'));
        const entries = JSON.parse(json.text);
        assert.deepEqual(entries.slice(0, 2).map(({ id, score }) => [id, score]),
            [[one.id, one.score], [two.id, two.score]]);
        assert.doesNotMatch(json.text, /SECRET|relevance/);
        const csv = await saved(page, () => page.click('#history button:has-text("CSV")'));
        const lines = csv.text.split('\r\n');
        assert.equal(lines.length, 6);
        assert.match(lines[3], /,'=cmd\|x!A0\.png,/);
        assert.match(lines[4], /,"b, ""c""\.png",/);
        await shoot(page, 'history');
    }));

test('one answer can be saved too', () => shared.open({}, async (page) => {
    await drop(page, '#drop', [WAFER]);
    const answer = await shownAnswer(page);
    const { name, text } = await saved(page, () => page.click('#result button:has-text("CSV")'));
    assert.equal(name, 'attnd-result.csv');
    assert.ok(text.includes(answer.id));
}));

test('on paper there are results and no controls, dark on white', () =>
    shared.open({ colorScheme: 'dark' }, async (page) => {
        await page.evaluate(() => {
            window.printed = 0;
            window.print = () => window.printed++;
        });
        await page.fill('#text', 'kernel panic '.repeat(300));
        await page.click('#send');
        await shownAnswer(page);
        await page.click('#result button:has-text("Print")');
        assert.equal(await page.evaluate(() => window.printed), 1);
        await page.emulateMedia({ media: 'print' });
        for (const hidden of ['.bar', '.input', '.save', '.mark', '.request'])
            assert.ok(await page.isHidden(hidden), hidden);
        for (const seen of ['#label', '#reason', '.classes table', '#words'])
            assert.ok(await page.isVisible(seen), seen);
        const { ground, whole } = await page.evaluate(() => {
            const words = document.getElementById('words');
            return { whole: words.scrollHeight <= words.clientHeight + 1,
                ground: getComputedStyle(document.documentElement).backgroundColor };
        });
        assert.deepEqual([ground, whole], ['rgb(255, 255, 255)', true]);
        await shoot(page, 'print');
    }));

test('a table of several is printed whole', () => shared.open({}, async (page) => {
    await drop(page, '#drop', Array.from({ length: 14 }, (_, i) =>
        ({ ...WAFER, name: `${i}.png` })));
    await page.waitForSelector('#batch-status:has-text("14 of 14")');
    await page.emulateMedia({ media: 'print' });
    const box = await page.$eval('.tall', (table) => [table.scrollHeight, table.clientHeight]);
    assert.ok(box[0] <= box[1] + 1, String(box));
    await shoot(page, 'print-several');
}));
