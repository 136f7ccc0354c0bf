/* Parts that the browser's tests share: one attnd on a free port and one Chromium for a file of
 * tests, and a new page for each test. A test must end without an error, a violation of the content
 * security policy or a request to anywhere else.
 *
 *     const shared = fixture();
 *     test('a claim', () => shared.open({}, async (page) => { ... }));
 */
import { strict as assert } from 'node:assert';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';
import { BUILD, MODELS, ROOT, startServer } from '../support/server.mjs';

export { MODELS, ROOT, startServer };

const require = createRequire(import.meta.url);
const AXE = require.resolve('axe-core/axe.min.js');

const SHOTS = `${ROOT}${BUILD}/browser/`;

/* The longest time until a page shows the expected content. */
const PATIENCE_MS = 60000;

/* Replies that a failure tells of. */
const REPLIES_TOLD = 8;

/** Debian's Chromium. Its sandbox needs user namespaces or a setuid helper and refuses to start as
 * root, which is who runs tests in a container; the only pages it opens here are our own. */
export function openBrowser() {
    const asRoot = process.getuid?.() === 0;
    return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        args: [...(asRoot ? ['--no-sandbox'] : []), '--disable-dev-shm-usage', '--disable-gpu'] });
}

/** Everything on a page that must not happen; `now` says what the test at hand expects. */
function watch(page, now) {
    page.on('console', (message) => {
        const text = message.text();
        const loud = message.type() === 'error' || message.type() === 'warning';
        if (loud && !now.expected.some((one) => one.test(text)))
            now.faults.push(`console: ${text}`);
    });
    page.on('pageerror', (error) => now.faults.push(`uncaught: ${error}`));
    page.on('dialog', (dialog) => {
        now.faults.push(`dialog: ${dialog.message()}`);
        dialog.dismiss();
    });
    page.on('request', (request) => {
        const url = new URL(request.url());
        const inside = ['blob:', 'data:', 'about:'].includes(url.protocol);
        if (!inside && url.origin !== now.origin)
            now.faults.push(`request to ${url.origin}`);
    });
    page.on('response', (response) => {
        const url = new URL(response.url());
        if (url.origin === now.origin && url.protocol !== 'blob:')
            now.replies.push(`${response.status()} ${response.request().method()} ${url.pathname}`);
    });
}

/* Collected in the page itself, for a violation need not reach the console. */
function collectViolations() {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (event) =>
        window.violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
}

/** A tab that one test after the other loads the page in: a tab of its own for each would take
 * longer than most tests. */
async function openTab(browser) {
    const context = await browser.newContext({
        permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await context.newPage();
    const now = { expected: [], faults: [], replies: [], origin: '' };
    page.setDefaultTimeout(PATIENCE_MS);
    watch(page, now);
    await page.addInitScript(collectViolations);
    return { page, now };
}

/** Nothing of a test is left for the next but an empty tab. */
async function clear(page) {
    await page.unrouteAll();
    await page.evaluate(() => window.origin !== 'null' && (localStorage.clear(), sessionStorage.clear()));
    await page.goto('about:blank');
    await page.mouse.move(0, 0);
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: null, media: null });
}

/**
 * @param {{page: import('playwright-core').Page, now: object}} tab
 * @param {{expected?: RegExp[], colorScheme?: 'light'|'dark', width?: number, height?: number,
 *     path?: string}} options
 * @param {(page: import('playwright-core').Page) => Promise<void>} body
 */
export async function withPage({ page, now }, server, options, body) {
    Object.assign(now, { expected: options.expected ?? [], faults: [], replies: [],
        origin: server.url });
    try {
        await page.setViewportSize({ width: options.width ?? 1280, height: options.height ?? 900 });
        await page.emulateMedia({ colorScheme: options.colorScheme ?? 'light' });
        await page.goto(`${server.url}/${options.path ?? ''}`);
        await page.waitForSelector('#server[data-state=ok]');
        await body(page);
        const violations = await page.evaluate(() => window.violations);
        assert.deepEqual([...now.faults, ...violations], []);
    } catch (error) {
        error.message += `\nthe last replies: ${now.replies.slice(-REPLIES_TOLD).join(', ')}`;
        throw error;
    } finally {
        await clear(page);
    }
}

/** A PNG of the page in build/browser/. */
export async function shoot(page, name) {
    mkdirSync(SHOTS, { recursive: true });
    await page.screenshot({ path: `${SHOTS}${name}.png`, fullPage: true, animations: 'disabled' });
}

/** The serious and critical findings of axe, which the browser puts in past the page's policy. */
export async function seriousFindings(page) {
    await page.evaluate(readFileSync(AXE, 'utf8'));
    const { violations } = await page.evaluate(() => window.axe.run());
    return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(' ')).join(', ')}`);
}

/** Drops files on an element, as a file manager does. Contents are Buffers. */
export async function drop(page, selector, files) {
    const plain = files.map(({ name, type, bytes }) =>
        ({ name, type, base64: bytes.toString('base64') }));
    const transfer = await page.evaluateHandle((list) => {
        const made = new DataTransfer();
        for (const { name, type, base64 } of list) {
            const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
            made.items.add(new File([bytes], name, { type }));
        }
        return made;
    }, plain);
    for (const event of ['dragenter', 'dragover', 'drop'])
        await page.dispatchEvent(selector, event, { dataTransfer: transfer });
}

/** The text of the file that a press gives to the browser, and its name. */
export async function saved(page, press) {
    const [download] = await Promise.all([page.waitForEvent('download'), press()]);
    return { name: download.suggestedFilename(),
        text: readFileSync(await download.path(), 'utf8') };
}

/** The answer that the page shows, once it shows one. */
export async function shownAnswer(page) {
    await page.waitForSelector('#json', { state: 'attached' });
    await page.waitForSelector('#result:not([aria-busy])');
    return JSON.parse(await page.textContent('#json'));
}

/** The body of an answer to a request of the tests' own. */
export async function ask(server, path, options = {}) {
    const response = await fetch(server.url + path, options);
    return response.text();
}

/**
 * One browser and one server for the tests of a file; registers their start and end.
 *
 * @returns {{server: object, tab: object, open: Function}} open: as withPage, for this pair
 */
export function fixture(options = MODELS) {
    const shared = { server: null, tab: null,
        open: (how, body) => withPage(shared.tab, shared.server, how, body) };
    let browser = null;
    before(async () => {
        [browser, shared.server] = await Promise.all([openBrowser(), startServer(options)]);
        shared.tab = await openTab(browser);
    });
    after(async () => {
        await browser?.close();
        assert.equal(await shared.server?.stop(), 0);
    });
    return shared;
}
