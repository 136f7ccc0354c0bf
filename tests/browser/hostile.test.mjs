/* Texts, names and labels are untrusted: they are shown as text and nothing comes of them, on the
 * page or in the shell that runs the command it offers. */
import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { drop, fixture, shoot, shownAnswer } from './support.mjs';
import { waferPng } from './wafers.mjs';

const shared = fixture();
const run = promisify(execFile);

const HOSTILE = {
    element: '<img src=x onerror="document.title=1"> kernel panic',
    script: '</script><script>alert(1)</script></textarea> kernel panic',
    quotes: `kernel "panic" 'at' \`touch run\` $(touch run) $HOME \\ ! ; touch run & | > run`,
    reordered: 'kernel \u202Ecinap\u202C panic \u200F\u2067x\u2069',
    emoji: '🔥 kernel 👩‍🔬 panic ☠️',
    nul: 'kernel\0 panic',
    controls: 'kernel \u001b[31mpanic\u001b[0m \u0007\u0003 \u007f \u0085 end',
    at: '@/etc/passwd kernel panic',
    lines: 'kernel panic\nEND_OF_JSON\n\'\'\'\n',
};

/* A command has no invisible character; its lines may end. */
const UNSEEN = /[\p{Cf}\u0000-\u0009\u000b-\u001f\u007f-\u009f]/u;

/** Runs a command as a person would who pastes it. It may do nothing but ask the server. */
async function shell(command, folder) {
    const before = readdirSync(folder);
    const { stdout } = await run('sh', ['-c', command], { cwd: folder, maxBuffer: 1 << 26 });
    assert.deepEqual(readdirSync(folder), before);
    return JSON.parse(stdout);
}

async function inFolder(body) {
    const folder = mkdtempSync(join(tmpdir(), 'attnd-browser-'));
    try {
        return await body(folder);
    } finally {
        rmSync(folder, { recursive: true });
    }
}

/** Only what the page itself makes: no element that a text might have asked for. */
async function assertInert(page) {
    assert.equal(await page.title(), 'attnd');
    assert.equal(await page.locator('img[src="x"], #result script, #live script').count(), 0);
}

/** Not typed: a browser's keyboard has no NUL. */
async function send(page, text) {
    await page.$eval('#text', (field, value) => {
        field.value = value;
        document.getElementById('send').click();
    }, text);
    await page.waitForSelector('#result:not([aria-busy]) #words');
    return shownAnswer(page);
}

test('a hostile text is only shown, and its curl gives the same', (t) =>
    shared.open({}, async (page) => {
        for (const [name, text] of Object.entries(HOSTILE))
            await t.test(name, async () => {
                const answer = await send(page, text);
                await assertInert(page);
                const command = await page.textContent('#curl');
                assert.doesNotMatch(command, UNSEEN);
                const same = await inFolder((folder) => shell(command, folder));
                assert.equal(same.label, answer.label);
                assert.equal(same.score, answer.score);
                assert.deepEqual(same.explanation, answer.explanation);
            });
    }));

test('a hostile text is shown letter by letter', () => shared.open({}, async (page) => {
    for (const text of [HOSTILE.element, HOSTILE.script, HOSTILE.quotes]) {
        await page.fill('#text', text);
        await page.click('#send');
        await page.waitForFunction((wanted) =>
            document.getElementById('words')?.textContent === wanted, text);
    }
    await shoot(page, 'hostile-text');
    await page.fill('#text', HOSTILE.reordered);
    await page.click('#send');
    await page.waitForFunction(() =>
        document.getElementById('words')?.textContent.startsWith('kernel ·cinap· panic ··x·'));
}));

const NAMES = ['<img src=x onerror="document.title=1">.png',
    'a\'b"c $(touch run) `touch run`.png', '-o.png', '\u202Egnp.exe.png',
    'line\nbreak.png', '👩‍🔬 wafer.png', ' .png', '@.png'];

