/* Models that write a text. The checkpoints are hardly trained: what is compared with is the
 * server's own reply, or one that the test makes. */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ROOT, drop, fixture, saved, seriousFindings, shoot, shownAnswer } from './support.mjs';
import { writer } from '../support/writers.mjs';

const shared = fixture(['--model', `marian=${writer('marian-0')}`,
    '--model', `mbart=${writer('mbart-0')}`, '--model', `trocr=${writer('trocr-0')}`,
    '--model', 'wafer-vit=models/wafer-vit']);

const LOG = 'The die failed the scan test at 3.97 V.';
const HOSTILE = '<b>Die 🔥 Düse</b>\n\u202Ereversed\u202C "x"';
const PICTURE = { name: 'mark.png', type: 'image/png',
    bytes: readFileSync(`${ROOT}tests/data/golden/images/0_center.png`) };

async function asked(page, model, text) {
    await page.selectOption('#model', model);
    await page.fill('#text', text);
    await page.click('#send');
    return shownAnswer(page);
}

/** Changes an option and waits for the answer to it. */
async function change(page, field, value) {
    const came = page.waitForResponse((response) => response.url().includes('/predict'));
    await page.fill(field, value);
    await page.press(field, 'Tab');
    const reply = await (await came).json();
    await page.waitForFunction((text) => document.getElementById('json').textContent === text,
        JSON.stringify(reply, null, 2));
    return reply;
}

/** The server's reply with members of the test's own. */
async function replace(page, members) {
    await page.route('**/predict*', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...await response.json(), ...members } });
    });
}

test('the text that was written is the headline, and is copied as it is', () =>
    shared.open({}, async (page) => {
        const { output, score, confidence } = await asked(page, 'marian', LOG);
        assert.equal(await page.textContent('#label'), output);
        assert.equal(await page.textContent('#score'), score.toFixed(3).replace('-', '−'));
        const percents = Number(/([\d.]+) %/.exec(await page.textContent('#confidence'))[1]);
        assert.ok(Math.abs(percents / 100 - confidence) < 1e-3);
        await replace(page, { output: HOSTILE });
        await asked(page, 'marian', LOG);
        await page.waitForSelector('#label:has-text("Düse")');
        assert.equal(await page.textContent('#label'), HOSTILE.replace(/[\u202C\u202E]/g, '·'));
        assert.equal(await page.locator('#label b').count(), 0);
        await page.click('.verdict button:text-is("Copy")');
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), HOSTILE);
    }));

test('the other texts are listed, the best first', () => shared.open({}, async (page) => {
    await asked(page, 'marian', LOG);
    assert.equal(await page.locator('#texts').count(), 0);
    await change(page, '#num-beams', '4');
    const { output, alternatives } = await change(page, '#num-return-sequences', '3');
    assert.equal(alternatives.length, 2);
    assert.deepEqual(await page.locator('#texts th[scope=row]').allTextContents(),
        [output, ...alternatives.map((one) => one.output)]);
    assert.deepEqual(await page.locator('#texts .number').evaluateAll((cells) =>
        cells.slice(1).map(({ title }) => Number(title))), alternatives.map(({ score }) => score));
    assert.match(await page.textContent('#curl'), /"num_beams":4,"num_return_sequences":3/);
    await shoot(page, 'texts');
}));

test('an empty text says so, and a long one is no headline', () =>
    shared.open({}, async (page) => {
        await replace(page, { output: '', alternatives: [{ output: ' ', score: -1 }] });
        await asked(page, 'marian', LOG);
        assert.equal(await page.textContent('#label'), 'An empty text');
        assert.deepEqual(await seriousFindings(page), []);
        await page.unroute('**/predict*');
        const long = 'word '.repeat(400);
        await replace(page, { output: long });
        await page.click('#send');
        await page.waitForSelector('#label.long');
        assert.equal(await page.textContent('#label'), long);
    }));

