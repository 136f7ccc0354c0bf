/* What each token of a written text looked at. The text and the picture are of the server; the
 * alignment is the test's, so that it is known where each token looked. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { drop, fixture, seriousFindings, shoot, shownAnswer } from './support.mjs';
import { greyPng } from './png.mjs';
import { writer } from '../support/writers.mjs';

const shared = fixture(['--model', `marian=${writer('marian-0')}`,
    '--model', `trocr=${writer('trocr-0')}`]);

const SOURCE = 'Die 🔥 failed the <b>scan</b> test at 3.97 V.';

/** Words of a text as the server counts them, in code points. */
function wordsOf(text) {
    const words = [];
    let point = 0;
    for (const piece of text.split(/(\s+)/)) {
        const end = point + [...piece].length;
        if (piece.trim() !== '')
            words.push({ start: point, end, relevance: 0 });
        point = end;
    }
    return words;
}

/** Weights that sum to 1 and fall with the distance from a peak. */
function peak(at, count) {
    const weights = Array.from({ length: count }, (_, j) => 2 ** -(3 * Math.abs(j - at)));
    const sum = weights.reduce((a, b) => a + b, 0);
    return weights.map((weight) => weight / sum);
}

function meanOf(alignment) {
    return alignment[0].weights.map((_, j) => alignment.reduce((sum, { weights }) =>
        sum + weights[j], 0) / alignment.length);
}

/** Members of an answer: token i looked most at the word peaks[i]. */
function alignedText(text, tokens, peaks) {
    const words = wordsOf(text);
    const alignment = tokens.map((one, i) => ({ text: one, weights: peak(peaks[i], words.length) }));
    return { output: tokens.join(''), alignment, explanation: { method: 'alignment', spans: [],
        words: words.map((word, j) => ({ ...word, relevance: meanOf(alignment)[j] })) } };
}

async function replace(page, members) {
    await page.route('**/predict*', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...await response.json(), ...members } });
    });
}

async function asked(page, text, members) {
    await replace(page, members);
    await page.selectOption('#model', 'marian');
    await page.fill('#text', text);
    await page.click('#send');
    return shownAnswer(page);
}

const TOKENS = ['The ', 'die', ' 🔥', ' fell', ' in', ' scan', '.', ''];
const PEAKS = [0, 0, 1, 2, 2, 4, 8, 8];
const ALIGNED = alignedText(SOURCE, TOKENS, PEAKS);

function shades(page, selector) {
    return page.locator(selector).evaluateAll((elements) =>
        elements.map(({ className }) => Number(/shade-(\d)/.exec(className)[1])));
}

const strongest = (list) => list.flatMap((shade, i) => (shade === Math.max(...list) ? [i] : []));

test('a token that is pointed at shades what it looked at', () =>
    shared.open({}, async (page) => {
        await asked(page, SOURCE, ALIGNED);
        assert.equal(await page.textContent('#words'), SOURCE);
        assert.equal(await page.locator('#words b').count(), 0);
        assert.equal(await page.textContent('#tokens'), TOKENS.join(''));
        const atRest = await shades(page, '#words .word');
        for (const [i, at] of PEAKS.slice(0, -1).entries()) {
            await page.hover(`#tokens .word >> nth=${i}`);
            assert.deepEqual(strongest(await shades(page, '#words .word')), [at]);
        }
        await page.hover('#tokens .word >> nth=5');
        assert.equal(await page.textContent('#looked'), '“scan” looked at “<b>scan</b>” 77.8 %, ' +
            '“the” 9.7 %, “test” 9.7 %');
        assert.equal(await page.locator('.matrix-rows .at').textContent(), 'scan');
        await page.mouse.move(0, 0);
        assert.deepEqual(await shades(page, '#words .word'), atRest);
        assert.match(await page.textContent('#looked'), /^Point at a token/);
    }));

test('a word that is pointed at shades the tokens that looked there', () =>
    shared.open({}, async (page) => {
        await asked(page, SOURCE, ALIGNED);
        await page.hover('#words .word >> nth=2');
        const tokens = await shades(page, '#tokens .word');
        assert.deepEqual(strongest(tokens), [3, 4]);
        assert.deepEqual(tokens.slice(5), [0, 0]);
        assert.match(await page.textContent('#looked'),
            /^“failed” was looked at by “fell” 77\.\d %, “in” 77\.\d %, “🔥” 9\.\d %$/);
        assert.equal(await page.locator('.matrix-columns .at').textContent(), 'failed');
    }));

