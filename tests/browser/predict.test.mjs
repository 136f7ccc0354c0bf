/* The ways to a prediction, and what is shown of one. */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ROOT, ask, drop, fixture, shoot, shownAnswer } from './support.mjs';
import { waferPng } from './wafers.mjs';

const shared = fixture();
const RING = { name: 'ring.png', type: 'image/png', bytes: waferPng('edge_ring') };
const CRASH = readFileSync(`${ROOT}server/ui/samples/kernel_oops.txt`, 'utf8');

async function labelOf(page) {
    const answer = await shownAnswer(page);
    assert.equal(await page.textContent('#label'), answer.label);
    return answer.label;
}

test('an image dropped anywhere on the page is predicted', () => shared.open({}, async (page) => {
    await shoot(page, 'empty');
    await drop(page, 'body', [RING]);
    assert.equal(await labelOf(page), 'Edge-Ring');
    await shoot(page, 'image');
}));

test('a file that is chosen is predicted', () => shared.open({}, async (page) => {
    await page.setInputFiles('#file', { name: RING.name, mimeType: RING.type,
        buffer: RING.bytes });
    assert.equal(await labelOf(page), 'Edge-Ring');
    assert.match(await page.textContent('.source'), /^ring\.png · wafer-vit, version 1$/);
}));

test('an image pasted from the clipboard is predicted', () => shared.open({}, async (page) => {
    await page.evaluate(async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
        const blob = new Blob([bytes], { type: 'image/png' });
        await navigator.clipboard.write([new ClipboardItem({ 'image/png': blob })]);
    }, RING.bytes.toString('base64'));
    await page.keyboard.press('Control+V');
    assert.equal(await labelOf(page), 'Edge-Ring');
}));

test('a log pasted outside of the field is predicted at once', () =>
    shared.open({}, async (page) => {
        await page.evaluate((text) => navigator.clipboard.writeText(text), CRASH);
        await page.keyboard.press('Control+V');
        assert.equal(await labelOf(page), 'fault_null_deref');
        assert.equal(await page.inputValue('#text'), CRASH);
        await shoot(page, 'text');
    }));

test('a log pasted into the field waits for its button', () => shared.open({}, async (page) => {
    await page.evaluate((text) => navigator.clipboard.writeText(text), CRASH);
    await page.focus('#text');
    await page.keyboard.press('Control+V');
    assert.equal(await page.inputValue('#text'), CRASH);
    assert.equal(await page.locator('#label').count(), 0);
    await page.click('#send');
    assert.equal(await labelOf(page), 'fault_null_deref');
}));

test('a log that is dropped goes into the field and is predicted', () =>
    shared.open({}, async (page) => {
        await drop(page, '#drop', [{ name: 'dmesg.log', type: '', bytes: Buffer.from(CRASH) }]);
        assert.equal(await labelOf(page), 'fault_null_deref');
        assert.equal(await page.inputValue('#text'), CRASH);
    }));

test('every sample on offer is predicted as what it shows', () => shared.open({}, async (page) => {
    const expected = { 'Edge ring': 'Edge-Ring', Center: 'Center', Scratch: 'Scratch',
        'Kernel crash': 'fault_null_deref', 'Test-floor log': 'leakage' };
    assert.deepEqual(await page.locator('.sample').allTextContents(), Object.keys(expected));
    for (const [title, label] of Object.entries(expected)) {
        await page.click(`.sample:has-text("${title}")`);
        await page.waitForFunction((text) =>
            document.getElementById('label')?.textContent === text, label);
    }
}));

test('all classes are listed, the likeliest first, as in the answer', () =>
    shared.open({}, async (page) => {
        await drop(page, '#drop', [RING]);
        const answer = await shownAnswer(page);
        assert.equal(answer.predictions.length, 9);
        assert.deepEqual(await page.locator('#classes tbody th').allTextContents(),
            answer.predictions.map(({ label }) => label));
        const widths = await page.locator('#classes .fill').evaluateAll((bars) =>
            bars.map((bar) => parseFloat(bar.style.width)));
        widths.forEach((width, i) =>
            assert.ok(Math.abs(width - 100 * answer.predictions[i].score) < 0.01));
        assert.match(await page.textContent('#timing'), /queue.*inference.*total.*round trip/s);
    }));

test('a decision has its word, its sign and its reason', () => shared.open({}, async (page) => {
    await page.click('.sample:has-text("Scratch")');
    const answer = await shownAnswer(page);
    assert.equal(answer.decision, 'review');
    assert.equal(await page.textContent('#decision'), 'Review');
    assert.equal(await page.locator('#decision svg').count(), 1);
    assert.match(await page.textContent('#reason'), /^Label 'Scratch' always goes to a person/);
    await shoot(page, 'review');
    const noise = Buffer.alloc(48 * 48, 0).map((_, i) => (i * 7919) % 251);
    const { greyPng } = await import('./png.mjs');
    await drop(page, '#drop', [{ name: 'noise.png', type: 'image/png',
        bytes: greyPng(noise, 48, 48) }]);
    await page.waitForSelector('#decision.unknown');
    assert.equal(await page.textContent('#decision'), 'Unknown');
    await shoot(page, 'unknown');
}));

