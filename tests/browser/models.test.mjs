/* The Models view: it shows the server's knowledge of the versions of its models, and changes
 * them. */
import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fixture, seriousFindings, shoot, startServer, withPage } from './support.mjs';
import { LABELS, makeRegistry, postJson, versionOf } from './versions.mjs';

/* The second version answers another class to everything; the third one is the first. */
const OTHERS = [...LABELS.slice(1), LABELS[0]];
const HOSTILE = ['<img src=x onerror="document.title=1">', '</script><script>alert(1)</script>',
    'constructor', '__proto__', '\u202Edesrever', '"; \' & <b>'];
const VERSION = '<b>3 ?#%';

const registry = makeRegistry({ v1: { version: '1' }, v2: { version: '2', labels: OTHERS },
    v3: { version: '3' }, hostile: { version: '<i>1', labels: HOSTILE },
    hostile3: { version: VERSION, labels: HOSTILE } });
const shared = fixture(registry.options);
after(() => registry.remove());

const TEXT = 'vdd_io 3.97 V FAIL';
const FAILED = [/Failed to load resource/];

/** A server of its own, for what is changed there. */
async function alone(options, how, body) {
    const server = await startServer(options);
    try {
        await withPage(shared.tab, server, { path: '#models', ...how }, (page) =>
            body(page, server));
    } finally {
        await server.stop();
    }
}

