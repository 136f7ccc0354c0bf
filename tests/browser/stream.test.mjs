/* Tokens as they come. The test plays the server for POST /predict, so that it says when each piece
 * of the stream comes and where it is cut. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { fixture, seriousFindings, shoot, shownAnswer } from './support.mjs';
import { writer } from '../support/writers.mjs';

const shared = fixture(['--model', `marian=${writer('marian-0')}`]);

const RESULT = { id: '1', model: { name: 'marian', version: '1', digest: null }, score: -0.25,
    timing_ms: { total: 3 } };

/* In the page: what is sent to /predict waits for pieces. */
function playServer() {
    const real = window.fetch;
    window.fetch = (address, options) => {
        if (!String(address).includes('/predict'))
            return real(address, options);
        window.stream = { sent: JSON.parse(options.body), isAborted: false };
        const body = new ReadableStream({ start: (controller) => {
            const encoder = new TextEncoder();
            window.stream.push = (text) => controller.enqueue(encoder.encode(text));
            window.stream.pushBytes = (bytes) => controller.enqueue(Uint8Array.from(bytes));
            window.stream.close = () => controller.close();
            window.stream.fail = () => controller.error(new TypeError('network error'));
            options.signal.addEventListener('abort', () => {
                window.stream.isAborted = true;
                controller.error(options.signal.reason);
            });
        } });
        return Promise.resolve(new Response(body, { status: 200,
            headers: { 'Content-Type': 'text/event-stream; charset=utf-8' } }));
    };
}

function eventText(event, object) {
    return `event: ${event}\ndata: ${JSON.stringify(object)}\n\n`;
}

async function begin(page) {
    await page.evaluate(playServer);
    await page.selectOption('#model', 'marian');
    await page.fill('#num-beams', '1');
    await page.check('#stream');
    await page.fill('#text', 'The die failed.');
    await page.click('#send');
    await page.waitForSelector('#stop');
    await page.waitForFunction(() => window.stream?.push !== undefined);
}

const push = (page, text) => page.evaluate((piece) => window.stream.push(piece), text);

const shows = (page, text) => page.waitForFunction((wanted) =>
    document.getElementById('streamed')?.textContent === wanted, text);

test('tokens are shown as they come, then the whole answer', () =>
    shared.open({}, async (page) => {
        await begin(page);
        assert.equal(await page.evaluate(() => window.stream.sent.stream), true);
        await push(page, eventText('token', { text: 'Der ' }));
        await shows(page, 'Der ');
        await push(page, eventText('token', { text: '<b>Die</b>\u202E 🔥' }));
        await shows(page, 'Der <b>Die</b>· 🔥');
        assert.equal(await page.locator('#streamed b').count(), 0);
        await shoot(page, 'streamed');
        assert.deepEqual(await seriousFindings(page), []);
        await push(page, eventText('result', { ...RESULT, output: 'Der Die.' }));
        const answer = await shownAnswer(page);
        assert.equal(answer.output, 'Der Die.');
        assert.equal(await page.textContent('#label'), 'Der Die.');
        assert.equal(await page.locator('#streamed, #stop').count(), 0);
        assert.match(await page.textContent('#announce'), /^Der Die\., −0\.250$/);
    }));

test('a stream may be cut anywhere, and its lines may end in three ways', () =>
    shared.open({}, async (page) => {
        const text = 'Düse 🔥 "x"\n';
        for (const ending of ['\n', '\r\n', '\r']) {
            await begin(page);
            const events = `:comment${ending}${ending}` +
                eventText('token', { text }).replaceAll('\n', ending) +
                eventText('result', { ...RESULT, output: text }).replaceAll('\n', ending);
            await page.evaluate((bytes) => bytes.forEach((one) =>
                window.stream.pushBytes([one])), [...Buffer.from(events)]);
            await page.waitForFunction((wanted) =>
                document.getElementById('label')?.textContent === wanted, text);
            await page.reload();
            await page.waitForSelector('#server[data-state=ok]');
        }
    }));

test('stop aborts the request, and what came stays', () => shared.open({}, async (page) => {
    await begin(page);
    await push(page, eventText('token', { text: 'Der Die' }));
    await shows(page, 'Der Die');
    await page.click('#stop');
    assert.equal(await page.evaluate(() => window.stream.isAborted), true);
    assert.equal(await page.textContent('#streamed'), 'Der Die');
    assert.match(await page.textContent('#stream-state'), /^Stopped\./);
    assert.equal(await page.locator('#stop, #result .problem').count(), 0);
    await page.click('#result button:text-is("Copy")');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'Der Die');
}));

test('another input ends a stream', () => shared.open({}, async (page) => {
    await begin(page);
    await push(page, eventText('token', { text: 'first' }));
    await shows(page, 'first');
    await page.evaluate(() => {
        window.before = window.stream;
    });
    await page.fill('#text', 'Another.');
    await page.click('#send');
    await page.waitForFunction(() => window.before.isAborted && window.stream !== window.before);
    await push(page, eventText('token', { text: 'second' }));
    await shows(page, 'second');
}));

for (const [how, end, told] of [
    ['by a problem', (page) => push(page, eventText('problem', { status: 504,
        title: 'Too late', detail: 'deadline after 3 tokens' })), /deadline after 3 tokens/],
    ['without a result', (page) => page.evaluate(() => window.stream.close()),
        /ended before the whole text/],
    ['within an event', async (page) => {
        await push(page, 'event: result\ndata: {"output": "half');
        await page.evaluate(() => window.stream.close());
    }, /ended before the whole text/],
    ['by the network', (page) => page.evaluate(() => window.stream.fail()), /network error/],
    ['in what is no JSON', (page) => push(page, 'event: token\ndata: {\n\n'), /to its end/]])
    test(`a stream that ends ${how} is an error with its reason`, () =>
        shared.open({ expected: [/.*/] }, async (page) => {
            await begin(page);
            await push(page, eventText('token', { text: 'Der ' }));
            await shows(page, 'Der ');
            await end(page);
            await page.waitForSelector('#result .problem');
            assert.match(await page.textContent('#result .problem .detail'), told);
        }));

test('with more than one beam there is nothing to show as it comes', () =>
    shared.open({}, async (page) => {
        await page.selectOption('#model', 'marian');
        assert.ok(await page.isDisabled('#stream')); // the checkpoint has four beams
        await page.fill('#num-beams', '1');
        await page.press('#num-beams', 'Tab');
        assert.ok(await page.isEnabled('#stream'));
        await page.check('#stream');
        await page.fill('#num-beams', '2');
        await page.fill('#text', 'The die failed.');
        await page.click('#send');
        const { output } = await shownAnswer(page);
        assert.equal(typeof output, 'string');
        assert.doesNotMatch(await page.textContent('#curl'), /stream/);
    }));

test('the server’s own stream ends in the answer that comes without one', () =>
    shared.open({}, async (page) => {
        await page.selectOption('#model', 'marian');
        await page.fill('#num-beams', '1');
        await page.fill('#text', 'The die failed the scan test at 3.97 V.');
        await page.click('#send');
        const plain = await shownAnswer(page);
        await page.check('#stream');
        await page.waitForFunction(() => /"stream":true/
            .test(document.getElementById('curl')?.textContent));
        const streamed = await shownAnswer(page);
        assert.deepEqual([streamed.output, streamed.score], [plain.output, plain.score]);
        assert.equal(await page.textContent('#label'), plain.output);
        assert.equal(await page.textContent('#tokens'), plain.output);
    }));
