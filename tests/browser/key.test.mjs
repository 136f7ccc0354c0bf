/* A server with keys: the page asks for one, once, and keeps it in its tab. */
import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { MODELS, fixture, seriousFindings, shoot, shownAnswer } from './support.mjs';

const folder = mkdtempSync(join(tmpdir(), 'attnd-key-'));
const hash = (key) => createHash('sha256').update(key).digest('hex');
writeFileSync(join(folder, 'keys'),
    `sha256:${hash('right')} page predict,metrics\nsha256:${hash('other')} page metrics\n`);
const shared = fixture([...MODELS, '--keys-file', join(folder, 'keys')]);
after(() => rmSync(folder, { recursive: true }));

/* The browser itself reports a failed request on its console. */
const FAILED = [/Failed to load resource/];
const LOG = 'SCAN chain 3 FAIL at vdd_io 3.97 V';

/** The page before it has a key: it shows the form, and says nothing of the server yet. */
async function opened(body) {
    const { page, now } = shared.tab;
    Object.assign(now, { expected: FAILED, faults: [], origin: shared.server.url });
    try {
        await page.goto(`${shared.server.url}/`);
        await page.waitForSelector('#key-form');
        await body(page);
        assert.deepEqual([...now.faults, ...await page.evaluate(() => window.violations)], []);
    } finally {
        await page.evaluate(() => sessionStorage.clear());
        await page.goto('about:blank');
    }
}

async function enter(page, key) {
    await page.fill('#key', key);
    await page.press('#key', 'Enter');
}

test('a key is asked for once and then sent with everything', () => opened(async (page) => {
    assert.deepEqual(await seriousFindings(page), []);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'key');
    await shoot(page, 'key');
    await enter(page, 'right');
    await page.waitForSelector('#server[data-state=ok]');
    await page.fill('#text', LOG);
    await page.click('#send');
    assert.ok((await shownAnswer(page)).label);
    await page.click('#tab-live');
    await page.waitForFunction(() => document.querySelector('#rate')?.textContent !== '');
    assert.equal(await page.locator('#key-form').count(), 0);
}));

test('a wrong key is asked for again, with what the server says', () => opened(async (page) => {
    await enter(page, 'wrong');
    await page.waitForSelector('#key-form:has-text("is not known")');
    await enter(page, 'right');
    await page.waitForSelector('#server[data-state=ok]');
}));

test('the key is in the tab alone, and not in the curl command', () => opened(async (page) => {
    await enter(page, 'right');
    await page.waitForSelector('#server[data-state=ok]');
    const kept = await page.evaluate(() => [JSON.stringify({ ...localStorage }), document.cookie,
        sessionStorage.getItem('attnd-key')]);
    assert.deepEqual(kept, ['{}', '', 'right']);
    await page.fill('#text', LOG);
    await page.click('#send');
    await shownAnswer(page);
    const whole = await page.evaluate(() => document.documentElement.textContent);
    assert.match(whole, /Authorization: Bearer \$KEY/);
    assert.ok(!whole.includes('right ') && !whole.includes('Bearer right'));
}));

test('who declines is told, and asked again by what he does', () => opened(async (page) => {
    await page.click('#key-form button[type=button]');
    await page.waitForSelector('#server[data-state=gone]');
    assert.equal(await page.textContent('#server'), 'The server asks for a key');
    await page.waitForTimeout(2500); /* the page asks the server again, and nobody else */
    assert.equal(await page.locator('#key-form').count(), 0);
    await page.fill('#text', LOG);
    await page.click('#send');
    await page.waitForSelector('#key-form');
    await enter(page, 'right');
    assert.ok((await shownAnswer(page)).label);
}));
