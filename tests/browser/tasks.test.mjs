/* Models that do not give one label for the whole input: spans, answers to questions, words for
 * masked tokens, weights of terms, vectors. The checkpoints are random: what is compared with is
 * the server's own reply, or one that the test makes. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { drop, fixture, saved, seriousFindings, shoot, shownAnswer } from './support.mjs';

const shared = fixture(['--model', 'vectors=tests/data/embedding/st-bert-0',
    '--model', 'qa=tests/data/answers/qa-bert-0', '--model', 'tags=tests/data/tags/ner-bert-0',
    '--model', 'pieces=tests/data/tags/ner-xlmr-0',
    '--model', 'fill=tests/data/vocabulary/mlm-bert-0',
    '--model', 'terms=tests/data/vocabulary/splade-bert-0',
    '--model', 'wafer-vit=models/wafer-vit']);

const LOG = '🔥 leakage at vdd_io: 3.97 V\n<b>lot</b> A1 \u202Epins';
const LONG = 'leakage at vdd_io: 3.97 uA, limit 2.5 uA, scan chain 3 at 1.05 V\n'.repeat(60);

async function choose(page, model, text) {
    await page.selectOption('#model', model);
    await page.fill('#text', text);
}

async function asked(page, model, text, question) {
    await choose(page, model, text);
    if (question !== undefined)
        await page.fill('#question', question);
    await page.click('#send');
    return shownAnswer(page);
}

/** Text between marks and in them, without the names; the marks with theirs. */
function marked(page) {
    return page.evaluate(() => {
        const own = (node) => [...node.childNodes].map((child) =>
            child.classList?.contains('tag-name') ? '' : child.textContent).join('');
        const body = document.getElementById('marked');
        return { text: [...body.childNodes].map((node) =>
            node.nodeName === 'MARK' ? own(node) : node.textContent).join(''),
        marks: [...body.querySelectorAll('mark')].map((mark) => ({ text: own(mark),
            names: [...mark.querySelectorAll('.tag-name')].map((name) => name.textContent) })) };
    });
}

/** Cuts by code points, as the server counts. */
function cut(text, { start, end }) {
    return [...text].slice(start, end).join('');
}

/** The server's reply with members of the test's own. */
async function replace(page, members) {
    await page.route('**/predict', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...await response.json(), ...members } });
    });
}

const SPANS = [{ label: 'TEST', score: 0.98, start: 0, end: 7, text: 'leakage' },
    { label: 'PIN', score: 0.991, start: 11, end: 17, text: 'vdd_io' },
    { label: 'VALUE', score: 0.87, start: 19, end: 23, text: '3.97' },
    { label: 'UNIT', score: 0.93, start: 24, end: 26, text: 'uA' },
    { label: 'LIMIT', score: 0.71, start: 28, end: 40, text: 'limit 2.5 uA' },
    { label: 'UNIT', score: 0.9, start: 38, end: 40, text: 'uA' },
    { label: 'TEST', score: 0.95, start: 42, end: 54, text: 'scan chain 3' },
    { label: 'VALUE', score: 0.97, start: 58, end: 62, text: '1.05' }];

test('spans are marked where they stand with their labels, and no text is markup', () =>
    shared.open({}, async (page) => {
        const { spans } = await asked(page, 'tags', LOG);
        assert.ok(spans.length > 3);
        const { text, marks } = await marked(page);
        assert.equal(text, LOG.replace('\u202E', '·'));
        assert.deepEqual(marks, spans.map((span) =>
            ({ text: cut(LOG, span).replace('\u202E', '·'), names: [span.label] })));
        assert.equal(await page.locator('#marked b').count(), 0);
        assert.deepEqual(await page.locator('#span-rows .number').evaluateAll((cells) =>
            cells.map(({ title }) => Number(title.split(',')[0]))),
        spans.slice(0, 12).map(({ score }) => score));
        assert.match(await page.textContent('#announce'), /^\d+ \w+, .*Review$/);
        assert.equal(await page.locator('.mark').count(), 0);
    }));

