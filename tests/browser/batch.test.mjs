/* Several inputs at once: a row for each, whatever becomes of it. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { MODELS, drop, fixture, saved, shoot, shownAnswer } from './support.mjs';
import { greyPng } from './png.mjs';
import { SIDE, waferPng } from './wafers.mjs';

const INPUTS_MAX = 4;
const BYTES_MAX = 20000;
const PIXELS_MAX = 10000;
const shared = fixture([...MODELS, '--inputs-max', String(INPUTS_MAX), '--body-bytes-max',
    String(BYTES_MAX), '--image-pixels-max', String(PIXELS_MAX), '--request-pixels-max', '15000']);
const FAILED = [/Failed to load resource/];

function wafer(name, pattern = 'center') {
    return { name, type: 'image/png', bytes: waferPng(pattern) };
}

function log(name, text) {
    return { name, type: '', bytes: Buffer.from(text) };
}

const MIXED = [wafer('ring.png', 'edge_ring'), log('crash.log', 'BUG: kernel NULL pointer ' +
    'dereference, address: 0000000000000018'), wafer('scratch.png', 'scratch'),
{ name: 'none.png', type: 'image/png', bytes: Buffer.from('no image at all') },
wafer('center.png', 'center'), log('hang.log', 'watchdog: BUG: soft lockup - CPU#1 stuck')];

function cells(page) {
    return page.locator('#batch-rows tbody tr').evaluateAll((rows) =>
        rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

async function whole(page) {
    await page.waitForSelector('#batch-rows tbody tr');
    await page.waitForSelector('#batch-progress', { state: 'hidden' });
}

/** The bodies of requests for predictions; null for what is no JSON. */
function bodies(page) {
    const out = [];
    page.on('request', (request) => {
        if (new URL(request.url()).pathname === '/predict')
            out.push(request.headers()['content-type'] === 'application/json'
                ? JSON.parse(request.postData()) : null);
    });
    return out;
}

test('a log in gzip or UTF-16 is answered as the log itself', () => shared.open({}, async (page) => {
    const text = 'watchdog: BUG: soft lockup - CPU#1 stuck for 23 µs';
    const wide = Buffer.from(`\uFEFF${text}`, 'utf16le');
    await drop(page, 'body', [log('a.log', text), { name: 'b.log.gz', type: 'application/gzip',
        bytes: gzipSync(text) }, { name: 'c.log', type: '', bytes: wide },
    { name: 'd.log.gz', type: '', bytes: gzipSync(wide) }]);
    await whole(page);
    const rows = await cells(page);
    assert.equal(rows.length, 4);
    for (const [i, [first, ...answer]] of rows.entries()) {
        assert.equal(first, `${['a.log', 'b.log.gz', 'c.log', 'd.log.gz'][i]}${text}`);
        assert.deepEqual(answer, rows[0].slice(1));
    }
}));

test('images and logs that are dropped together have a row each, and an error its own', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await drop(page, 'body', MIXED);
        await whole(page);
        const rows = await cells(page);
        assert.deepEqual(rows.map(([first]) => first), ['ring.png',
            'crash.logBUG: kernel NULL pointer dereference, address: 0000000000000018',
            'scratch.png', 'none.png', 'center.png',
            'hang.logwatchdog: BUG: soft lockup - CPU#1 stuck']);
        assert.equal(rows[0][1], 'Edge-Ring');
        assert.match(rows[0][2], /^\d+\.\d %$/);
        assert.deepEqual([rows[2][1], rows[2][3]], ['Scratch', 'Review']);
        assert.match(rows[2][4], /^Label 'Scratch' always goes to a person/);
        assert.match(rows[3][1], /^ the image is not PNG/);
        assert.equal(rows[4][1], 'Center');
        assert.match(await page.textContent('#batch-status'), /^6 of 6 answered: .*1 failed$/);
        const widths = await page.locator('#batch-rows .thumb').evaluateAll((images) =>
            images.map((image) => image.naturalWidth));
        assert.deepEqual(widths, [SIDE, SIDE, 0, SIDE]);
        await shoot(page, 'several');
    }));

test('files that are chosen together too', () => shared.open({}, async (page) => {
    await page.setInputFiles('#file', [wafer('a.png'), wafer('b.png', 'scratch')].map((file) =>
        ({ name: file.name, mimeType: file.type, buffer: file.bytes })));
    await whole(page);
    assert.deepEqual((await cells(page)).map((row) => row[1]), ['Center', 'Scratch']);
}));

test('an unknown input is none of the classes', () => shared.open({}, async (page) => {
    const noise = Buffer.alloc(48 * 48, 0).map((_, i) => (i * 7919) % 251);
    await drop(page, 'body', [wafer('a.png'),
        { name: 'noise.png', type: 'image/png', bytes: greyPng(noise, 48, 48) }]);
    await whole(page);
    assert.match((await cells(page))[1][1], /^Unknownnearest: /);
}));

