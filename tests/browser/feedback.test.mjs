/* The right label that a person gives is sent to the server, which takes it, and is kept. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { ask, drop, fixture, saved, shoot, shownAnswer } from './support.mjs';
import { waferPng } from './wafers.mjs';

const shared = fixture();
const FAILED = [/Failed to load resource/];
const WAFER = { name: 'a.png', type: 'image/png', bytes: waferPng('center') };

async function predicted(page) {
    await drop(page, '#drop', [WAFER]);
    return shownAnswer(page);
}

function told(page, text) {
    return page.waitForFunction((wanted) =>
        document.querySelector('.mark p').textContent.includes(wanted), text);
}

/** A server that takes labels; what it got. */
async function taking(page, status = 200) {
    const got = [];
    await page.route('**/feedback', (route) => {
        got.push(route.request().postDataJSON());
        return route.fulfill({ status, json: { accepted: 1 } });
    });
    return got;
}

async function mark(page, label) {
    await page.fill('#mark-label', label);
    await page.click('.mark button:has-text("Mark")');
}

async function kept(page) {
    const { text, name } = await saved(page, () => page.click('text=Download JSONL'));
    assert.equal(name, 'attnd-labels.jsonl');
    return text.trimEnd().split('\n').map((line) => JSON.parse(line));
}

test('a right label goes to the server with the id of its answer', () =>
    shared.open({}, async (page) => {
        const got = await taking(page);
        const { id } = await predicted(page);
        assert.deepEqual(await page.locator('#mark-labels option').evaluateAll((options) =>
            options.map(({ value }) => value)).then((labels) => labels.slice(0, 3)),
        ['none', 'Center', 'Donut']);
        await mark(page, 'Donut');
        await told(page, 'Marked as Donut. Sent to the server.');
        await mark(page, 'Bullseye');
        await page.click('#confirm button:text-is("Add the label")');
        await told(page, 'Marked as Bullseye. Sent');
        await page.click('text=“Center” is right');
        await told(page, 'Marked as Center. Sent');
        assert.deepEqual(got, [{ id, label: 'Donut' }, { id, label: 'Bullseye', new: true },
            { id, label: 'Center' }]);
        await shoot(page, 'mark');
    }));

test('a label that the model lacks is added only when a person says so', () =>
    shared.open({}, async (page) => {
        const got = await taking(page);
        const { id } = await predicted(page);
        for (const [typed, meant] of [['Dount', /Did you mean “Donut”\?/], ['edge-ring', /“Edge-Ring”/],
            ['Bullseye', /^The model does not know this label\. A new label counts/]]) {
            await mark(page, typed);
            assert.equal(await page.textContent('#confirm-title'),
                `“${typed}” is a new label. Add it?`);
            assert.match(await page.textContent('#confirm-text'), meant);
            await page.click('#confirm button:text-is("Cancel")');
        }
        assert.deepEqual(got, []);
        await mark(page, 'Donut');
        await told(page, 'Marked as Donut. Sent to the server.');
        assert.deepEqual(got, [{ id, label: 'Donut' }]);
    }));

test('a real server takes labels, and says how often its model was right', () =>
    shared.open({}, async (page) => {
        const { id } = await predicted(page);
        await mark(page, 'Donut');
        await told(page, 'Marked as Donut. Sent to the server.');
        await mark(page, 'Bullseye'); // the model lacks it
        await page.click('#confirm button:text-is("Add the label")');
        await told(page, 'Marked as Bullseye. Sent');
        await page.click('text=“Center” is right');
        await told(page, 'Marked as Center. Sent');
        const { accuracy } = JSON.parse(await ask(shared.server, '/models/wafer-vit'));
        assert.deepEqual([accuracy.value, accuracy.n], [1, 1]);
        assert.ok((await ask(shared.server, '/metrics')).includes('attnd_feedback_total{' +
            'model="wafer-vit",version="1",label="other",predicted="Center"} 1\n'));
        await page.reload();
        await page.selectOption('#model', 'wafer-vit');
        await page.waitForSelector('#known .accuracy', { state: 'attached' });
        assert.match(await page.textContent('#known .accuracy'),
            /^Right in 100\.0.% of 1 marked answer \(20\.7.% to 100/);
        await page.click('#tab-history');
        const [only] = await kept(page);
        assert.deepEqual([only.id, only.label, only.sent], [id, 'Center', true]);
        await page.click('#history button:has-text("Clear")');
    }));

test('where the server takes none, labels are kept for a download, over a reload', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await page.route('**/feedback', (route) => route.fulfill({ status: 404,
            json: { status: 404, title: 'x', detail: 'nothing is here' } }));
        await page.click('#context summary');
        await page.fill('#context-lot', 'L7');
        const { id } = await predicted(page);
        await mark(page, 'Donut');
        await told(page, 'Kept in this browser, see History (the server does not take it)');
        await mark(page, 'Loc'); // the latest counts
        await told(page, 'Marked as Loc. Kept');
        await page.reload();
        await page.click('#tab-history');
        const [only, ...more] = await kept(page);
        const { time, ...rest } = only;
        assert.deepEqual([rest, more], [{ id, label: 'Loc', predicted: 'Center',
            model: 'wafer-vit', version: '1', input: 'a.png', context: { lot: 'L7' }, sent: false },
        []]);
        assert.ok(Date.parse(time) > 0);
        await page.click('#history button:has-text("Clear")');
        await page.waitForSelector('#labels-rows:has-text("none yet")');
        assert.equal(await page.evaluate(() => localStorage.length), 0);
    }));

