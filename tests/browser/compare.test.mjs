/* Two models of one kind, side by side on one input. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { MODELS, drop, fixture, seriousFindings, shoot } from './support.mjs';
import { SIDE, waferPng } from './wafers.mjs';

const shared = fixture([...MODELS, '--model', 'wafer-int8=models/wafer-vit,dtype=int8']);
const WAFER = { name: 'a.png', type: 'image/png', bytes: waferPng('scratch') };

async function answers(page) {
    await page.waitForSelector('#json-2', { state: 'attached' });
    await page.waitForSelector('#result:not([aria-busy])');
    return [JSON.parse(await page.textContent('#json')),
        JSON.parse(await page.textContent('#json-2'))];
}

test('only models of the same kind can stand beside the first', () =>
    shared.open({}, async (page) => {
        const offered = () => page.locator('#second option').allTextContents();
        assert.ok(await page.isDisabled('#second'));
        await page.selectOption('#model', 'wafer-vit');
        assert.deepEqual(await offered(), ['None', 'wafer-int8']);
        await page.selectOption('#model', 'kernel-bert');
        assert.deepEqual(await offered(), ['None', 'testlog-bert']);
    }));

test('an image and two models: both pictures, both heat maps, and the differences', () =>
    shared.open({}, async (page) => {
        await drop(page, '#drop', [WAFER]);
        await page.waitForSelector('#heat');
        await page.selectOption('#second', 'wafer-int8');
        const [first, second] = await answers(page);
        assert.deepEqual([first.model.name, second.model.name], ['wafer-vit', 'wafer-int8']);
        assert.equal(await page.locator('.pair .stage img').evaluateAll((images, side) =>
            images.filter((image) => image.naturalWidth === side).length, SIDE), 2);
        assert.equal(await page.locator('.pair canvas.heat').count(), 2);
        assert.match(await page.textContent('#compared'), /^Both say Scratch, review$/);
        const [, wide] = await page.locator('#differences tbody tr:first-child td')
            .allTextContents();
        assert.match(wide, /%$/);
        const scores = (answer) => new Map(answer.predictions.map(({ label, score }) =>
            [label, score]));
        const rows = await page.locator('#differences tbody tr').evaluateAll((list) =>
            list.map((row) => [...row.cells].map((cell) => cell.textContent)));
        assert.equal(rows.length, 9);
        for (const [label, , , points] of rows) {
            const apart = 100 * (scores(second).get(label) - scores(first).get(label));
            assert.ok(Math.abs(Number(points.replace('−', '-')) - apart) <= 0.051, label);
        }
        await shoot(page, 'compared-image');
    }));

test('a text on which two models differ says so first', () => shared.open({}, async (page) => {
    await page.selectOption('#model', 'kernel-bert');
    await page.selectOption('#second', 'testlog-bert');
    await page.fill('#text', 'BUG: unable to handle kernel NULL pointer dereference');
    await page.click('#send');
    const [first, second] = await answers(page);
    assert.notEqual(first.label, second.label);
    const said = await page.textContent('#compared');
    assert.ok(said.startsWith('They differ: kernel-bert says') && said.includes(second.label));
    assert.equal(await page.textContent('#announce'), said);
    assert.match(await page.textContent('.versus'), /They have no class in common/);
    const twice = await page.evaluate(() => {
        const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
        return ids.filter((id, i) => ids.indexOf(id) !== i);
    });
    assert.deepEqual(twice, []);
    assert.deepEqual(await seriousFindings(page), []);
    await shoot(page, 'compared');
    await page.selectOption('#second', '');
    await page.waitForSelector('#compared', { state: 'detached' });
}));