test('a row opens its full result with its explanation, and the table stays', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await drop(page, 'body', MIXED);
        await whole(page);
        await page.click('#batch-rows button:has-text("scratch.png")');
        assert.equal((await shownAnswer(page)).label, 'Scratch');
        await page.waitForSelector('#heat');
        await page.click('#batch-rows tr:has-text("crash.log") td >> nth=1');
        await page.waitForSelector('#words');
        assert.match(await page.textContent('.source'), /^crash\.log/);
        assert.equal((await cells(page)).length, MIXED.length);
        await page.click('.sample >> nth=0');
        await page.waitForSelector('#batch', { state: 'hidden' });
    }));

test('requests stay within what the models say that the server takes', () =>
    shared.open({}, async (page) => {
        const sent = bodies(page);
        const noise = (i) => greyPng(Buffer.alloc(90 * 90).map((_, k) => (k * 31 + i) % 251),
            90, 90);
        const files = [...Array.from({ length: 11 }, (_, i) => wafer(`${i}.png`)),
            ...Array.from({ length: 2 }, (_, i) =>
                ({ name: `n${i}.png`, type: 'image/png', bytes: noise(i) })),
            ...Array.from({ length: 9 }, (_, i) =>
                log(`${i}.log`, `kernel panic ${i} `.repeat(400)))];
        await drop(page, 'body', files);
        await whole(page);
        const several = sent.filter((body) => body !== null && body.inputs !== undefined);
        for (const body of several) {
            assert.ok(body.inputs.length <= INPUTS_MAX);
            assert.ok(JSON.stringify(body).length <= BYTES_MAX);
            const images = body.inputs.filter(({ image }) => image !== undefined);
            assert.ok(images.length === 0 || images.length === body.inputs.length);
            assert.ok(images.length * SIDE * SIDE <= 15000);
        }
        assert.equal(several[0].inputs.length, INPUTS_MAX);
        assert.match(await page.textContent('#batch-status'), /^22 of 22 answered/);
        assert.doesNotMatch(await page.textContent('#batch-status'), /failed/);
    }));

test('the pixels of a picture are read from its head', () => shared.open({}, async (page) => {
    const pixels = await page.evaluate(async () => {
        const { pixelsOf } = await import('./ui/pixels.js');
        const preview = [0xFF, 0xE1, 0, 6, 0xFF, 0xC0, 0, 1]; // what looks like a frame is none
        const frame = (marker) => [0xFF, 0xD8, ...preview, 0xFF, 0xC4, 0, 3, 0, 0xFF, marker, 0, 11,
            8, 2, 88, 3, 32, 1, 1, 0x11, 0];
        const of = (bytes, type) => pixelsOf(Uint8Array.from(bytes), type);
        return [of(frame(0xC0), 'image/jpeg'), of(frame(0xC2), 'image/jpeg'),
            of(frame(0xC0).slice(0, 18), 'image/jpeg'),
            of([0xFF, 0xD8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 'image/jpeg'),
            of([0x89, 0x50], 'image/png'),
            of([...Array(14).fill(0), 40, 0, 0, 0, 32, 3, 0, 0, 0xA8, 0xFD, 0xFF, 0xFF], 'image/bmp'),
            of([...Array(14).fill(0), 12, 0, 0, 0, 32, 3, 88, 2, 1, 0, 24, 0], 'image/bmp'),
            of([0x42, 0x4D], 'image/bmp')];
    });
    assert.deepEqual(pixels, [480000, 480000, 0, 0, 0, 480000, 480000, 0]);
}));

test('a BMP is a picture by its bytes, and a log that begins with BM a text', () =>
    shared.open({}, async (page) => {
        const side = 8, head = Buffer.alloc(54);
        head.write('BM');
        [[10, 54], [14, 40], [18, side], [22, side], [26, 24 * 65536 + 1]]
            .forEach(([at, value]) => head.writeUInt32LE(value, at));
        await drop(page, 'body', [
            { name: 'map', type: '', bytes: Buffer.concat([head, Buffer.alloc(side * side * 3)]) },
            { name: 'log', type: '', bytes: Buffer.from('BM 7 FAIL vdd_io 3.97 V') }]);
        await whole(page);
        assert.match(await page.textContent('#batch-status'), /^2 of 2 answered/);
        assert.doesNotMatch(await page.textContent('#batch-status'), /failed/);
    }));

test('what is too large for the server is said before it is sent', () =>
    shared.open({}, async (page) => {
        const sent = bodies(page);
        const wide = greyPng(Buffer.alloc(101 * 100), 101, 100);
        await drop(page, 'body', [{ name: 'wide.png', type: 'image/png', bytes: wide },
            log('long.log', 'a '.repeat(BYTES_MAX)), wafer('a.png')]);
        await whole(page);
        const rows = await cells(page);
        assert.match(rows[0][1], /10,100 pixels; the server takes at most 10,000/);
        assert.match(rows[1][1], /39\.1 KiB; the server takes at most 19\.5 KiB/);
        assert.equal(rows[2][1], 'Center');
        assert.deepEqual(sent, [null]);
    }));

test('a group that is too large after all goes in halves', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await page.route('**/predict', (route) => route.request().postDataJSON().inputs.length > 2
            ? route.fulfill({ status: 413, json: { status: 413, title: 'x', detail: 'memory' } })
            : route.continue());
        await drop(page, 'body', ['a', 'b', 'c', 'd'].map((name) => wafer(`${name}.png`)));
        await whole(page);
        assert.match(await page.textContent('#batch-status'), /^4 of 4 answered/);
        assert.doesNotMatch(await page.textContent('#batch-status'), /failed/);
    }));

