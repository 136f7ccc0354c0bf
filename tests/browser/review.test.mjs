/* The Review view: inputs that wait for a person are in groups, and a group gets its label at
 * once. */
import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { MODELS, ask, fixture, seriousFindings, shoot, startServer, withPage }
    from './support.mjs';
import { postJson } from './versions.mjs';
import { waferPng } from './wafers.mjs';

const folder = mkdtempSync(join(tmpdir(), 'attnd-review-'));
const FAILED = [/Failed to load resource/];
const HOSTILE = '<img src=x onerror=alert(1)>\u202E\u0007 panic';
const KINDS = ['center', 'edge_ring', 'upper_left'];
const EACH = 4;
let folders = 0;

/* Only the tests that label need a server of their own. */
const shared = fixture(MODELS);
after(() => rmSync(folder, { recursive: true }));

async function sendWafer(server, id, pattern, seed) {
    const response = await fetch(`${server.url}/predict?model=wafer-vit&id=${encodeURIComponent(id)}`, {
        method: 'POST', body: waferPng(pattern, 40, seed),
        headers: { 'Content-Type': 'image/png' } });
    assert.equal(response.status, 200);
}

/** Inputs are written after their replies. */
async function kept(server, count) {
    for (;;) {
        const { inputs } = JSON.parse(await ask(server, '/review?limit=100'));
        if (inputs.length >= count)
            return;
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

/** A server that keeps all it is sent; maps of three kinds wait there. */
async function keeping(how, body, more = []) {
    const server = await startServer(['--model', 'wafer-vit=models/wafer-vit',
        '--model', 'kernel-bert=models/kernel-bert', '--state-dir', join(folder, `s${folders++}`),
        '--keep-inputs-bytes', '20000000', '--keep-inputs-share', '1', '--workers', '1', ...more]);
    try {
        for (const kind of KINDS)
            for (let seed = 1; seed <= (kind === 'center' ? EACH + 1 : EACH); seed++)
                await sendWafer(server, `lot ${kind}/die-${seed}`, kind, seed);
        await kept(server, KINDS.length * EACH + 1);
        await withPage(shared.tab, server, { path: '#review', ...how }, async (page) => {
            await page.selectOption('#review-decision', 'any');
            await page.waitForSelector('.group >> nth=2');
            await body(page, server);
        });
    } finally {
        await server.stop();
    }
}

async function groupsOf(server, model = 'wafer-vit') {
    return JSON.parse(await ask(server, `/review/groups?model=${model}&decision=any`));
}

async function told(page, text) {
    try {
        await page.waitForFunction((wanted) =>
            document.getElementById('review-told').textContent.startsWith(wanted), text);
    } catch (error) {
        error.message += `\nthe page tells: ${await page.textContent('.review-head')}` +
            await page.textContent('#review-problem');
        throw error;
    }
}

/** Sizes of the groups that are listed. */
function sizes(page) {
    return page.locator('.group strong').allTextContents();
}

function membersIn(page) {
    return page.locator('.member[aria-pressed=true]').count();
}

test('alike maps are one group, with pictures, and the most typical is explained', () =>
    keeping({}, async (page) => {
        assert.deepEqual(await sizes(page), ['5', '4', '4']);
        assert.match(await page.textContent('#review-state'), /^13 inputs without a label, in 3/);
        await page.waitForSelector('#heat-review');
        assert.equal(await page.locator('.member').count(), 5);
        await page.waitForFunction(() => [...document.querySelectorAll('.member img')]
            .every((picture) => picture.naturalWidth === 40));
        assert.match(await page.textContent('.group >> nth=0'), /5 Center.*automatic/);
        await shoot(page, 'review');
    }));

test('a key labels a whole group, and the server has it', () =>
    keeping({}, async (page, server) => {
        await page.keyboard.press('9');
        await told(page, '5 inputs labelled Scratch.');
        assert.deepEqual(await sizes(page), ['4', '4']);
        const { inputs, labels, groups } = await groupsOf(server);
        assert.deepEqual([inputs, labels], [8, [{ label: 'Scratch', count: 5 }]]);
        assert.equal(groups[0].nearest[0].label, 'Scratch');
        assert.deepEqual(await page.locator('#fit-labels tbody tr').allTextContents(),
            ['Scratch5']);
        await page.click('text=Read again');
        await page.waitForSelector('.nearest-list li >> nth=4');
        assert.match(await page.textContent('.nearest-list li >> nth=0'), /Scratch.*likeness/);
        await shoot(page, 'review-nearest');
    }));

test('the last labelling is taken back by a key', () => keeping({}, async (page, server) => {
    assert.ok(await page.isDisabled('text=Take the last back'));
    await page.keyboard.press('1');
    await told(page, '5 inputs labelled none.');
    await page.keyboard.press('u');
    await told(page, 'none is taken back from 5 inputs.');
    await page.waitForFunction(() => document.querySelectorAll('.group').length === 3);
    assert.deepEqual((await groupsOf(server)).labels, []);
    assert.ok(await page.isDisabled('text=Take the last back'));
}));

test('a label that the model lacks is typed once and then has a key', () =>
    keeping({}, async (page, server) => {
        await page.keyboard.press('n');
        await page.keyboard.type('Bullseye x'); // letters that are typed do nothing else
        await page.keyboard.press('Enter');
        await told(page, '5 inputs labelled Bullseye x.');
        await page.keyboard.press('n');
        await page.keyboard.type('Dount');
        await page.keyboard.press('Enter');
        assert.match(await page.textContent('#confirm-text'), /Did you mean “Donut”/);
        await page.click('#confirm button:text-is("Cancel")');
        await page.click('.labelling button:text-is("Cancel")');
        assert.equal(await page.textContent('.choice:has-text("Bullseye")'), 'aBullseye x');
        await page.keyboard.press('a');
        await told(page, '4 inputs labelled Bullseye x.');
        assert.deepEqual((await groupsOf(server)).labels, [{ label: 'Bullseye x', count: 9 }]);
    }));

test('keys go through the groups and leave members out', () =>
    keeping({}, async (page, server) => {
        const isOpen = () => page.locator('.group').evaluateAll((cards) =>
            cards.findIndex((card) => card.getAttribute('aria-pressed') === 'true'));
        await page.keyboard.press('j');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('j'); // there is no next one
        assert.equal(await isOpen(), 2);
        await page.keyboard.press('k');
        assert.equal(await isOpen(), 1);
        await page.keyboard.press('x');
        await page.click('.member >> nth=2');
        assert.equal(await membersIn(page), 2);
        assert.match(await page.textContent('.opened .hint'),
            /^2 inputs get the label. 2 left out/);
        await page.keyboard.press('x'); // the one with the focus is in again
        assert.equal(await membersIn(page), 3);
        await page.keyboard.press('2');
        await told(page, '3 inputs labelled Center.');
        assert.deepEqual(await sizes(page), ['5', '1', '4']);
        assert.deepEqual((await groupsOf(server)).labels, [{ label: 'Center', count: 3 }]);
    }));

test('what is asked about again is not kept once more', () => keeping({}, async (page, server) => {
    await page.waitForSelector('#heat-review');
    await page.keyboard.press('j');
    await page.waitForSelector('#heat-review');
    await sendWafer(server, 'last', 'center', 99);
    await kept(server, KINDS.length * EACH + 2);
    assert.equal((await groupsOf(server)).inputs, KINDS.length * EACH + 2);
}));

/** Labels get their answer in the page itself: Chromium has twice lost the one request that was to be answered
 * from outside while others of the page were under way. */
function answerLabels(page) {
    return page.evaluate(() => {
        const { fetch } = window;
        window.isForbidden = false;
        window.fetch = (address, options) => {
            if (address !== 'feedback')
                return fetch(address, options);
            const { feedback } = JSON.parse(options.body);
            const results = feedback.map(({ id, index }, i) => (i !== 1 ? { id, index, label: 'x' }
                : { status: 404, title: 'x', detail: `$.feedback[1].id: ${id} is gone` }));
            return Promise.resolve(window.isForbidden
                ? Response.json({ status: 403, title: 'Forbidden',
                    detail: 'the key lacks the scope feedback' }, { status: 403 })
                : Response.json({ accepted: feedback.length - 1, results }));
        };
    });
}

test('what failed is said of each input, and the others are labelled', () =>
    keeping({}, async (page) => {
        await page.waitForSelector('#heat-review');
        await answerLabels(page);
        await page.keyboard.press('1');
        await told(page, '4 inputs labelled none. 1 input failed: ');
        assert.match(await page.textContent('#review-told'), /: \$\.feedback\[1\]\.id: .* is gone/);
        assert.deepEqual(await sizes(page), ['1', '4', '4']);
        await page.evaluate(() => { window.isForbidden = true; });
        await page.keyboard.press('1');
        await page.waitForSelector('#review-problem .problem:has-text("lacks the scope")');
        assert.deepEqual(await sizes(page), ['1', '4', '4']);
    }));

test('more inputs than one request takes go in several', () => shared.open({}, async (page) => {
    const got = [];
    await page.route('**/feedback', async (route) => {
        const { feedback } = route.request().postDataJSON();
        got.push(feedback.length);
        await route.fulfill({ json: { accepted: feedback.length,
            results: feedback.map(({ id, index }) => ({ id, index })) } });
    });
    const done = await page.evaluate(async () => {
        const { giveLabel } = await import('./ui/review_api.js');
        const items = Array.from({ length: 150 }, (_, i) => ({ id: String(i), index: 0 }));
        return (await giveLabel(items, { label: 'a', isNew: false, most: 64 })).done.length;
    });
    assert.deepEqual([got, done], [[64, 64, 22], 150]);
}));

test('hostile logs and labels are only shown', () => keeping({}, async (page, server) => {
    await postJson(server, '/predict', { model: 'kernel-bert', id: HOSTILE.slice(0, 20),
        text: HOSTILE });
    await kept(server, KINDS.length * EACH + 2);
    await page.selectOption('#review-model', 'kernel-bert');
    await page.waitForSelector('#words-review');
    assert.match(await page.textContent('.member .log-start'), /^<img src=x onerror=alert\(1\)>·␇/);
    await page.keyboard.press('n');
    await page.keyboard.type('<b>x</b>');
    await page.keyboard.press('Enter');
    await told(page, '1 input labelled <b>x</b>.');
    await page.waitForSelector('#review-state:has-text("Nothing waits for a label")');
    await page.waitForSelector('#fit-labels:has-text("<b>x</b>")');
    assert.equal(await page.locator('#review b, #review img[src="x"]').count(), 0);
}));

test('where nothing is kept, the options that keep inputs are named', () =>
    shared.open({ path: '#review', expected: FAILED }, async (page) => {
        await page.waitForSelector('#review-state:has-text("state_dir and keep_inputs_bytes")');
        assert.ok(await page.isHidden('.review-work'));
    }));

/* ---- fits ---- */

const REPORT = { before: { accuracy: 0.8, macro_f1: 0.7 },
    after: { accuracy: 0.95, macro_f1: 0.9 } };

/** A server that fits in as many answers as there are states; what it was asked. */
async function fitting(page, states) {
    const asked = [];
    await page.route('**/admin/fits**', async (route) => {
        const request = route.request();
        asked.push(`${request.method()} ${new URL(request.url()).pathname}`);
        if (request.method() === 'DELETE')
            states.splice(0, states.length, { state: 'cancelled' });
        const body = request.method() === 'POST' ? { fit: 3 }
            : { fit: 3, name: 'wafer-vit', from_version: '1', version: '2', step: null, done: 0,
                total: 0, ...(states.length > 1 ? states.shift() : states[0]) };
        await route.fulfill({ status: request.method() === 'GET' ? 200 : 202, json: body });
    });
    return asked;
}

function fitState(page, text) {
    return page.waitForFunction((wanted) =>
        document.getElementById('fit-state').textContent.startsWith(wanted), text);
}

test('a fit shows how far it is, and then what it came to', () => keeping({}, async (page) => {
    const asked = await fitting(page, [{ state: 'running', step: 'features', done: 3, total: 9 },
        { state: 'succeeded', report: REPORT }]);
    await page.keyboard.press('2');
    await told(page, '5 inputs labelled Center.');
    await page.click('#fit button:text-is("Fit 5 labels")');
    await fitState(page, 'Fit 3 waits for another fit.');
    await fitState(page, 'Fit 3 runs: features.');
    assert.deepEqual(await page.locator('#fit progress').evaluate(({ value, max }) =>
        [value, max]), [3, 9]);
    await shoot(page, 'fit-running');
    await fitState(page, 'Fit 3 has succeeded: version 2 is loaded as a shadow.');
    assert.deepEqual(await page.locator('#fit-figures tbody tr').evaluateAll((rows) =>
        rows.map((row) => [...row.cells].map(({ textContent }) => textContent))),
    [['Accuracy', '80.0 %', '95.0 %'], ['Macro F1', '70.0 %', '90.0 %']]);
    assert.equal(await page.getAttribute('#fit a >> nth=0', 'href'), 'admin/fits/3/report');
    assert.deepEqual(asked, ['POST /admin/fits', 'GET /admin/fits/3', 'GET /admin/fits/3']);
    await shoot(page, 'fit-done');
    await page.click('#fit a:has-text("The versions of wafer-vit")');
    await page.waitForSelector('#models .rollout');
}));

test('a fit can be cancelled, and says why it failed', () => keeping({}, async (page) => {
    const states = [{ state: 'running', step: 'gathering' }];
    await fitting(page, states);
    await page.click('#fit button:text-is("Fit")');
    await fitState(page, 'Fit 3 runs: gathering.');
    await page.click('#fit button:text-is("Cancel")');
    await fitState(page, 'Fit 3 was cancelled.');
    assert.ok(await page.isHidden('#fit button:text-is("Cancel")'));
    states.splice(0, states.length, { state: 'refused', detail: 'Donut has 2 examples' });
    await page.click('#fit button:text-is("Fit")');
    await fitState(page, 'Fit 3 was refused: Donut has 2 examples.');
}));

/* ---- for everybody ---- */

test('for everybody: review', (t) => keeping({}, async (page) => {
    await page.waitForSelector('#heat-review');
    for (const colorScheme of ['light', 'dark'])
        await t.test(`axe finds nothing serious: review, ${colorScheme}`, async () => {
            await page.emulateMedia({ colorScheme });
            await shoot(page, `review-${colorScheme}`);
            assert.deepEqual(await seriousFindings(page), []);
        });
    await t.test('360 pixels are wide enough: review', async () => {
        await page.setViewportSize({ width: 360, height: 740 });
        await shoot(page, 'review-360');
        const [content, screen] = await page.evaluate(() =>
            [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(content <= screen, `${content} > ${screen}`);
    });
    await t.test('on paper the groups are whole, and buttons of no use are left out', async () => {
        await page.emulateMedia({ media: 'print' });
        assert.ok(await page.isHidden('.labels-panel'));
        assert.ok(await page.isHidden('#review-model'));
        assert.ok(await page.isVisible('.member >> nth=0'));
    });
}));