test('what is unknown never has its label for a headline', () => shared.open({}, async (page) => {
    const noise = Buffer.alloc(48 * 48, 0).map((_, i) => (i * 7919) % 251);
    const { greyPng } = await import('./png.mjs');
    await drop(page, '#drop', [{ name: 'noise.png', type: 'image/png',
        bytes: greyPng(noise, 48, 48) }]);
    const { label, decision } = await shownAnswer(page);
    assert.equal(decision, 'unknown');
    assert.equal(await page.textContent('#verdict'),
        'Unknown: unlike anything the model has learnt');
    assert.match(await page.textContent('#reason'),
        /^Unlike anything the model has learnt\. Stranger than [\d.]+ % of the validation inputs\.$/);
    assert.match(await page.textContent('#figures'), /ood_score [\d.]+ is above its threshold/);
    assert.match(await page.textContent('.nearest'), new RegExp(`^Nearest label: ${label}, \\d`));
    assert.match(await page.textContent('#announce'), /^Unknown: unlike anything the model has learnt/);
    await page.click('#tab-live');
    assert.equal(await page.locator('#recent td >> nth=1').textContent(),
        `Unknown (nearest: ${label})`);
}));

test('after an image the button sends the image again, and says so', () =>
    shared.open({}, async (page) => {
        await drop(page, '#drop', [RING]);
        await labelOf(page);
        assert.equal(await page.textContent('#next'), 'sends ring.png again');
        const again = page.waitForResponse('**/predict?*');
        await page.click('#send');
        assert.equal((await again).status(), 200);
        await page.fill('#text', 'kernel panic');
        assert.equal(await page.textContent('#next'), '');
        await page.click('#send');
        await page.waitForSelector('#words');
    }));

test('a model of the other kind gets what it can read, or says what it needs', () =>
    shared.open({}, async (page) => {
        await drop(page, '#drop', [RING]);
        await labelOf(page);
        const asked = [];
        page.on('request', (request) => asked.push(request.url()));
        await page.selectOption('#model', 'testlog-bert');
        assert.match(await page.textContent('.problem h2'), /^testlog-bert needs a text/);
        assert.match(await page.textContent('.problem .detail'), /^ring\.png is an image/);
        assert.deepEqual(asked, []);
        await page.fill('#text', 'kernel panic');
        await page.click('#send');
        assert.equal((await shownAnswer(page)).model.name, 'testlog-bert');
        await page.selectOption('#model', 'wafer-vit');
        await page.waitForSelector('#heat');
        assert.equal(await page.textContent('#label'), 'Edge-Ring');
        await page.selectOption('#model', 'kernel-bert');
        await page.waitForSelector('#words');
        assert.equal((await shownAnswer(page)).model.name, 'kernel-bert');
    }));

test('the classes of the models can be read before anything is sent', () =>
    shared.open({}, async (page) => {
        const { models } = JSON.parse(await ask(shared.server, '/models'));
        await page.click('#known summary');
        assert.deepEqual(await page.locator('#known li').allTextContents(),
            models.flatMap(({ labels }) => labels));
        await page.selectOption('#model', 'testlog-bert');
        assert.equal(await page.textContent('#known summary'),
            `${models[2].labels.length} classes of testlog-bert`);
        assert.deepEqual(await page.locator('#known li').allTextContents(), models[2].labels);
        await shoot(page, 'classes');
    }));

test('method and layer are asked for as chosen', () => shared.open({}, async (page) => {
    await drop(page, '#drop', [RING]);
    await shownAnswer(page);
    for (const [method, layer] of [['rollout', '2'], ['attention', '6'], ['gradient', '0']]) {
        const came = page.waitForResponse((response) => response.url().includes('/predict') &&
            response.url().includes(`explain=${method}`) &&
            (layer === '0' || response.url().includes(`explain_layer=${layer}`)));
        await page.selectOption('#method', method);
        if (layer !== '0')
            await page.selectOption('#layer', layer);
        const answer = await (await came).json();
        assert.equal(answer.explanation.method, method);
        if (layer !== '0')
            assert.equal(answer.explanation.layer, Number(layer));
    }
    assert.ok(await page.isDisabled('#layer'));
    await page.selectOption('#method', 'false');
    await page.waitForSelector('#result:not([aria-busy]) .picture:not(:has(canvas))');
}));

test('a model can be chosen; one of the other kind gives way', () =>
    shared.open({}, async (page) => {
        await page.selectOption('#model', 'kernel-bert');
        await drop(page, '#drop', [RING]);
        assert.equal((await shownAnswer(page)).model.name, 'wafer-vit');
        assert.equal(await page.inputValue('#model'), '');
    }));

test('a new request cancels the one before', () => shared.open({}, async (page) => {
    /* The page is busy before it has sent anything: that the first is held here, and not the second,
     * is sure once it was seen to go. */
    await page.route('**/predict?*', () => {}, { times: 1 });
    const sent = page.waitForRequest('**/predict?*');
    const cancelled = page.waitForEvent('requestfailed');
    await drop(page, '#drop', [{ ...RING, name: 'first.png' }]);
    const first = await sent;
    assert.ok(await page.isVisible('#result[aria-busy]'));
    await drop(page, '#drop', [{ ...RING, name: 'second.png' }]);
    await shownAnswer(page);
    assert.equal(await cancelled, first);
    assert.match(await page.textContent('.source'), /^second\.png/);
}));

test('a server with one kind of model offers nothing for the other', () =>
    shared.open({}, async (page) => {
        const { models } = JSON.parse(await ask(shared.server, '/models'));
        await page.route('**/models', (route) => route.fulfill({
            json: { models: models.filter(({ kind }) => kind === 'image') } }));
        await page.reload();
        await page.waitForSelector('.sample');
        assert.ok(await page.isHidden('#text'));
        assert.deepEqual(await page.locator('.sample').allTextContents(),
            ['Edge ring', 'Center', 'Scratch']);
    }));