for (const status of [429, 503])
    test(`a server that is busy (${status}) is waited for`, () =>
        shared.open({ expected: FAILED }, async (page) => {
            let asked = 0;
            await page.route('**/predict', (route) => asked++ === 0
                ? route.fulfill({ status, headers: { 'Retry-After': '1' },
                    json: { status, title: 'busy', detail: 'later' } })
                : route.continue());
            const begun = Date.now();
            await drop(page, 'body', [wafer('a.png'), wafer('b.png')]);
            await page.waitForSelector('#batch-status:has-text("goes on in 1 second")');
            await whole(page);
            assert.ok(Date.now() - begun >= 1000);
            assert.equal(asked, 2);
            assert.match(await page.textContent('#batch-status'), /^2 of 2 answered: [^f]*$/);
        }));

test('it can be cancelled, and goes on with what has no answer', () =>
    shared.open({ expected: FAILED }, async (page) => {
        let asked = 0, hold;
        const held = new Promise((resolve) => { hold = resolve; });
        await page.route('**/predict', (route) => ++asked === 2 ? hold() : route.continue());
        await drop(page, 'body', Array.from({ length: 8 }, (_, i) => wafer(`${i}.png`)));
        await page.waitForSelector('#batch-status:has-text("4 of 8")');
        await held;
        assert.equal(await page.$eval('#batch-progress', (bar) => bar.value / bar.max), 0.5);
        await page.click('text=Cancel');
        assert.match(await page.textContent('#batch-status'), /^Cancelled\. 4 of 8 answered/);
        assert.equal((await cells(page))[7][1], 'not sent yet');
        await page.click('text=Send the rest');
        await page.waitForSelector('#batch-status:has-text("8 of 8")');
        assert.equal(asked, 3);
    }));

test('a server that goes away ends it, and the rows say so', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await page.route('**/predict', (route) => route.abort());
        await drop(page, 'body', Array.from({ length: 8 }, (_, i) => wafer(`${i}.png`)));
        await page.waitForSelector('#batch-status:has-text("Stopped: The connection")');
        const rows = await cells(page);
        assert.match(rows[0][1], /connection to the server failed/);
        assert.equal(rows[7][1], 'not sent yet');
    }));

test('more files than a table holds are not left out in silence', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await page.route('**/predict', (route) => route.abort());
        await drop(page, 'body', Array.from({ length: 1001 }, (_, i) => log(`${i}.log`, 'x')));
        await page.waitForSelector('#batch-status:has-text("Stopped")');
        assert.match(await page.textContent('#batch-left'), /^The first 1,000 of 1,001 files/);
        assert.equal((await cells(page)).length, 1000);
    }));

test('a second model has a column, and where it differs is marked', () =>
    shared.open({}, async (page) => {
        await page.selectOption('#model', 'kernel-bert');
        await page.selectOption('#second', 'testlog-bert');
        await drop(page, 'body', [MIXED[1], MIXED[5], MIXED[0]]);
        await whole(page);
        assert.equal(await page.textContent('#batch-rows thead th:last-child'), 'By testlog-bert');
        const rows = await cells(page);
        assert.match(rows[0][5], /% differs$/);
        assert.equal(rows[2][5], '–');
        assert.equal(await page.locator('#batch-rows td.differs').count(), 2);
    }));

test('the results of all rows are saved, also those that failed', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await page.click('#context summary');
        await page.fill('#context-lot', 'L7');
        await drop(page, 'body', MIXED);
        await whole(page);
        const csv = await saved(page, () => page.click('#batch button:has-text("CSV")'));
        assert.equal(csv.name, 'attnd-results.csv');
        const [head, ...lines] = csv.text.trimEnd().split('\r\n');
        assert.match(head, /^time,input,kind,model,version,label,score,decision,reason/);
        assert.equal(lines.length, MIXED.length);
        assert.match(lines[0], /,ring\.png,image,wafer-vit,1,Edge-Ring,0\.9\d+,/);
        assert.match(lines[0], /,L7,/);
        assert.match(lines[3], /,none\.png,image,.*is not PNG/);
        const json = await saved(page, () => page.click('#batch button:has-text("JSON")'));
        const entries = JSON.parse(json.text);
        assert.deepEqual(entries.map(({ input }) => input), MIXED.map(({ name }) => name));
        assert.deepEqual(entries[0].context, { lot: 'L7' });
        assert.equal(entries[3].status, 422);
    }));