test('the keyboard walks tokens and words', () => shared.open({}, async (page) => {
    await asked(page, SOURCE, ALIGNED);
    await page.focus('#tokens .word >> nth=0');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    assert.match(await page.textContent('#looked'), /^“🔥” looked at “🔥” /);
    assert.deepEqual(strongest(await shades(page, '#words .word')), [1]);
    assert.equal(await page.locator('#tokens [tabindex="0"]').count(), 1);
    await page.focus('#words .word >> nth=0');
    await page.keyboard.press('ArrowRight');
    assert.match(await page.textContent('#looked'), /^“🔥” was looked at by “🔥” /);
}));

/** Colours of all cells of the matrix, by way of a canvas of our own. */
function cells(page) {
    return page.evaluate(() => {
        const canvas = document.getElementById('matrix');
        const copy = new OffscreenCanvas(canvas.width, canvas.height);
        const context = copy.getContext('2d', { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        const { data } = context.getImageData(0, 0, copy.width, copy.height);
        return { width: copy.width, height: copy.height,
            colours: Array.from({ length: data.length / 4 }, (_, i) =>
                [data[4 * i], data[4 * i + 1], data[4 * i + 2]].join()) };
    });
}

test('the matrix has the colour of each weight, and tells the cell below the pointer', () =>
    shared.open({}, async (page) => {
        await asked(page, SOURCE, ALIGNED);
        const { width, height, colours } = await cells(page);
        const weights = ALIGNED.alignment.map((token) => token.weights);
        assert.deepEqual([width, height], [weights[0].length, TOKENS.length]);
        const ramp = await page.evaluate(async () => (await import('/ui/colours.js')).RAMP);
        const most = Math.max(...weights.flat());
        assert.deepEqual(colours, weights.flat().map((weight) =>
            ramp[Math.round(255 * weight / most)].join()));
        const box = await page.locator('#matrix').boundingBox();
        await page.mouse.move(box.x + 16 * 2.5, box.y + 16 * 3.5);
        assert.equal(await page.textContent('#looked'), '“fell” looked at “failed”: 77.9 %');
        await shoot(page, 'alignment');
    }));

test('a table says the same as the colours', () => shared.open({}, async (page) => {
    await asked(page, SOURCE, ALIGNED);
    await page.click('text=Strongest source of each token');
    const rows = await page.locator('#strongest tbody tr').evaluateAll((all) =>
        all.map((row) => [...row.cells].slice(0, 2).map((cell) => cell.textContent)));
    const words = SOURCE.split(' ');
    assert.deepEqual(rows, TOKENS.map((token, i) =>
        [token === '' ? 'no text' : `“${token.trim()}”`, words[PEAKS[i]]]));
}));

test('a large alignment scrolls, its names stay in sight', () => shared.open({}, async (page) => {
    const text = Array.from({ length: 60 }, (_, j) => `source${j}`).join(' ');
    const tokens = Array.from({ length: 40 }, (_, i) => `token${i} `);
    await asked(page, text, alignedText(text, tokens, tokens.map((_, i) => Math.round(1.5 * i))));
    await page.$eval('.matrix', (box) => box.scrollTo(1e4, 1e4));
    const inside = (selector) => page.$eval(selector, (element) => {
        const box = document.querySelector('.matrix').getBoundingClientRect();
        const { left, right, top, bottom } = element.getBoundingClientRect();
        return left >= box.left - 1 && right <= box.right + 1 && top >= box.top - 1 &&
            bottom <= box.bottom + 1;
    });
    assert.ok(await inside('.matrix-rows span:last-child'));
    assert.ok(await inside('.matrix-columns span:last-child'));
    const size = await page.$eval('.matrix-columns', (element) =>
        parseFloat(getComputedStyle(element).fontSize));
    assert.ok(size >= 11);
    await shoot(page, 'alignment-large');
}));

test('a model that writes has the one method, and its own alignment is drawn', () =>
    shared.open({}, async (page) => {
        await page.selectOption('#model', 'marian');
        assert.equal(await page.inputValue('#method'), 'true');
        assert.deepEqual(await page.locator('#method option:not([disabled])').allTextContents(),
            ['Default (alignment)', 'None']);
        assert.ok(await page.isDisabled('#layer'));
        await page.fill('#text', SOURCE);
        await page.click('#send');
        const { output, alignment, explanation } = await shownAnswer(page);
        assert.equal(await page.textContent('#tokens'), output);
        assert.equal(await page.locator('#words .word').count(), explanation.words.length);
        const { width, height } = await cells(page);
        assert.deepEqual([width, height], [explanation.words.length, alignment.length]);
        assert.match(await page.textContent('#curl'), /"explain":true/);
        await shoot(page, 'alignment-real');
        await page.selectOption('#method', 'false');
        await page.waitForFunction(() => !/explain/.test(
            document.getElementById('curl').textContent));
        assert.equal(await page.locator('#matrix').count(), 0);
    }));

test('a method of another model is not asked of one that writes', () =>
    shared.open({}, async (page) => {
        await page.selectOption('#model', '');
        await page.selectOption('#method', 'rollout');
        await page.selectOption('#model', 'trocr');
        await drop(page, '#drop', [MARK]);
        const { alignment, explanation } = await shownAnswer(page);
        assert.equal(explanation.method, 'alignment');
        assert.equal(alignment[0].weights.length, explanation.relevance.length);
        assert.ok(await page.isVisible('#heat'));
        await shoot(page, 'reading-real');
    }));

test('an alignment that does not fit its source is not drawn', () =>
    shared.open({}, async (page) => {
        const [first, ...rest] = ALIGNED.alignment;
        for (const alignment of [[], [{ ...first, weights: [1] }, ...rest]]) {
            await asked(page, SOURCE, { ...ALIGNED, alignment });
            assert.equal(await page.locator('#matrix, #tokens').count(), 0);
            assert.equal(await page.textContent('#label'), ALIGNED.output);
            await page.unroute('**/predict*');
        }
    }));

/* ---- pictures ---- */

const GRID = [3, 20];
const MARK = { name: 'mark.png', type: 'image/png',
    bytes: greyPng(Buffer.alloc(320 * 48, 90), 320, 48) };
const TEXT = 'AM1664-24A2';

/** Each character looked at one column of the grid, in the middle row. */
function alignedPicture(columns, members = {}) {
    const alignment = [...TEXT].map((one, i) => ({ text: one,
        weights: Array.from({ length: 60 }, (_, p) => (p === 20 + columns[i] ? 0.9 : 0.1 / 59)) }));
    return { output: TEXT, alignment, explanation: { method: 'alignment', grid: GRID,
        region: [0, 0, 320, 48], relevance: meanOf(alignment), top_patches: [] }, ...members };
}

async function read(page, members) {
    await replace(page, members);
    await page.selectOption('#model', 'trocr');
    await drop(page, '#drop', [MARK]);
    return shownAnswer(page);
}

/** Middles of the characters, in pixels of the picture. */
async function middles(page) {
    const picture = await page.locator('.source-image').boundingBox();
    const boxes = await page.locator('#tokens g text:not(.sign)').evaluateAll((texts) =>
        texts.map((text) => text.getBoundingClientRect()).map(({ left, width }) =>
            left + width / 2));
    return boxes.map((x) => (x - picture.x) * 320 / picture.width);
}

const SPREAD = [...TEXT].map((_, i) => 2 + Math.round(1.6 * i));

test('each character of a reading stands where the model looked', () =>
    shared.open({}, async (page) => {
        const answer = await read(page, alignedPicture(SPREAD));
        assert.equal(await page.textContent('#tokens'), TEXT);
        const wanted = answer.alignment.map(({ weights }) => 16 *
            weights.reduce((sum, weight, p) => sum + weight * (p % 20 + 0.5), 0));
        const found = await middles(page);
        found.forEach((x, i) => assert.ok(Math.abs(x - wanted[i]) < 2, `${i}: ${x}, ${wanted[i]}`));
        await shoot(page, 'reading-aligned');
    }));

test('characters keep their order and do not overlap wherever the model looked', () =>
    shared.open({}, async (page) => {
        for (const columns of [SPREAD.map(() => 19), SPREAD.map(() => 0), [...SPREAD].reverse()]) {
            await read(page, alignedPicture(columns));
            const found = await middles(page);
            found.slice(1).forEach((x, i) => assert.ok(x - found[i] > 5, String(found)));
            assert.ok(found[0] > 0 && found.at(-1) < 320);
            await page.unroute('**/predict*');
        }
    }));

test('a character that is pointed at shows its patches, a patch its characters', () =>
    shared.open({}, async (page) => {
        await read(page, alignedPicture(SPREAD));
        await page.uncheck('text=Smooth');
        const hottest = () => page.evaluate(() => {
            const canvas = document.getElementById('heat');
            const copy = new OffscreenCanvas(canvas.width, canvas.height);
            const context = copy.getContext('2d', { willReadFrequently: true });
            context.drawImage(canvas, 0, 0);
            return Array.from({ length: 60 }, (_, p) => context.getImageData(
                Math.floor((p % 20 + 0.5) * canvas.width / 20),
                Math.floor((Math.floor(p / 20) + 0.5) * canvas.height / 3), 1, 1).data[3])
                .flatMap((alpha, p) => (alpha === 255 ? [p] : []));
        });
        for (const i of [0, 4, 10]) {
            await page.hover(`#tokens g >> nth=${i}`);
            assert.deepEqual(await hottest(), [20 + SPREAD[i]]);
        }
        assert.match(await page.textContent('#looked'),
            /^“2” looked at row 2, column 19 90\.0 %$/);
        const { x, y, width, height } = await page.locator('#heat').boundingBox();
        await page.mouse.move(x + (SPREAD[3] + 0.5) * width / 20, y + height / 2);
        assert.deepEqual(await page.locator('#tokens g').evaluateAll((all) => all.flatMap((g, i) =>
            (g.getAttribute('class').includes('fills-5') ? [i] : []))), [3]);
        assert.match(await page.textContent('#looked'), /was looked at by “6” 90\.0 %$/);
        await page.focus('#tokens g >> nth=0');
        await page.keyboard.press('ArrowRight');
        assert.deepEqual(await hottest(), [20 + SPREAD[1]]);
    }));

test('check characters that hold are marked, by sign and by words, if that was asked', () =>
    shared.open({}, async (page) => {
        await replace(page, alignedPicture(SPREAD, { broken_rule: undefined,
            rejected: undefined }));
        await page.selectOption('#model', 'trocr');
        await drop(page, '#drop', [MARK]);
        await shownAnswer(page);
        assert.equal(await page.locator('#tokens .sign, #checked').count(), 0);
        await page.selectOption('#checksum', 'semi-m13');
        await page.waitForSelector('#checked');
        assert.equal(await page.textContent('#checked'), '✓ The check characters hold.');
        assert.equal((await page.locator('#tokens .sign').allTextContents()).join(''), '✓✓');
        assert.deepEqual(await page.locator('#tokens .check').allTextContents(), ['A', '2']);
        await shoot(page, 'reading-holds');
    }));

test('a long reading is shown as text, token by token', () => shared.open({}, async (page) => {
    const tokens = Array.from({ length: 30 }, (_, i) => `part${i} `);
    const alignment = tokens.map((text, i) => ({ text, weights: peak(i, 60) }));
    await read(page, { output: tokens.join(''), alignment, explanation: { method: 'alignment',
        grid: GRID, region: [0, 0, 320, 48], relevance: meanOf(alignment), top_patches: [] } });
    assert.equal(await page.locator('#tokens g').count(), 0);
    await page.hover('#tokens .word >> nth=7');
    assert.match(await page.textContent('#looked'), /^“part7” looked at row 1, column 8 /);
}));

const STATES = {
    alignment: (page) => asked(page, SOURCE, ALIGNED),
    reading: (page) => read(page, alignedPicture(SPREAD)),
};

for (const [state, reach] of Object.entries(STATES))
    for (const colorScheme of ['light', 'dark'])
        for (const width of [1280, 390])
            test(`${state}, ${colorScheme}, ${width} wide: readable and nothing cut off`, () =>
                shared.open({ colorScheme, width }, async (page) => {
                    await reach(page);
                    await page.click('text=Strongest source of each token');
                    await page.focus('#tokens [tabindex="0"]');
                    const [content, screen] = await page.evaluate(() =>
                        [document.documentElement.scrollWidth, innerWidth]);
                    assert.ok(content <= screen, `${content} > ${screen}`);
                    assert.deepEqual(await seriousFindings(page), []);
                    await shoot(page, `${state}-${colorScheme}-${width}`);
                }));
