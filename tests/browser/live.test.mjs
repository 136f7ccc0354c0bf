/* The Live view's numbers are those of /metrics. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { MODELS, ask, drop, fixture, shoot, shownAnswer, startServer, withPage } from
    './support.mjs';
import { waferPng } from './wafers.mjs';

const shared = fixture();
const WAFER = waferPng('center');

function predictOne(server) {
    return ask(server, '/predict', { method: 'POST', body: WAFER,
        headers: { 'Content-Type': 'image/png' } });
}

/** Lines of a family with these labels, as numbers. */
function family(text, name, ...labels) {
    return text.split('\n').filter((line) => /[^{ ]*/.exec(line)[0] === name)
        .filter((line) => labels.every((label) => line.includes(label)))
        .map((line) => ({ line, value: Number(line.split(' ').at(-1)) }));
}

function total(text, name, ...labels) {
    return family(text, name, ...labels).reduce((sum, { value }) => sum + value, 0);
}

/** The quantile as Prometheus computes it, from the text itself. */
function quantileOf(text, share) {
    const buckets = new Map();
    for (const { line, value } of family(text, 'attnd_request_duration_seconds_bucket',
        'route="/predict"')) {
        const bound = /le="([^"]*)"/.exec(line)[1];
        buckets.set(bound, (buckets.get(bound) ?? 0) + value);
    }
    const wanted = share * buckets.get('+Inf');
    let low = 0, before = 0;
    for (const [bound, count] of buckets) {
        if (count >= wanted)
            return low + (Number(bound) - low) * (wanted - before) / (count - before);
        [low, before] = [Number(bound), count];
    }
    return NaN;
}

function tableRows(page, id) {
    return page.locator(`#${id} tbody tr`).evaluateAll((rows) =>
        rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

test('its numbers agree with /metrics', () => shared.open({}, async (page) => {
    for (let i = 0; i < 20; i++)
        await predictOne(shared.server);
    await drop(page, '#drop', [{ name: 'a.png', type: 'image/png', bytes: WAFER }]);
    await shownAnswer(page);
    await page.click('#tab-live');
    await page.waitForFunction(() =>
        document.getElementById('total').textContent.startsWith('21 '));
    const text = await ask(shared.server, '/metrics');
    assert.equal(total(text, 'attnd_predictions_total'), 21);
    assert.match(await page.textContent('#queue-limit'),
        new RegExp(`^of ${total(text, 'attnd_queue_limit').toLocaleString('en')} that may wait`));
    assert.deepEqual(await tableRows(page, 'decisions'), [['wafer-vit', 'Center', '21', '0', '0']]);
    const [, since] = await tableRows(page, 'latency');
    [0.5, 0.95, 0.99].forEach((share, i) => {
        const expected = quantileOf(text, share) * 1000;
        assert.ok(Math.abs(parseFloat(since[i + 1]) - expected) <= 0.051 + expected * 0.005,
            `${since[i + 1]} is not ${expected}`);
    });
    await page.waitForTimeout(2500);
    await shoot(page, 'live');
}));

test('throughput is what came between two readings', () => shared.open({ path: '#live' },
    async (page) => {
        await page.waitForFunction(() =>
            document.getElementById('rate').textContent === '0.0/s');
        await Promise.all(Array.from({ length: 40 }, () => predictOne(shared.server)));
        await page.waitForFunction(() => document.getElementById('rate').textContent !== '0.0/s');
        const rate = parseFloat(await page.textContent('#rate'));
        assert.ok(rate > 0 && rate <= 40, `${rate}`);
        const [recent] = await tableRows(page, 'latency');
        assert.match(recent[1], /ms$/);
        await shoot(page, 'live-busy');
    }));

test('it reads every two seconds, and only while it is looked at', () =>
    shared.open({}, async (page) => {
        let readings = 0;
        page.on('request', (request) => {
            readings += request.url().endsWith('/metrics') ? 1 : 0;
        });
        await page.waitForTimeout(2500);
        assert.equal(readings, 0);
        await page.click('#tab-live');
        await page.waitForTimeout(4500);
        assert.ok(readings === 2 || readings === 3, `${readings} readings`);
        await page.click('#tab-predict');
        const before = readings;
        await page.waitForTimeout(2500);
        assert.equal(readings, before);
    }));

test('recent predictions are kept without their text', () => shared.open({}, async (page) => {
    const secret = 'kernel panic in lot SECRET-42';
    await page.fill('#text', secret);
    await page.click('#send');
    const answer = await shownAnswer(page);
    await page.click('#tab-live');
    const [row] = await tableRows(page, 'recent');
    const shown = answer.decision === 'unknown' ? `Unknown (nearest: ${answer.label})`
        : answer.label;
    assert.deepEqual(row.slice(1, 3), [`text, ${secret.length} characters`, shown]);
    assert.doesNotMatch(await page.textContent('#live'), /SECRET/);
    assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length]),
        [0, 0]);
}));

test('a server that is gone is told, and read again when it is back', async () => {
    let server = await startServer();
    const { port } = server;
    try {
        const how = { expected: [/Failed to load resource/], path: '#live' };
        await withPage(shared.tab, server, how, async (page) => {
            await page.waitForFunction(() =>
                document.getElementById('rate').textContent === '0.0/s');
            await server.stop();
            await page.waitForSelector('#gone:visible');
            assert.match(await page.textContent('#gone'), /^No metrics since \d\d:\d\d:\d\d/);
            assert.match(await page.textContent('#server'), /No answer/);
            await shoot(page, 'live-gone');
            server = await startServer(MODELS, port);
            await page.waitForSelector('#gone', { state: 'hidden' });
            await page.waitForSelector('#server[data-state=ok]');
        });
    } finally {
        await server.stop();
    }
});

test('label values with quotes and line breaks are read', () => shared.open({}, async (page) => {
    const samples = await page.evaluate(async () => (await import('./ui/metrics.js')).parse(
        '# HELP a b\na{l="x\\"y\\\\z\\n,}",m=""} 3\nb 4e-3\nc_bucket{le="+Inf"} +Inf\n'));
    assert.deepEqual(samples, [
        { name: 'a', labels: { l: 'x"y\\z\n,}', m: '' }, value: 3 },
        { name: 'b', labels: {}, value: 0.004 },
        { name: 'c_bucket', labels: { le: '+Inf' }, value: Infinity }]);
}));