test('options are those of the model, within the limits that it tells', () =>
    shared.open({}, async (page) => {
        assert.ok(await page.isHidden('#writing'));
        await page.selectOption('#model', 'mbart');
        const { models } = await page.evaluate(async () => (await fetch('models')).json());
        for (const name of ['marian', 'mbart', 'trocr']) {
            await page.selectOption('#model', name);
            const { writes } = models.find((model) => model.name === name);
            const limits = await page.locator('#writing input[type=number]').evaluateAll((fields) =>
                Object.fromEntries(fields.map((field) => [field.name,
                    [Number(field.placeholder), Number(field.max)]])));
            assert.deepEqual(limits, {
                max_new_tokens: [writes.max_new_tokens, writes.new_tokens_max],
                num_beams: [writes.num_beams, writes.num_beams_max],
                num_return_sequences: [writes.num_return_sequences,
                    writes.num_beams_max] });
            const languages = await page.locator('#writing select:not(#checksum)').evaluateAll((fields) =>
                fields.map((field) => [...field.options].slice(1).map(({ value }) => value)));
            assert.deepEqual(languages, [writes.source_languages, writes.target_languages]
                .filter((codes) => codes.length > 0));
        }
        assert.deepEqual(await page.locator('#writing select').evaluateAll((fields) =>
            fields.map(({ name }) => name)), ['checksum']);
        await page.selectOption('#model', 'wafer-vit');
        assert.ok(await page.isHidden('#writing'));
    }));

test('what is beyond a limit is said, and not sent', () => shared.open({}, async (page) => {
    let sent = 0;
    page.on('request', (request) => sent += request.url().includes('/predict') ? 1 : 0);
    await asked(page, 'marian', LOG);
    for (const [field, value, said] of [['#num-beams', '9', 'Beams: a number from 1 to 8.'],
        ['#num-beams', '1.5', 'Beams: a number from 1 to 8.'],
        ['#max-new-tokens', '0', 'Tokens at most: a number from 1 to 64.'],
        ['#num-return-sequences', '5', '5 texts need 5 beams or more; there are 4.']]) {
        const before = sent;
        await page.fill(field, value);
        await page.press(field, 'Tab');
        assert.equal(await page.textContent('.problem .detail'), said);
        assert.equal(sent, before);
        await page.fill(field, '');
        await page.press(field, 'Tab');
        await shownAnswer(page);
    }
}));

test('languages go with the text', () => shared.open({}, async (page) => {
    await asked(page, 'mbart', LOG);
    const first = page.waitForResponse((response) => response.url().endsWith('/predict'));
    await page.selectOption('#target-language', 'fr_XX');
    const { output } = await (await first).json();
    await page.waitForFunction(() => /"target_language":"fr_XX"/
        .test(document.getElementById('curl').textContent));
    assert.equal(await page.textContent('#label'), output || 'An empty text');
    await asked(page, 'marian', LOG);
    assert.doesNotMatch(await page.textContent('#curl'), /language/);
}));

test('a picture is read, with options in the query', () => shared.open({}, async (page) => {
    await page.selectOption('#model', 'trocr');
    await drop(page, '#drop', [PICTURE]);
    const { output } = await shownAnswer(page);
    assert.equal(await page.textContent('#label'), output);
    assert.ok(await page.isVisible('.source-image'));
    const reply = await change(page, '#max-new-tokens', '3');
    assert.ok(reply.output.length < output.length);
    assert.match(await page.textContent('#curl'), /max_new_tokens=3/);
    await shoot(page, 'reading');
}));

test('check characters that do not hold leave no text, and the rejected one is told', () =>
    shared.open({}, async (page) => {
        await page.selectOption('#model', 'trocr');
        await drop(page, '#drop', [PICTURE]);
        await shownAnswer(page);
        assert.equal(await page.locator('#checked').count(), 0);
        await page.selectOption('#checksum', 'semi-m13');
        await page.waitForSelector('#checked');
        const { output, broken_rule: rule, rejected } = await shownAnswer(page);
        assert.deepEqual([output, rule], [null, 'checksum']);
        assert.equal(await page.textContent('#label'), 'No text obeys the rule checksum');
        assert.equal(await page.textContent('#checked'), '✗ The check characters do not hold.');
        assert.match(await page.textContent('#rejected'), new RegExp(`rejected: ${
            rejected.output.replace(/[^\w]/g, '.')} ✗ · score −`));
        assert.equal(await page.locator('.verdict button:text-is("Copy")').count(), 0);
        assert.match(await page.textContent('#curl'), /checksum=semi-m13/);
        assert.deepEqual(await seriousFindings(page), []);
        await shoot(page, 'reading-rejected');
        const { text } = await saved(page, () => page.click('.tools button:text-is("JSON")'));
        assert.deepEqual(JSON.parse(text)[0].rejected, rejected);
    }));