function cells(page, selector) {
    return page.locator(`${selector} tbody tr`).evaluateAll((rows) =>
        rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

/** [version, role, share] of each row. */
async function roles(page) {
    return (await cells(page, '.versions')).map(([version, role, share]) =>
        [version.replace(/sha256.*|digest.*/, ''), role, share]);
}

async function change(page) {
    await page.click('.rollout summary');
}

function told(page, text) {
    return page.waitForSelector(`.told:text-is("${text}")`);
}

async function load(page, dir, shadow = '') {
    const form = page.locator('form[aria-label="Load another version"]');
    await form.getByLabel('Directory').fill(dir);
    await form.getByLabel('Copies').fill(shadow);
    await form.getByRole('button', { name: 'Load' }).click();
}

async function confirm(page, action) {
    await page.click(`#confirm button:text-is("${action}")`);
    await page.waitForSelector('#confirm', { state: 'detached' });
}

/** One after the other, for a shadow judges only in spare time. */
async function predictShadowed(server, count) {
    const answers = [];
    for (let i = 0; i < count; i++) {
        answers.push(await postJson(server, '/predict', { text: TEXT, id: `s${i}` }));
        while (((await versionOf(server, '2')).agreement?.n ?? 0) <= i)
            await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return answers;
}

test('what the server knows of the versions is in words, figures and bars', () =>
    alone(registry.options, {}, async (page, server) => {
        await change(page);
        await load(page, 'v2', '100');
        await told(page, 'Version 2 of text is loaded.');
        assert.equal(await page.textContent('#announce'), 'Version 2 of text is loaded.');
        const answers = await predictShadowed(server, 18);
        const { label } = answers[0];
        const other = OTHERS[LABELS.indexOf(label)]; // what the shadow said
        for (const [i, { id }] of answers.entries())
            await postJson(server, '/feedback', { id, label: i < 15 ? other : label });
        await page.click('summary:text-is("Confusion")');
        await page.waitForSelector('.confusion');
        await page.waitForSelector('.in-words:has-text("15 times")');
        const [one, two] = await cells(page, '.versions');
        assert.deepEqual([one[1], one[2], one[3], one[4], one[6]],
            ['primary', '100.0 %', '18', '–', '–']);
        assert.equal(one[5], '16.7 % 5.8 % to 39.2 %, n = 18');
        assert.deepEqual(two.slice(1, 5), ['shadow', '0.0 %, copies of 100.0 %', '0',
            '0.0 % 0.0 % to 17.6 %, n = 18']);
        assert.equal(two[5], '83.3 % 60.8 % to 94.2 %, n = 18');
        assert.equal(two[6], 'of 18 inputs: only the shadow was right 15 times, only the answer ' +
            '3 times: p = 0.008');
        assert.equal(await page.locator('.versions svg.interval').count(), 3);
        const [right, wrong] = LABELS.indexOf(label) < LABELS.indexOf(other) ? [label, other]
            : [other, label];
        const counts = { [label]: ['3', '0', '100.0 % of 3'], [other]: ['15', '0', '0.0 % of 15'] };
        const row = (name) => [name, ...right === label ? counts[name].slice(0, 2)
            : counts[name].slice(0, 2).reverse(), counts[name][2]];
        assert.deepEqual(await cells(page, '.confusion'), [row(right), row(wrong)]);
        assert.equal(await page.locator('td.count-5').textContent(), '15');
        assert.match(await page.textContent('#models-when'), /^Figures of \d\d:\d\d:\d\d; /);
        for (const colorScheme of ['light', 'dark']) {
            await page.emulateMedia({ colorScheme });
            assert.deepEqual(await seriousFindings(page), []);
            await shoot(page, `models-shadow-${colorScheme}`);
        }
        await page.setViewportSize({ width: 360, height: 740 });
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        assert.ok(await page.evaluate(() => [...document.querySelectorAll('.versions')]
            .every((table) => table.scrollWidth <= table.clientWidth)));
        await shoot(page, 'models-narrow');
    }));

test('copies that a shadow did not judge are counted', () =>
    shared.open({ path: '#models' }, async (page) => {
        const told = await page.evaluate(async () => {
            const { copiesText } = await import('/ui/versions.js');
            return [copiesText({ agreement: { n: 1 }, skipped: 5, failed: 0, waiting: 3 }),
                copiesText({ agreement: null, skipped: 0, failed: 2, waiting: 0 }),
                copiesText({ agreement: { n: 9 }, skipped: 0, failed: 0, waiting: 0 })];
        });
        assert.deepEqual(told, ['1 of 9 copies judged; 5 skipped, 3 waiting',
            '0 of 2 copies judged; 2 failed', '']);
    }));

test('versions are promoted, rolled back, weighed and unloaded by clicks', () =>
    alone(registry.options, { expected: FAILED }, async (page, server) => {
        let promotions = 0;
        page.on('request', (request) => {
            promotions += request.url().endsWith('/promote') ? 1 : 0;
        });
        await change(page);
        await load(page, 'v3');
        await told(page, 'Version 3 of text is loaded.');
        await page.getByLabel('Share of requests').first().fill('25');
        await page.click('text=Set shares');
        await told(page, 'The shares of version 3 are set.');
        await page.waitForSelector('.versions:has-text("25.0 %")');
        assert.deepEqual(await roles(page),
            [['1', 'primary', '75.0 %'], ['3', 'split', '25.0 %']]);

        await page.click('text=Promote…');
        await confirm(page, 'Cancel');

        await page.click('text=Promote…');
        await confirm(page, 'Promote');
        await page.waitForSelector('.rollout .problem:has-text("this version has 0 right labels")');
        assert.equal(await page.textContent('.rollout .code'), '409');
        assert.equal((await versionOf(server, '3')).role, 'split');

        await page.click('text=Promote…');
        await page.check('#confirm input[type=checkbox]');
        await page.click('#confirm button:text-is("Promote")'); // a reason is wanted
        assert.ok(await page.isVisible('#confirm'));
        await page.locator('#confirm').getByLabel('Reason').fill('seen in the lab');
        assert.deepEqual(await seriousFindings(page), []);
        await shoot(page, 'models-promote');
        await confirm(page, 'Promote');
        await told(page, 'Version 3 is the primary.');
        assert.equal(promotions, 2); // refused, and made: not what was cancelled
        assert.equal(await page.locator('.rollout .problem').count(), 0);
        await page.waitForSelector('.versions:has-text("retiring")');
        assert.deepEqual(await roles(page),
            [['3', 'primary', '100.0 %'], ['1', 'retiring', '0.0 %']]);

        await page.click('text=Roll back…');
        await confirm(page, 'Roll back');
        await told(page, 'Version 1 is the primary again.');
        assert.equal((await versionOf(server, '1')).role, 'primary');
        await page.waitForSelector('button:text-is("Roll back…")', { state: 'hidden' });

        await page.getByRole('combobox', { name: 'Version' }).selectOption('3');
        await page.click('text=Unload…');
        await confirm(page, 'Unload');
        await told(page, 'Version 3 is unloaded.');
        await page.waitForFunction(() =>
            document.querySelectorAll('.versions tbody tr').length === 1);
        assert.equal(await versionOf(server, '3'), undefined);
    }));

test('a model of another name is loaded, can be asked, and is unloaded again', () =>
    alone(registry.options, {}, async (page) => {
        await change(page);
        const form = page.locator('form[aria-label="Load another version"]');
        await form.getByLabel('Name').fill('more');
        await load(page, 'v3');
        await page.waitForSelector('section[aria-label="more"]');
        await page.waitForSelector('#server:text-is("2 models")');
        assert.equal(await page.locator('#model option[value=more]').count(), 1);
        await page.click('section[aria-label="more"] .rollout summary');
        await page.click('section[aria-label="more"] >> text=Unload…');
        assert.match(await page.textContent('#confirm-text'), /more will be unknown/);
        await confirm(page, 'Unload');
        await page.waitForSelector('section[aria-label="more"]', { state: 'detached' });
        await page.waitForSelector('#server:text-is("1 model")');
    }));

test('a directory that holds no model is refused with what is wrong, and nothing changes', () =>
    shared.open({ path: '#models', expected: FAILED }, async (page) => {
        await change(page);
        for (const [dir, why] of [['nothing', 'no such directory'], ['../v2', 'must not have']]) {
            await load(page, dir);
            await page.waitForSelector(`.rollout .problem:has-text("${why}")`);
            assert.equal(await page.textContent('.rollout .code'), '422');
        }
        assert.equal(await page.inputValue('form[aria-label="Load another version"] >> ' +
            'label:has-text("Directory") input'), '../v2');
        assert.deepEqual(await roles(page), [['1', 'primary', '100.0 %']]);
        await shoot(page, 'models-refused');
    }));

test('names of classes and versions are only shown', () =>
    alone(registry.options.map((option) => option.replace(/v1$/, 'hostile')), {},
        async (page, server) => {
            const { id, label } = await postJson(server, '/predict', { text: TEXT });
            assert.ok(HOSTILE.includes(label));
            for (const right of HOSTILE) {
                await postJson(server, '/predict', { text: TEXT, id: `h${right}` });
                await postJson(server, '/feedback', { id: `h${right}`, label: right });
            }
            await postJson(server, '/feedback', { id, label });
            await page.click('summary:text-is("Confusion")');
            await page.waitForSelector('.confusion');
            assert.deepEqual((await cells(page, '.confusion')).map(([name]) => name), HOSTILE);
            const recalls = (await cells(page, '.confusion')).map((row) => row.at(-1));
            assert.deepEqual(recalls, HOSTILE.map((name) =>
                (name === label ? '100.0 % of 2' : '0.0 % of 1')));
            await change(page);
            await load(page, 'hostile3');
            await told(page, `Version ${VERSION} of text is loaded.`);
            await page.click('text=Unload…');
            await confirm(page, 'Unload');
            await page.waitForSelector('.told:has-text("is unloaded.")');
            await page.waitForFunction(() =>
                document.querySelectorAll('.versions tbody tr').length === 1);
            assert.equal(await page.locator('#models :is(b, i, img, script)').count(), 0);
            assert.equal(await page.title(), 'attnd');
            await shoot(page, 'models-hostile');
        }));

/** A server with keys, and the page before it has one. @param {Object<string, string>} scopes */
async function withKeys(scopes, body) {
    const keys = join(registry.folder, 'keys');
    const hash = (key) => createHash('sha256').update(key).digest('hex');
    writeFileSync(keys, Object.entries(scopes).map(([key, may]) =>
        `sha256:${hash(key)} ${key} ${may}\n`).join(''));
    const server = await startServer([...registry.options, '--keys-file', keys]);
    const { page, now } = shared.tab;
    Object.assign(now, { expected: FAILED, faults: [], origin: server.url });
    try {
        await page.goto(`${server.url}/#models`);
        await page.waitForSelector('#key-form');
        await body(page);
        assert.deepEqual([...now.faults, ...await page.evaluate(() => window.violations)], []);
    } finally {
        await page.evaluate(() => sessionStorage.clear());
        await page.goto('about:blank');
        await server.stop();
    }
}

async function enter(page, key) {
    await page.fill('#key', key);
    await page.press('#key', 'Enter');
}

test('a key without the scope is told so, and another key does it', () =>
    withKeys({ reader: 'predict', boss: 'predict,admin' }, async (page) => {
        await enter(page, 'reader');
        await page.waitForSelector('.versions:has-text("primary")');
        await change(page);
        await load(page, 'v2');
        await page.waitForSelector('.rollout .detail:has-text("scope admin")');
        assert.equal(await page.textContent('.rollout .code'), '403');
        await shoot(page, 'models-403');

        await page.click('text=Use another key…'); // declined: the old one stays
        await page.click('#key-form button[type=button]');
        await page.waitForSelector('#key-form', { state: 'detached' });
        assert.equal(await page.evaluate(() => sessionStorage.getItem('attnd-key')), 'reader');

        await page.click('text=Use another key…');
        await enter(page, 'boss');
        await told(page, 'Version 2 of text is loaded.');
    }));

test('who declines to give a key is told, and can be asked again', () =>
    withKeys({ reader: 'predict' }, async (page) => {
        await page.click('#key-form button[type=button]');
        await page.waitForSelector('#models-gone .problem');
        assert.equal(await page.textContent('#models-gone .code'), '401');
        await page.click('#models-gone button');
        await enter(page, 'reader');
        await page.waitForSelector('.versions:has-text("primary")');
        assert.equal(await page.locator('#models-gone .problem').count(), 0);
    }));

test('figures are read again while they are looked at, and only then', () =>
    shared.open({}, async (page) => {
        let readings = 0;
        page.on('request', (request) => {
            readings += request.url().endsWith('/models/text') ? 1 : 0;
        });
        const hide = (hidden) => page.evaluate((value) => {
            Object.defineProperty(document, 'hidden', { value, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
        }, hidden);
        await page.waitForTimeout(500);
        assert.equal(readings, 0);
        await page.click('#tab-models');
        await page.waitForSelector('.versions:has-text("primary")');
        await page.waitForRequest('**/models/text'); // the second one, by the clock
        await hide(true);
        const before = readings;
        await page.waitForTimeout(5500);
        assert.equal(readings, before);
        const came = page.waitForRequest('**/models/text');
        await hide(false);
        await came;
    }));

test('old figures stay, with their time, while the server does not answer', () =>
    shared.open({ path: '#models', expected: FAILED }, async (page) => {
        await page.waitForSelector('.versions:has-text("primary")');
        await page.route('**/models', (route) => route.abort());
        await page.waitForSelector('#models-gone .problem:has-text("No answer")');
        assert.equal(await page.textContent('#server'), 'No answer from the server');
        assert.match(await page.textContent('#models-when'),
            /The figures below are of \d\d:\d\d:\d\d\.$/);
        assert.ok(await page.isVisible('.versions'));
        await shoot(page, 'models-gone');
        await page.unroute('**/models');
        await page.click('#models-gone button');
        await page.waitForSelector('#models-gone .problem', { state: 'detached' });
        await page.waitForSelector('#server:text-is("1 model")');
    }));

test('what is typed and opened survives new figures', () =>
    shared.open({ path: '#models' }, async (page) => {
        await change(page);
        const dir = page.locator('form[aria-label="Load another version"]').getByLabel('Directory');
        await dir.fill('v');
        await postJson(shared.server, '/predict', { text: TEXT });
        await page.waitForFunction(() => document.querySelector('.versions td.number')
            .textContent !== '0');
        await page.keyboard.type('2');
        assert.equal(await dir.inputValue(), 'v2');
        assert.ok(await page.isVisible('.rollout form'));
    }));

test('drift is told where the server measures it', () =>
    shared.open({ path: '#models' }, async (page) => {
        await page.waitForSelector('.versions:has-text("primary")');
        assert.ok(await page.isHidden('.drift'));
        await page.route('**/models/text', async (route) => {
            const response = await route.fetch();
            await route.fulfill({ response, json: { ...await response.json(),
                drift: { label: 0.0312, score: 0.25, ood: null, count: 1200 } } });
        });
        await page.waitForSelector('.drift:visible');
        assert.match(await page.textContent('.drift'),
            /^Drift of the last 1,200 predictions, .*: labels 0\.031, scores 0\.250$/);
    }));

test('how often labels occur is told where it is furthest from what is expected', () =>
    shared.open({ path: '#models' }, async (page) => {
        const expected = { none: 0.85, Ring: 0.05, Loc: 0.04, Donut: 0.03, Scratch: 0.03 };
        const answer = { count: 1200, expected, estimated: null };
        await page.waitForSelector('.versions:has-text("primary")');
        await page.route('**/models/text', async (route) => {
            const response = await route.fetch();
            await route.fulfill({ response, json: { ...await response.json(),
                label_shares: answer } });
        });
        await page.waitForSelector('.shares:has-text("not yet estimated, from 1,200 inputs")');
        answer.estimated = { none: 0.61, Ring: 0.2, Loc: 0.05, Donut: 0.03, Scratch: 0.11 };
        await page.waitForSelector('.shares:has-text("estimated from 1,200 inputs")');
        assert.match(await page.textContent('.shares'), new RegExp('^How often labels occur, ' +
            'estimated from 1,200 inputs: none 61\\.0\\s% \\(expected 85\\.0\\s%\\), ' +
            'Ring 20\\.0\\s% \\(expected 5\\.0\\s%\\), ' +
            'Scratch 11\\.0\\s% \\(expected 3\\.0\\s%\\)\\.$'));
    }));

test('the view is reached by its address and by the keyboard, and by Escape nothing changes', () =>
    alone(registry.options, {}, async (page, server) => {
        assert.equal(await page.getAttribute('#tab-models', 'aria-selected'), 'true');
        await page.waitForSelector('.versions:has-text("primary")');
        await change(page);
        await load(page, 'v3');
        await told(page, 'Version 3 of text is loaded.');
        await page.locator('button:text-is("Unload…")').focus();
        await page.keyboard.press('Enter');
        await page.waitForSelector('#confirm');
        assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
        await page.keyboard.press('Escape');
        await page.waitForSelector('#confirm', { state: 'detached' });
        assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Unload…');
        assert.equal(await page.textContent('.told'), 'Version 3 of text is loaded.');
        assert.equal((await versionOf(server, '3')).role, 'split');
        await page.locator('#tab-models').focus();
        await page.keyboard.press('Home');
        assert.ok(await page.isHidden('#models') && await page.isVisible('#predict'));
        await page.keyboard.press('End');
        assert.ok(await page.isVisible('#models'));
        assert.match(page.url(), /#models$/);
    }));

test('of very many classes the most frequent are in the table', () =>
    shared.open({}, async (page) => {
        const { shown, hidden } = await page.evaluate(async () => {
            const { classesOf } = await import('./ui/confusion.js');
            const labels = Array.from({ length: 60 }, (_, i) => `c${i}`);
            return classesOf(labels.slice(1).map((label, i) => ({ label, predicted: label,
                count: i + 1 })), labels);
        });
        assert.deepEqual([shown.length, hidden, shown[0], shown.at(-1)], [40, 19, 'c20', 'c59']);
    }));

test('a class without a recall of its own has none, whatever its name', () =>
    shared.open({}, async (page) => {
        const texts = await page.evaluate(async () => {
            const { confusionTable } = await import('./ui/confusion.js');
            const { element, draw } = confusionTable('m');
            draw({ per_class: {}, confusion: [{ label: 'constructor', predicted: 'other',
                count: 2 }] }, ['other']);
            return [...element.querySelectorAll('tbody tr')].map((row) =>
                [...row.cells].map((cell) => cell.textContent));
        });
        assert.deepEqual(texts, [['other', '0', '0', '–'], ['constructor', '2', '0', '–']]);
    }));
