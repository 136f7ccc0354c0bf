/* The words of a text, shaded by relevance at the right places. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { fixture, shoot, shownAnswer } from './support.mjs';

const shared = fixture();
const PLAIN = 'BUG: unable to handle kernel NULL pointer dereference at 0000000000000018';
/* Signs of two UTF-16 units, a combining mark, a lone surrogate, letters beyond the first plane. */
const WIDE = '🔥🔥 kernel NULL 👩‍🔬 pointer e\u0301 dereference \uD800 𝔸𝔹 panic';

async function explained(page, text) {
    await page.fill('#text', text);
    await page.click('#send');
    return (await shownAnswer(page)).explanation;
}

/** Cuts by code points, as the server counts. */
function cut(text, { start, end }) {
    return [...text].slice(start, end).join('');
}

test('each word of the answer is marked where it stands', () => shared.open({}, async (page) => {
    const { words } = await explained(page, PLAIN);
    assert.deepEqual(await page.locator('.word').allTextContents(),
        words.map((word) => cut(PLAIN, word)));
    assert.equal(await page.textContent('#words'), PLAIN);
    await shoot(page, 'words');
}));

test('offsets count characters, not UTF-16 units', () => shared.open({}, async (page) => {
    const { words } = await explained(page, WIDE);
    const shown = await page.locator('.word').allTextContents();
    assert.deepEqual(shown.map((word) => word.normalize('NFC')),
        words.map((word) => cut(WIDE, word).replace('\u200D', '·').normalize('NFC')));
    assert.ok(shown.includes('dereference') && shown.includes('panic'), shown.join(' '));
}));

test('the most relevant word has the deepest shade', () => shared.open({}, async (page) => {
    const { words } = await explained(page, PLAIN);
    const most = words.reduce((best, word) => (word.relevance > best.relevance ? word : best));
    const deepest = await page.locator('.shade-5').allTextContents();
    assert.ok(deepest.includes(cut(PLAIN, most)));
    const shades = await page.locator('.word').evaluateAll((list) =>
        list.map((word) => Number(/shade-(\d)/.exec(word.className)[1])));
    shades.forEach((shade, i) => assert.equal(shade,
        Math.min(5, Math.floor(6 * words[i].relevance / most.relevance))));
}));

test('hover and focus tell the number; arrow keys walk the words', () =>
    shared.open({}, async (page) => {
        const { words } = await explained(page, PLAIN);
        const told = (i) => new RegExp(`“.*”: ${(100 * words[i].relevance).toFixed(1)} %, rank `);
        await page.hover('.word >> nth=3');
        assert.match(await page.textContent('.words-box .readout'), told(3));
        await page.focus('.word >> nth=0');
        for (const [key, at] of [['ArrowRight', 1], ['ArrowRight', 2], ['ArrowLeft', 1]]) {
            await page.keyboard.press(key);
            assert.match(await page.textContent('.words-box .readout'), told(at));
        }
        assert.equal(await page.locator('.word[tabindex="0"]').count(), 1);
    }));

test('the spans are listed and lead to their words', () => shared.open({}, async (page) => {
    const { spans } = await explained(page, PLAIN);
    assert.ok(spans.length > 0);
    assert.deepEqual(await page.locator('#spans button').allTextContents(),
        spans.map((span) => cut(PLAIN, span)));
    await page.click('#spans button >> nth=0');
    const focused = await page.evaluate(() => document.activeElement.textContent);
    assert.ok(cut(PLAIN, spans[0]).startsWith(focused));
}));

test('a span or phrase of thousands of characters shows its beginning', () =>
    shared.open({}, async (page) => {
        const shown = await page.evaluate(async () => {
            const { excerptOf, unitsOf } = await import('/ui/words.js');
            const text = '🔥'.repeat(3000);
            return excerptOf(text, unitsOf(text, 3000), { start: 0, end: 3000 });
        });
        assert.equal(shown, `${'🔥'.repeat(120)} … 2880 more characters`);
    }));

test('a text that is cut shows what was not read', () => shared.open({}, async (page) => {
    const long = `${PLAIN}\n`.repeat(200);
    await explained(page, long);
    assert.match(await page.textContent('.verdict'), /than the model reads: its end was not read/);
    assert.match(await page.textContent('.unread'), /… \d+ more$/);
}));

test('that the end was not read is said once, whether it is the reason or not', () =>
    shared.open({}, async (page) => {
        const why = 'the text is longer than the model reads: its end was not read';
        for (const change of [{ decision: 'review', reason: why },
            { decision: 'auto', reason: undefined }]) {
            await page.route('**/predict', async (route) => {
                const response = await route.fetch();
                const answer = await response.json();
                await route.fulfill({ response, json: { ...answer, truncated: true, ...change } });
            });
            await explained(page, PLAIN);
            const said = await page.textContent('.verdict');
            assert.equal(said.split('its end was not read').length, 2, said);
            await page.unroute('**/predict');
        }
    }));
