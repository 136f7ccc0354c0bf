/* The page names each error and says what to do about it. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { MODELS, drop, fixture, shoot, shownAnswer, startServer, withPage } from './support.mjs';
import { waferPng } from './wafers.mjs';

const LIMIT = 20000;
const shared = fixture([...MODELS, '--body-bytes-max', String(LIMIT)]);
const WAFER = { name: 'a.png', type: 'image/png', bytes: waferPng('center') };

/* The browser itself reports a failed request on its console. */
const FAILED = [/Failed to load resource/];

async function problemOf(page) {
    await page.waitForSelector('#result .problem');
    const text = (selector) => page.textContent(`#result .problem ${selector}`);
    return { title: await text('h2'), code: await text('.code'), detail: await text('.detail'),
        advice: await text('.advice') };
}

function refuse(page, status, headers, detail) {
    return page.route('**/predict*', (route) => route.fulfill({ status, headers,
        contentType: 'application/problem+json', body: JSON.stringify({ status, detail,
            title: 'Too many requests' }) }));
}

test('a file that claims to be an image and is none', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await drop(page, '#drop', [{ ...WAFER, bytes: Buffer.from('no image at all') }]);
        const problem = await problemOf(page);
        assert.equal(problem.code, '422');
        assert.match(problem.detail, /PNG|JPEG|image/);
        assert.match(problem.advice, /Change what is named above/);
        await shoot(page, 'error-422');
        await drop(page, '#drop', [WAFER]);
        assert.equal((await shownAnswer(page)).label, 'Center');
        assert.equal(await page.locator('.problem:visible').count(), 0);
    }));

test('a file of a type that nobody reads', () =>
    shared.open({ expected: FAILED }, async (page) => {
        const bytes = Buffer.from([0, 1, 2, 3, 255]);
        await drop(page, '#drop', [{ name: 'dump.bin', type: '', bytes }]);
        const problem = await problemOf(page);
        assert.equal(problem.code, '400'); // of application/octet-stream the content decides
        assert.match(problem.advice, /PNG, .* and plain text/);
    }));

test('nothing to predict is said, not sent', () => shared.open({}, async (page) => {
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.click('#send');
    const problem = await problemOf(page);
    assert.equal(problem.code, 'page');
    assert.match(problem.detail, /text field is empty/);
    assert.deepEqual(asked.filter((url) => url.includes('/predict')), []);
}));

test('a body over the limit is refused before it is sent', () => shared.open({}, async (page) => {
    await page.fill('#text', 'a '.repeat(LIMIT));
    await page.click('#send');
    const problem = await problemOf(page);
    assert.equal(problem.code, '413');
    assert.match(problem.detail, /39\.1 KiB.*at most 19\.5 KiB/);
    await shoot(page, 'error-413');
}));

test('a body over the limit that the page does not know is refused by the server', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await page.route('**/models', async (route) => {
            const response = await route.fetch();
            const { models } = await response.json();
            models.forEach((model) => delete model.body_bytes_max);
            await route.fulfill({ response, json: { models } });
        });
        await page.reload();
        await page.waitForSelector('#server[data-state=ok]');
        await page.fill('#text', 'a '.repeat(LIMIT));
        await page.click('#send');
        const problem = await problemOf(page);
        assert.equal(problem.code, '413');
        assert.match(problem.detail, /larger than 20000 bytes/);
    }));

test('a full queue says when to come back, and can be asked again', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await refuse(page, 429, { 'Retry-After': '7' }, '1024 inputs wait');
        await drop(page, '#drop', [WAFER]);
        const problem = await problemOf(page);
        assert.equal(problem.code, '429');
        assert.equal(problem.detail, '1024 inputs wait');
        assert.match(await page.textContent('.problem button'), /^Try again \(advised in \d s\)$/);
        await shoot(page, 'error-429');
        await page.unroute('**/predict*');
        await page.click('.problem button');
        assert.equal((await shownAnswer(page)).label, 'Center');
    }));

test('a server that is stopping', () => shared.open({ expected: FAILED }, async (page) => {
    await refuse(page, 503, { 'Retry-After': '1' }, 'the server is draining');
    await drop(page, '#drop', [WAFER]);
    const problem = await problemOf(page);
    assert.equal(problem.code, '503');
    assert.match(problem.advice, /starting or stopping/);
}));

test('an answer that is not attnd’s', () => shared.open({ expected: FAILED }, async (page) => {
    await page.route('**/predict*', (route) => route.fulfill({ status: 502,
        contentType: 'text/html', body: '<b>bad gateway</b>' }));
    await drop(page, '#drop', [WAFER]);
    const problem = await problemOf(page);
    assert.equal(problem.code, '502');
    assert.match(problem.detail, /proxy/);
    assert.equal(await page.locator('.problem b').count(), 0);
}));

test('a server that is gone, and comes back', async () => {
    let server = await startServer();
    const { port } = server;
    try {
        await withPage(shared.tab, server, { expected: FAILED }, async (page) => {
            await server.stop();
            await drop(page, '#drop', [WAFER]);
            const problem = await problemOf(page);
            assert.match(problem.title, /No answer/);
            assert.match(problem.advice, /whether attnd is running/);
            await page.waitForSelector('#server[data-state=gone]');
            await shoot(page, 'error-network');
            server = await startServer(MODELS, port);
            await page.waitForSelector('#server[data-state=ok]');
            await page.click('.problem button');
            assert.equal((await shownAnswer(page)).label, 'Center');
        });
    } finally {
        await server.stop();
    }
});
