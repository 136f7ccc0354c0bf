/* The heat map lies where the relevance is, and the relevance where the defect is. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { greyPng } from './png.mjs';
import { drop, fixture, shoot, shownAnswer } from './support.mjs';
import { SIDE, waferPng } from './wafers.mjs';

const shared = fixture();

function wafer(pattern) {
    return { name: `${pattern}.png`, type: 'image/png', bytes: waferPng(pattern) };
}

/** Opacity of every pixel of the heat map, by way of a canvas of our own: reading the page's own
 * would change how the browser keeps it. */
async function opacities(page) {
    return page.evaluate(() => {
        const canvas = document.getElementById('heat');
        const copy = new OffscreenCanvas(canvas.width, canvas.height);
        const context = copy.getContext('2d', { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        const { data } = context.getImageData(0, 0, copy.width, copy.height);
        const alpha = Array.from({ length: data.length / 4 }, (_, i) => data[4 * i + 3]);
        return { alpha, width: copy.width, height: copy.height };
    });
}

/** Sums over the quarters: [upper left, upper right, lower left, lower right]. */
async function quarters(page) {
    const { alpha, width, height } = await opacities(page);
    const sums = [0, 0, 0, 0];
    alpha.forEach((value, i) => {
        const right = i % width >= width / 2 ? 1 : 0;
        sums[right + (i >= width * height / 2 ? 2 : 0)] += value;
    });
    return sums;
}

/** Opacity at the middle of each patch, row by row. */
async function patches(page, [rows, columns]) {
    const { alpha, width, height } = await opacities(page);
    return Array.from({ length: rows * columns }, (_, i) => {
        const x = Math.floor((i % columns + 0.5) * width / columns);
        const y = Math.floor((Math.floor(i / columns) + 0.5) * height / rows);
        return alpha[y * width + x];
    });
}

for (const [pattern, quarter] of [['upper_left', 0], ['lower_right', 3]])
    for (const method of ['rollout', 'gradient'])
        test(`${method} is hottest where the defect is: ${pattern}`, () =>
            shared.open({}, async (page) => {
                await page.selectOption('#method', method);
                await drop(page, '#drop', [wafer(pattern)]);
                await shownAnswer(page);
                const heat = await quarters(page);
                heat.forEach((other, i) =>
                    assert.ok(i === quarter || heat[quarter] > 1.25 * other, String(heat)));
                await shoot(page, `heat-${pattern}-${method}`);
            }));

test('the canvas agrees with the answer, patch by patch', () => shared.open({}, async (page) => {
    await drop(page, '#drop', [wafer('upper_left')]);
    const { explanation } = await shownAnswer(page);
    await page.uncheck('text=Smooth');
    const max = Math.max(...explanation.relevance);
    const shown = await patches(page, explanation.grid);
    assert.equal(shown.length, explanation.relevance.length);
    explanation.relevance.forEach((value, i) =>
        assert.ok(Math.abs(shown[i] - 255 * value / max) <= 1, `patch ${i}`));
    await shoot(page, 'heat-blocky');
}));

test('smooth and blocky agree in the middle of the patches', () =>
    shared.open({}, async (page) => {
        await drop(page, '#drop', [wafer('lower_right')]);
        const { explanation } = await shownAnswer(page);
        const smooth = await patches(page, explanation.grid);
        await page.uncheck('text=Smooth');
        const blocky = await patches(page, explanation.grid);
        smooth.forEach((value, i) => assert.ok(Math.abs(value - blocky[i]) <= 8, `patch ${i}`));
    }));

test('the slider sets the opacity, also with the keyboard', () =>
    shared.open({}, async (page) => {
        await drop(page, '#drop', [wafer('upper_left')]);
        await shownAnswer(page);
        const opacity = () => page.$eval('#heat', (canvas) =>
            Number(getComputedStyle(canvas).opacity));
        await page.fill('#opacity', '30');
        assert.equal(await opacity(), 0.3);
        await page.focus('#opacity');
        await page.keyboard.press('End');
        assert.equal(await opacity(), 1);
        await page.keyboard.press('Home');
        assert.equal(await opacity(), 0);
        await shoot(page, 'heat-off');
    }));

test('the top patches are framed on request, where the answer has them', () =>
    shared.open({}, async (page) => {
        await drop(page, '#drop', [wafer('upper_left')]);
        const { explanation } = await shownAnswer(page);
        assert.ok(await page.isHidden('.boxes'));
        await page.check('text=Top patches');
        assert.ok(await page.isVisible('.boxes'));
        const frames = await page.locator('.boxes .over').evaluateAll((rects) => rects.map((rect) =>
            ['x', 'y', 'width', 'height'].map((name) => Number(rect.getAttribute(name)))));
        assert.deepEqual(frames, explanation.top_patches.map((box) =>
            [box.left, box.top, box.width, box.height]));
        await shoot(page, 'heat-boxes');
    }));

test('picture, canvas and frames have the image’s own aspect ratio', () =>
    shared.open({}, async (page) => {
        const wide = Buffer.alloc(300 * 100, 127);
        await drop(page, '#drop', [{ name: 'wide.png', type: 'image/png',
            bytes: greyPng(wide, 300, 100) }]);
        const { explanation } = await shownAnswer(page);
        assert.deepEqual(explanation.region, [0, 0, 300, 100]);
        for (const part of ['.stage', '.source-image', '#heat', '.stage']) {
            const { width, height } = await page.locator(part).boundingBox();
            assert.ok(Math.abs(width / height - 3) < 0.03, `${part}: ${width} x ${height}`);
        }
        await shoot(page, 'heat-wide');
    }));

test('a region smaller than the image is where the canvas lies', () =>
    shared.open({}, async (page) => {
        await page.route('**/predict?*', async (route) => {
            const response = await route.fetch();
            const answer = await response.json();
            answer.explanation.region = [SIDE / 4, 0, SIDE / 2, SIDE];
            await route.fulfill({ response, json: answer });
        });
        await drop(page, '#drop', [wafer('upper_left')]);
        await shownAnswer(page);
        const stage = await page.locator('.stage').boundingBox();
        const heat = await page.locator('#heat').boundingBox();
        assert.ok(Math.abs(heat.x - stage.x - stage.width / 4) < 1);
        assert.ok(Math.abs(heat.width - stage.width / 2) < 1);
        assert.ok(Math.abs(heat.height - stage.height) < 1);
    }));

test('pointing at the picture reads the patch', () => shared.open({}, async (page) => {
    await drop(page, '#drop', [wafer('upper_left')]);
    const { explanation } = await shownAnswer(page);
    const { x, y, width, height } = await page.locator('#heat').boundingBox();
    const [rows, columns] = explanation.grid;
    await page.mouse.move(x + 2.5 * width / columns, y + 3.5 * height / rows);
    const value = 100 * explanation.relevance[3 * columns + 2];
    assert.equal(await page.textContent('.picture .readout'),
        `row 4, column 3: ${value.toFixed(1)} %`);
}));

test('the ramp of colours rises evenly in lightness', () => shared.open({}, async (page) => {
    const ramp = await page.evaluate(async () => (await import('./ui/colours.js')).RAMP);
    const luminance = ramp.map((rgb) => {
        const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92
            : ((c / 255 + 0.055) / 1.055) ** 2.4));
        return Math.cbrt(0.2126 * r + 0.7152 * g + 0.0722 * b);
    });
    assert.equal(ramp.length, 256);
    for (let i = 16; i < luminance.length; i += 16)
        assert.ok(luminance[i] > luminance[i - 16] + 0.01, `step ${i}`);
}));