test('the legend counts labels, and a label has one colour in marks, list and legend', () =>
    shared.open({}, async (page) => {
        await replace(page, { spans: SPANS });
        await asked(page, 'tags', LONG);
        const legend = await page.locator('#tags li').evaluateAll((items) =>
            items.map((item) => [item.textContent, /tag-\d/.exec(item.className)[0]]));
        assert.deepEqual(legend.map(([text]) => text),
            ['TEST 2', 'PIN 1', 'VALUE 2', 'UNIT 2', 'LIMIT 1']);
        assert.equal(new Set(legend.map(([, colour]) => colour)).size, 5);
        const rows = await page.locator('#span-rows .tag').evaluateAll((items) =>
            items.map((item) => [item.textContent, /tag-\d/.exec(item.className)[0]]));
        for (const [name, colour] of rows)
            assert.ok(legend.some(([text, same]) =>
                text.startsWith(`${name} `) && same === colour));
    }));

test('a mark tells its label, score and place by pointer and by keys', () =>
    shared.open({}, async (page) => {
        await replace(page, { spans: SPANS });
        await asked(page, 'tags', LONG);
        const told = () => page.textContent('.words-box .readout');
        await page.hover('#marked mark >> nth=1');
        assert.equal(await told(), 'PIN, 99.1 %, characters 11 to 17');
        await page.hover('#marked mark >> nth=0 >> .tag-name');
        assert.equal(await told(), 'TEST, 98.0 %, characters 0 to 7');
        await page.focus('#marked mark >> nth=0');
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('ArrowRight');
        assert.equal(await told(), 'VALUE, 87.0 %, characters 19 to 23');
        assert.equal(await page.locator('#marked [tabindex="0"]').count(), 1);
        await page.click('#span-rows button:text-is("scan chain 3")');
        assert.match(await page.evaluate(() => document.activeElement.textContent),
            /^scan chain 3/);
    }));

test('spans that overlap are drawn once, and tell all that cover a place', () =>
    shared.open({}, async (page) => {
        await replace(page, { spans: SPANS });
        await asked(page, 'tags', LONG);
        const { text, marks } = await marked(page);
        assert.equal(text, `${LONG.slice(0, 2062)} … ${LONG.length - 2062} more`);
        assert.deepEqual(marks.slice(4, 6), [{ text: 'limit 2.5 ', names: [] },
            { text: 'uA', names: ['LIMIT', 'UNIT'] }]);
        assert.equal(await page.getAttribute('#marked .tag-several', 'title'),
            'LIMIT, 71.0 %, characters 28 to 40; UNIT, 90.0 %, characters 38 to 40');
        await shoot(page, 'spans');
    }));

test('parts that nest, cross, touch and are empty make pieces', () =>
    shared.open({}, async (page) => {
        const pieces = await page.evaluate(async () => {
            const { piecesOf } = await import('/ui/marks.js');
            const parts = [[0, 4], [2, 6], [3, 4], [6, 8], [7, 7], [9, 9]]
                .map(([start, end]) => ({ start, end }));
            return [piecesOf(parts).map(({ start, end, covering, ends }) =>
                [start, end, covering, ends]), piecesOf([])];
        });
        assert.deepEqual(pieces, [[[0, 2, [0], []], [2, 3, [0, 1], []], [3, 4, [0, 1, 2], [0, 2]],
            [4, 6, [1], [1]], [6, 7, [3], []], [7, 7, [4], [4]], [7, 8, [3], [3]],
            [9, 9, [5], [5]]], []]);
    }));