test('lists have the first words, files the whole text', () => shared.open({}, async (page) => {
    const output = 'word '.repeat(40);
    await replace(page, { output, decision: 'review', reason: 'the score is low' });
    await asked(page, 'marian', LOG);
    const { text } = await saved(page, () => page.click('.tools button:text-is("JSON")'));
    const [entry] = JSON.parse(text);
    assert.equal(entry.output, output);
    assert.ok(!text.includes(LOG));
    const csv = await saved(page, () => page.click('.tools button:text-is("CSV")'));
    assert.ok(csv.text.includes(output));
    await page.click('#tab-history');
    await page.waitForSelector('#history-rows td');
    const [row] = await page.locator('#history-rows tbody tr').allTextContents();
    assert.match(row, /word word .* …−\d\.\d{3}review/);
}));

test('an answer that cannot be shown is an error of the page, not silence', () =>
    shared.open({ expected: [/TypeError/] }, async (page) => {
        await replace(page, { output: 7 });
        await page.selectOption('#model', 'marian');
        await page.fill('#text', LOG);
        await page.click('#send');
        await page.waitForSelector('#result .problem');
        assert.match(await page.textContent('#result .problem'), /Error in this page.*TypeError/);
    }));

test('several texts are written, each in its row', () => shared.open({}, async (page) => {
    const files = [LOG, 'leakage at vdd_io'].map((text, i) =>
        ({ name: `${i}.log`, type: '', bytes: Buffer.from(text) }));
    await page.selectOption('#model', 'marian');
    await drop(page, '#drop', files);
    await page.waitForSelector('#batch-progress', { state: 'hidden' });
    assert.match(await page.textContent('#batch-status'), /^2 of 2 answered: 2 review$/);
    assert.equal(await page.locator('#batch-rows .failed').count(), 0);
    await page.click('#batch-rows button >> nth=0');
    const { output } = await shownAnswer(page);
    assert.equal(await page.textContent('#batch-rows .verdict-cell >> nth=0'),
        output || 'An empty text');
}));

test('an unknown input has its text below the verdict', () => shared.open({}, async (page) => {
    await replace(page, { output: 'AB12', decision: 'unknown', reason: 'no mark' });
    await asked(page, 'marian', LOG);
    assert.match(await page.textContent('#verdict'), /^Unknown: /);
    assert.match(await page.textContent('.nearest'), /^Text that was written: AB12/);
    assert.match(await page.textContent('#announce'), /Text that was written AB12, −/);
}));

/* The server of these tests keeps no inputs for the Review view, and says so. */
test('the Review view lists texts that are not automatic, with picture and reason', () =>
    shared.open({ expected: [/Failed to load resource/] }, async (page) => {
        assert.equal(await page.locator('#review-texts tbody tr').count(), 0);
        await page.selectOption('#model', 'trocr');
        for (const [output, decision, reason] of [['AM1664', 'review', 'two characters are close'],
            ['AUTO', 'auto', undefined], ['', 'unknown', 'there is no mark'],
            ['NONE', undefined, undefined], [null, 'review', 'a rule is broken']]) {
            await replace(page, { output, decision, reason, ...output === null &&
                { broken_rule: 'pattern', rejected: { output: 'AM', score: -1 } } });
            await drop(page, '#drop', [PICTURE]);
            await shownAnswer(page);
            await page.waitForFunction((text) =>
                document.getElementById('label').textContent === text, output === null
                ? 'No text obeys the rule pattern' : output || 'An empty text');
            await page.unroute('**/predict*');
        }
        await page.click('#tab-review');
        const rows = await page.locator('#review-texts tbody tr').evaluateAll((all) =>
            all.map((row) => [...row.cells].slice(1, 5).map((cell) => cell.textContent)));
        assert.deepEqual(rows.map(([text, , decision, why]) => [text, decision, why]), [
            ['No text obeys the rule pattern; rejected: AM', 'Review', 'A rule is broken.'],
            ['An empty text', 'Unknown',
                'Unlike anything the model has learnt. There is no mark.'],
            ['AM1664', 'Review', 'Two characters are close.']]);
        const widths = await page.locator('.mark-face').evaluateAll((faces) =>
            faces.map(({ naturalWidth }) => naturalWidth));
        assert.deepEqual(widths.map((width) => width > 0), [true, true, true]);
        assert.equal(await page.textContent('#review-texts-count'),
            '3 texts of this tab, the newest first, until the page is reloaded.');
        assert.deepEqual(await seriousFindings(page), []);
        await shoot(page, 'review-texts');
    }));