for (const [status, why] of [[404, /does not take it/], [405, /does not take it/],
    [429, /the queue is full/]])
    test(`a label that the server refuses with ${status} is kept`, () =>
        shared.open({ expected: FAILED }, async (page) => {
            await page.route('**/feedback', (route) => route.fulfill({ status,
                json: { status, title: 'x', detail: 'the queue is full' } }));
            await predicted(page);
            await mark(page, 'Donut');
            await told(page, 'Kept in this browser');
            assert.match(await page.textContent('.mark p'), why);
        }));

test('of a row of several the label names the answer in the table', () =>
    shared.open({}, async (page) => {
        const got = await taking(page);
        const came = page.waitForResponse('**/predict');
        await drop(page, '#drop', [WAFER, { ...WAFER, name: 'b.png' }]);
        const { id } = await (await came).json();
        await page.click('#batch-rows button:has-text("b.png")');
        await shownAnswer(page);
        await mark(page, 'Donut');
        await told(page, 'Sent');
        assert.deepEqual(got, [{ id, index: 1, label: 'Donut' }]);
        const { text } = await saved(page, () => page.click('#batch button:has-text("JSON")'));
        assert.deepEqual(JSON.parse(text).map((entry) => entry.right_label), [undefined, 'Donut']);
    }));

test('of a row that another model is asked about, the label names the new answer', () =>
    shared.open({}, async (page) => {
        const got = await taking(page);
        await page.selectOption('#model', 'kernel-bert');
        const log = { name: 'a.log', type: '', bytes: Buffer.from('kernel panic') };
        await drop(page, '#drop', [log, { ...log, name: 'b.log' }]);
        await page.waitForSelector('#batch-status:has-text("2 of 2")');
        await page.selectOption('#model', 'testlog-bert');
        await page.click('#batch-rows button:has-text("b.log")');
        const { id } = await shownAnswer(page);
        await mark(page, 'scan');
        await told(page, 'Sent');
        assert.deepEqual(got, [{ id, label: 'scan' }]);
    }));

test('the list has a bound, and the oldest labels go first', () => shared.open({}, async (page) => {
    const labels = await page.evaluate(async () => {
        const { Feedback } = await import('./ui/feedback.js');
        const feedback = new Feedback(() => {});
        for (let i = 0; i < 1005; i++)
            feedback.keep({ id: String(i), label: 'x'.repeat(i % 2 === 0 ? 10 : 600) });
        return { ids: feedback.marks.map(({ id }) => Number(id)),
            bytes: localStorage.getItem('attnd-labels').length };
    });
    assert.ok(labels.ids.length <= 1000 && labels.bytes <= 400000);
    assert.equal(labels.ids.at(-1), 1004);
    assert.ok(labels.ids.every((id, i) => i === 0 || id > labels.ids[i - 1]));
}));

test('a list that another page has spoilt does no harm', () => shared.open({}, async (page) => {
    for (const text of ['{', '{"a":1}', '[null, 3, {"label": 5}, {"label": "<b>x</b>"}]']) {
        await page.evaluate((value) => localStorage.setItem('attnd-labels', value), text);
        await page.reload();
        await page.click('#tab-history');
        await page.waitForFunction(() =>
            document.getElementById('labels-count').textContent !== '');
        assert.equal(await page.locator('#history b').count(), 0);
    }
    assert.match(await page.textContent('#labels-count'), /^1 label,/);
}));