test('without aggregation each token is marked, in the colour of its tag', () =>
    shared.open({}, async (page) => {
        await asked(page, 'tags', LOG);
        await page.selectOption('#aggregation', 'none');
        await page.waitForFunction(() => /"label": "B-/.test(
            document.getElementById('json').textContent));
        const { spans } = await shownAnswer(page);
        const { marks } = await marked(page);
        assert.deepEqual(marks.map(({ names }) => names[0]), spans.map(({ label }) => label));
        const colours = await page.locator('#span-rows .tag').evaluateAll((items) =>
            items.map((item) => [item.textContent.slice(2), /tag-\d/.exec(item.className)[0]]));
        assert.equal(new Set(colours.map(([name]) => name)).size,
            new Set(colours.map((both) => both.join())).size);
        assert.match(await page.textContent('#curl'), /"aggregation":"none"/);
        const { spans: others } = await asked(page, 'pieces', LOG);
        assert.equal((await marked(page)).marks.length, others.length);
    }));

test('a long text is read in windows and marked to its end', () => shared.open({}, async (page) => {
    const { spans, windows } = await asked(page, 'tags', LONG);
    assert.ok(windows > 5);
    const { marks } = await marked(page);
    assert.equal(marks.length, spans.length);
    assert.equal(await page.locator('#span-rows tbody tr').count(), 12);
    await page.click(`text=Show all ${spans.length} spans`);
    assert.equal(await page.locator('#span-rows tbody tr').count(), spans.length);
    await page.click('#span-rows button >> nth=-1');
    assert.ok(await page.evaluate(() => {
        const box = document.getElementById('marked').getBoundingClientRect();
        const mark = document.activeElement.getBoundingClientRect();
        return mark.top >= box.top && mark.bottom <= box.bottom + 1;
    }));
}));

test('more marks than a browser draws are counted', () => shared.open({}, async (page) => {
    const text = 'ab '.repeat(3200);
    const spans = Array.from({ length: 3200 }, (_, i) =>
        ({ label: 'PIN', score: 0.5, start: 3 * i, end: 3 * i + 2, text: 'ab' }));
    await replace(page, { spans });
    await asked(page, 'tags', text);
    assert.equal(await page.locator('#marked mark').count(), 3000);
    assert.match(await page.textContent('.words-box .readout'), /first 3000 .* 200 more/);
}));

test('the default for a text is the first model that the page can show', () =>
    shared.open({}, async (page) => {
        await page.fill('#text', 'leakage');
        await page.click('#send');
        await page.waitForSelector('.problem');
        assert.match(await page.textContent('.problem .detail'), /^qa answers a question/);
        await page.fill('#question', 'Which pin leaks?');
        await page.keyboard.press('Enter');
        assert.equal((await shownAnswer(page)).model.name, 'qa');
    }));

test('a model that gives only vectors says so, and leads to the search', () =>
    shared.open({ expected: [/422/] }, async (page) => {
        assert.match(await page.textContent('#model option >> nth=1'), /only vectors/);
        await choose(page, 'vectors', LOG);
        assert.match(await page.textContent('#task-hint'), /^Gives only a vector of \d+ numbers/);
        await page.click('#send');
        assert.equal(await page.textContent('.only-vectors h2'), 'vectors gives only vectors');
        assert.deepEqual(await seriousFindings(page), []);
        await shoot(page, 'vectors');
        await page.click('#to-search');
        await page.waitForSelector('#search-result .problem');
        assert.equal(await page.inputValue('#search-text'), LOG);
        assert.ok(await page.isVisible('#search'));
    }));

test('a question is answered in the text, the other answers are listed', () =>
    shared.open({}, async (page) => {
        const { answers } = await asked(page, 'qa', LOG, 'Which <i>pin</i> leaks?');
        assert.equal(answers.length, 5);
        assert.equal(await page.textContent('#verdict'), answers[0].text.replaceAll('\n', ' '));
        assert.equal(await page.textContent('#asked'), 'Which <i>pin</i> leaks?');
        assert.deepEqual(await page.locator('#answers .number').evaluateAll((cells) =>
            cells.map(({ title }) => Number(title.split(',')[0]))),
        answers.map(({ score }) => score));
        const { text, marks } = await marked(page);
        assert.equal(text, LOG.replace('\u202E', '·'));
        const names = marks.flatMap((mark) => mark.names).map(Number).sort();
        assert.deepEqual(names, answers.map((one, i) => (one.end > one.start ? i + 1 : 0))
            .filter((rank) => rank > 0));
        await page.click('#answers button >> nth=0');
        assert.match(await page.evaluate(() => document.activeElement.title), /Answer 1, /);
        await page.check('#may-be-empty');
        await page.waitForFunction(() =>
            /handle_impossible_answer/.test(document.getElementById('curl').textContent));
        await shoot(page, 'answers');
    }));

