/* The page serves everybody: by keyboard, on a phone, in the dark, with a screen reader. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { drop, fixture, seriousFindings, shoot, shownAnswer } from './support.mjs';
import { waferPng } from './wafers.mjs';

const shared = fixture();
const WAFER = { name: 'a.png', type: 'image/png', bytes: waferPng('center') };

/** Every state that looks different. */
const STATES = {
    empty: async () => {},
    image: async (page) => {
        await drop(page, '#drop', [WAFER]);
        await shownAnswer(page);
        await page.check('text=Top patches');
        await page.click('text=Answer as JSON');
        await page.click('text=Most relevant patches');
    },
    text: async (page) => {
        await page.click('.sample:has-text("Kernel crash")');
        await page.waitForSelector('#words');
    },
    problem: async (page) => {
        await page.click('#send');
        await page.waitForSelector('#result .problem');
    },
    several: async (page) => {
        const log = 'BUG: kernel NULL pointer dereference\n'.repeat(3);
        await drop(page, '#drop', [WAFER, { name: 'b.log', type: '', bytes: Buffer.from(log) },
            { name: 'c.png', type: 'image/png', bytes: Buffer.from('no image') }]);
        await page.waitForSelector('#batch-progress', { state: 'hidden' });
        await page.click('#batch-rows button >> nth=0');
        await shownAnswer(page);
    },
    compared: async (page) => {
        await page.selectOption('#model', 'kernel-bert');
        await page.selectOption('#second', 'testlog-bert');
        await page.fill('#text', 'BUG: unable to handle kernel NULL pointer dereference');
        await page.click('#send');
        await page.waitForSelector('#compared');
    },
    fields: async (page) => {
        await page.click('#context summary');
        await page.fill('#context-lot', 'A1');
        await page.click('#known summary');
    },
    history: async (page) => {
        await drop(page, '#drop', [WAFER]);
        await shownAnswer(page);
        await page.click('.mark button >> nth=0');
        await page.waitForSelector('.mark p:has-text("Sent to the server")');
        await page.click('#tab-history');
        await page.waitForSelector('#labels-rows td');
    },
    search: async (page) => {
        await page.click('#tab-search');
        await page.fill('#search-text', 'BUG');
    },
    models: async (page) => {
        await page.click('#tab-models');
        await page.click('.rollout summary >> nth=0');
        await page.click('summary:text-is("Confusion") >> nth=0');
    },
    live: async (page) => {
        await drop(page, '#drop', [WAFER]);
        await shownAnswer(page);
        await page.click('#tab-live');
        await page.waitForFunction(() => document.getElementById('rate').textContent !== '–');
    },
};
const FAILED = [/Failed to load resource/];

async function assertFits(page) {
    const [content, screen] = await page.evaluate(() =>
        [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= screen, `${content} > ${screen}`);
}

for (const [state, reach] of Object.entries(STATES))
    test(`for everybody: ${state}`, (t) => shared.open({ expected: FAILED }, async (page) => {
        await reach(page);
        for (const colorScheme of ['light', 'dark'])
            await t.test(`axe finds nothing serious: ${state}, ${colorScheme}`, async () => {
                await page.emulateMedia({ colorScheme });
                await shoot(page, `${state}-${colorScheme}`);
                assert.deepEqual(await seriousFindings(page), []);
            });
        await t.test(`360 pixels are wide enough: ${state}`, async () => {
            await page.setViewportSize({ width: 360, height: 740 });
            await shoot(page, `${state}-360`);
            await assertFits(page);
        });
    }));

/** Presses Tab until the element has the focus; every stop on the way shows where it is. */
async function tabTo(page, selector) {
    for (let i = 0; i < 40; i++) {
        await page.keyboard.press('Tab');
        const outline = await page.evaluate(() =>
            getComputedStyle(document.activeElement).outlineStyle);
        assert.notEqual(outline, 'none');
        if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector))
            return;
    }
    assert.fail(`${selector} cannot be reached`);
}

