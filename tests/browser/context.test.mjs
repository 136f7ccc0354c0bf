/* The context of an input is sent with it. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { drop, fixture, shoot, shownAnswer } from './support.mjs';
import { waferPng } from './wafers.mjs';

const shared = fixture();
const WAFER = { name: 'ring.png', type: 'image/png', bytes: waferPng('edge_ring') };

test('lot, wafer and die go with the input and come back', () => shared.open({}, async (page) => {
    await page.click('#context summary');
    for (const [member, value] of [['lot', 'A1'], ['wafer', '07'], ['step', 'M2-CMP'],
        ['die_x', '-3'], ['die_y', '12']])
        await page.fill(`#context-${member}`, value);
    const context = { lot: 'A1', wafer: '07', step: 'M2-CMP', die_x: -3, die_y: 12 };
    assert.equal(await page.textContent('#context summary'),
        'Lot A1, Wafer 07, Step M2-CMP, Die X -3, Die Y 12');
    await drop(page, '#drop', [WAFER]);
    const answer = await shownAnswer(page);
    assert.deepEqual([answer.context, answer.label], [context, 'Edge-Ring']);
    assert.match(await page.textContent('.source'), / · Lot A1, Wafer 07/);
    await page.fill('#text', 'kernel panic');
    await page.click('#send');
    await page.waitForSelector('#words');
    assert.deepEqual((await shownAnswer(page)).context, context);
    await shoot(page, 'context');
}));