test('a text without an answer says so', () => shared.open({}, async (page) => {
    await replace(page, { answer: { text: '', score: 0.9, start: 0, end: 0 },
        answers: [{ text: '', score: 0.9, start: 0, end: 0 }] });
    await asked(page, 'qa', LOG, 'Which pin leaks?');
    assert.equal(await page.textContent('#verdict'), 'No answer');
    assert.deepEqual(await page.locator('#answers th[scope=row]').allTextContents(), ['No answer']);
    assert.equal(await page.locator('#marked mark').count(), 0);
    assert.deepEqual(await seriousFindings(page), []);
}));

test('words are told for each mask, at its place', () => shared.open({}, async (page) => {
    const text = '🔥 The die failed the [MASK] test at [MASK].';
    await choose(page, 'fill', text);
    assert.equal(await page.textContent('#task-hint'),
        'Tells the words for each [MASK] of the text.');
    await page.click('#send');
    const { predictions } = await shownAnswer(page);
    const { text: shown, marks } = await marked(page);
    assert.equal(shown, text);
    assert.deepEqual(marks, predictions.map(([best]) => ({ text: '[MASK]', names: [best.text] })));
    for (const [i, best] of predictions.entries()) {
        assert.deepEqual(await page.locator(`#mask-${i + 1} th[scope=row]`).allTextContents(),
            best.map((one) => one.text));
        assert.equal(best.length, 8);
    }
    assert.equal(await page.locator('#decision').count(), 0);
    await shoot(page, 'masks');
}));

test('a text without a mask is not sent', () => shared.open({}, async (page) => {
    await choose(page, 'fill', 'no mask');
    await page.click('#send');
    await page.waitForSelector('.problem');
    assert.match(await page.textContent('.problem .detail'), /write \[MASK\] where a word is/);
}));

test('terms are listed by weight', () => shared.open({}, async (page) => {
    const { sparse } = await asked(page, 'terms', LOG);
    const first = sparse.reduce((best, one) => (one.value > best.value ? one : best));
    assert.equal(await page.textContent('#terms th[scope=row] >> nth=0'), first.token);
    await page.click(`text=Show all ${sparse.length} terms`);
    assert.equal(await page.locator('#terms tbody tr').count(), sparse.length);
}));

test('what only other tasks have cannot be chosen', () => shared.open({}, async (page) => {
    const shown = (id) => page.isVisible(id);
    await choose(page, 'tags', LOG);
    assert.deepEqual([await page.isDisabled('#method'), await page.isDisabled('#second'),
        await shown('#aggregation'), await shown('#question-field')], [true, true, true, false]);
    await choose(page, 'qa', LOG);
    assert.deepEqual([await shown('#aggregation'), await shown('#question-field')], [false, true]);
    await page.selectOption('#model', 'wafer-vit');
    assert.deepEqual([await page.isDisabled('#method'), await shown('#aggregation'),
        await shown('#question-field')], [false, false, false]);
}));

test('history and a saved answer hold places and no text', () => shared.open({}, async (page) => {
    const answer = await asked(page, 'qa', LOG, 'Which pin leaks?');
    const { text } = await saved(page, () => page.click('.tools button:text-is("JSON")'));
    const [entry] = JSON.parse(text);
    assert.equal(entry.label, `Characters ${answer.answer.start} to ${answer.answer.end}`);
    assert.deepEqual(entry.answers[0], { score: answer.answer.score, start: answer.answer.start,
        end: answer.answer.end });
    assert.ok(!text.includes('leakage'));
    await asked(page, 'fill', 'a [MASK]');
    await page.click('#tab-history');
    await page.waitForSelector('#history-rows td');
    const rows = await page.locator('#history-rows tbody tr').allTextContents();
    assert.match(rows[0], /–fill/);
    assert.match(rows[1], /Characters \d+ to \d+/);
}));