test('the keyboard alone predicts a text, and walks its words', () =>
    shared.open({}, async (page) => {
        await tabTo(page, '#text');
        await page.keyboard.type('BUG: kernel NULL pointer dereference');
        await page.keyboard.press('Control+Enter');
        await shownAnswer(page);
        assert.match(await page.textContent('#announce'),
            /%, (Automatic|Review)$|^Unknown: unlike .* %$/);
        await tabTo(page, '.word');
        await page.keyboard.press('ArrowRight');
        assert.match(await page.textContent('.words-box .readout'), /rank \d+ of/);
        await shoot(page, 'keyboard');
    }));

test('the keyboard alone predicts a sample, and chooses a method', () =>
    shared.open({}, async (page) => {
        await tabTo(page, '.sample');
        await page.keyboard.press('Enter');
        assert.equal((await shownAnswer(page)).label, 'Edge-Ring');
        await tabTo(page, '#method');
        const came = page.waitForResponse((response) =>
            response.url().includes('explain=rollout'));
        await page.keyboard.press('r');
        await came;
    }));

test('the keyboard alone opens a row of many, and marks its right label', () =>
    shared.open({ expected: FAILED }, async (page) => {
        await drop(page, '#drop', [WAFER, { ...WAFER, name: 'b.png' }]);
        await page.waitForSelector('#batch-progress', { state: 'hidden' });
        assert.match(await page.textContent('#announce'), /^2 of 2 answered/);
        await tabTo(page, '#batch-rows button');
        await page.keyboard.press('Enter');
        await shownAnswer(page);
        await tabTo(page, '#mark-label');
        await page.keyboard.type('Donut');
        await page.keyboard.press('Enter');
        await page.waitForFunction(() =>
            document.getElementById('announce').textContent.startsWith('Marked as Donut. '));
    }));

/* The server of these tests keeps no inputs for the Review view, and says so. */
test('arrow keys change the view', () => shared.open({ expected: FAILED }, async (page) => {
    await tabTo(page, '#tab-predict');
    await page.keyboard.press('ArrowRight');
    assert.ok(await page.isVisible('#search') && await page.isHidden('#predict'));
    await page.keyboard.press('ArrowRight');
    assert.ok(await page.isVisible('#history') && await page.isHidden('#search'));
    await page.keyboard.press('ArrowRight');
    assert.ok(await page.isVisible('#review') && await page.isHidden('#history'));
    await page.keyboard.press('ArrowRight');
    assert.ok(await page.isVisible('#live') && await page.isHidden('#review'));
    assert.equal(await page.evaluate(() => document.activeElement.id), 'tab-live');
    await page.keyboard.press('Home');
    assert.ok(await page.isHidden('#live') && await page.isVisible('#predict'));
}));

test('the colours can be chosen, and stay', () => shared.open({ colorScheme: 'light' },
    async (page) => {
        const ground = () => page.evaluate(() =>
            getComputedStyle(document.documentElement).backgroundColor);
        const light = await ground();
        await page.selectOption('#theme', 'dark');
        const dark = await ground();
        assert.notEqual(dark, light);
        await page.reload();
        assert.equal(await ground(), dark);
        assert.equal(await page.inputValue('#theme'), 'dark');
        await page.selectOption('#theme', 'system');
        assert.equal(await ground(), light);
    }));

test('nothing moves for who wants no motion', () => shared.open({}, async (page) => {
    await page.emulateMedia({ reducedMotion: 'reduce' });
    const moving = () => page.evaluate(() =>
        [...document.querySelectorAll('*')].filter((element) => {
            const { transitionDuration, animationName } = getComputedStyle(element);
            return transitionDuration.split(', ').some((time) => parseFloat(time) > 0) ||
                animationName !== 'none';
        }).map((element) => element.id));
    assert.deepEqual(await moving(), []);
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    assert.deepEqual(await moving(), ['result', 'search-result']);
}));