test('a hostile file name is only shown, and its curl gives the same label', () =>
    shared.open({}, async (page) => {
        const bytes = waferPng('edge_ring');
        for (const name of NAMES) {
            await drop(page, '#drop', [{ name, type: 'image/png', bytes }]);
            await page.waitForFunction((wanted) => document.querySelector('.source')?.textContent
                .startsWith(`${wanted} ·`), name);
            await assertInert(page);
            const command = await page.textContent('#curl');
            const hidden = /[\p{Cf}\p{Cc}]/u.test(name);
            await inFolder(async (folder) => {
                writeFileSync(join(folder, hidden ? 'FILE' : name), bytes);
                assert.equal((await shell(command, folder)).label, 'Edge-Ring', name);
            });
        }
        await shoot(page, 'hostile-name');
    }));

test('with a context the command carries it in the query', () =>
    shared.open({}, async (page) => {
        const bytes = waferPng('edge_ring');
        await page.click('#context summary');
        await page.fill('#context-lot', HOSTILE.quotes.slice(0, 60));
        await page.fill('#context-die_x', '-3');
        for (const name of NAMES) {
            await drop(page, '#drop', [{ name, type: 'image/png', bytes }]);
            await page.waitForFunction((wanted) => document.querySelector('.source')?.textContent
                .startsWith(`${wanted} ·`), name);
            const answer = await shownAnswer(page);
            assert.deepEqual(answer.context, { lot: HOSTILE.quotes.slice(0, 60), die_x: -3 });
            const hidden = /[\p{Cf}\p{Cc}]/u.test(name);
            await inFolder(async (folder) => {
                writeFileSync(join(folder, hidden ? 'FILE' : name), bytes);
                const same = await shell(await page.textContent('#curl'), folder);
                assert.deepEqual(same.context, answer.context);
                assert.equal(same.score, answer.score);
            });
        }
    }));

test('a text too long for an argument goes to curl on its standard input', () =>
    shared.open({}, async (page) => {
        const text = 'kernel panic - not syncing \'quoted\'\n'.repeat(5000);
        await drop(page, '#drop', [{ name: 'long.log', type: '', bytes: Buffer.from(text) }]);
        const answer = await shownAnswer(page);
        const same = await inFolder(async (folder) => {
            writeFileSync(join(folder, 'command'), await page.textContent('#curl'));
            return shell('sh command', folder);
        });
        assert.equal(same.score, answer.score);
    }));

test('a hostile label is only shown', () => shared.open({}, async (page) => {
    const label = '<b onmouseover=alert(1)>\u202E</script>';
    await page.route('**/predict?*', async (route) => {
        const response = await route.fetch();
        const answer = await response.json();
        await route.fulfill({ response, json: { ...answer, label, class_code: label,
            reason: label, decision: label, model: { name: label, version: label, digest: null },
            predictions: [{ label, score: 0.5 }, ...answer.predictions] } });
    });
    await drop(page, '#drop', [{ name: 'a.png', type: 'image/png', bytes: waferPng('none') }]);
    await page.waitForSelector('#label');
    assert.equal(await page.textContent('#label'), label);
    assert.equal(await page.locator('#predict b').count(), 0);
    await page.click('#tab-live');
    assert.equal(await page.locator('#recent td >> nth=1').textContent(), label);
    assert.equal(await page.locator('#live b').count(), 0);
    await assertInert(page);
}));

test('the command is copied as it stands', () => shared.open({}, async (page) => {
    await page.fill('#text', HOSTILE.quotes);
    await page.click('#send');
    await shownAnswer(page);
    await page.click('.copyable:has(#curl) button');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()),
        await page.textContent('#curl'));
}));

test('without a clipboard of its own the page still copies', () => shared.open({}, async (page) => {
    await page.fill('#text', 'kernel panic');
    await page.click('#send');
    await shownAnswer(page);
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await page.click('.copyable:has(#curl) button');
    await page.waitForSelector('.copyable:has(#curl) button:has-text("Copied")');
    assert.equal(await page.evaluate(() => getSelection().toString().trim()),
        (await page.textContent('#curl')).trim());
}));