test('several texts are tagged, and asked one question', () => shared.open({}, async (page) => {
    const files = ['leakage at vdd_io', 'scan chain 3'].map((text, i) =>
        ({ name: `${i}.log`, type: '', bytes: Buffer.from(text) }));
    await page.selectOption('#model', 'qa');
    await page.fill('#question', 'Where?');
    await drop(page, '#drop', files);
    await page.waitForSelector('#batch-progress', { state: 'hidden' });
    assert.doesNotMatch(await page.textContent('#batch-rows tbody'), /not sent yet/);
    assert.match(await page.textContent('#batch-status'), /2 of 2 answered: 2 review/);
    await page.selectOption('#model', 'tags');
    await drop(page, '#drop', files);
    await page.waitForSelector('#batch-progress', { state: 'hidden' });
    assert.match(await page.textContent('#batch-status'), /2 of 2 answered: 2 review/);
    await page.selectOption('#model', 'vectors');
    await drop(page, '#drop', files);
    await page.waitForSelector('#batch-progress', { state: 'hidden' });
    assert.match(await page.textContent('#batch-rows .failed >> nth=0'), /Gives only a vector/);
}));

test('a multi-label model has all its labels for a headline, or none', () =>
    shared.open({}, async (page) => {
        await page.route('**/models', async (route) => {
            const response = await route.fetch();
            const { models } = await response.json();
            await route.fulfill({ response, json: { models: models.map((model) =>
                (model.name === 'wafer-vit' ? { ...model, scores: 'sigmoid' } : model)) } });
        });
        await page.reload();
        await page.waitForSelector('#server[data-state=ok]');
        for (const [scores, headline] of [[[0.9, 0.7, 0.1], 'Center, Scratch'],
            [[0.3, 0.2, 0.1], 'No label']]) {
            const predictions = ['Center', 'Scratch', 'Loc'].map((label, i) =>
                ({ label, score: scores[i] }));
            await page.route('**/predict?*', async (route) => {
                const response = await route.fetch();
                const answer = { ...await response.json(), predictions, label: 'Center',
                    score: scores[0], decision: 'review', explanation: undefined };
                await route.fulfill({ response, json: answer });
            });
            await page.click('.sample:has-text("Center")');
            await shownAnswer(page);
            await page.waitForFunction((text) =>
                document.getElementById('verdict')?.textContent === text, headline);
            assert.equal(await page.locator('#score').count(), 0);
            assert.match(await page.textContent('#announce'), new RegExp(`^${headline}, Review$`));
            await page.unroute('**/predict?*');
        }
    }));

const STATES = {
    spans: async (page) => {
        await replace(page, { spans: SPANS });
        await asked(page, 'tags', LONG);
    },
    answers: (page) => asked(page, 'qa', LONG, 'Which pin leaks?'),
    masks: (page) => asked(page, 'fill', 'The die failed the [MASK] test at [MASK].'),
    terms: (page) => asked(page, 'terms', LOG),
};

for (const [state, reach] of Object.entries(STATES))
    for (const colorScheme of ['light', 'dark'])
        for (const width of [1280, 390])
            test(`${state}, ${colorScheme}, ${width} wide: readable and nothing cut off`, () =>
                shared.open({ colorScheme, width }, async (page) => {
                    await reach(page);
                    const [content, screen] = await page.evaluate(() =>
                        [document.documentElement.scrollWidth, innerWidth]);
                    assert.ok(content <= screen, `${content} > ${screen}`);
                    assert.deepEqual(await seriousFindings(page), []);
                    await shoot(page, `${state}-${colorScheme}-${width}`);
                }));
