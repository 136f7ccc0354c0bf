/* The relevance of an image's patches, painted over the image at the image's own aspect ratio.
 *
 * The grid covers `region` [left, top, width, height], in pixels of the image: a model that crops
 * sees less than the image, one that pads sees more. */
import { RAMP, putColour } from './colours.js';
import { el, svg } from './dom.js';
import { percent } from './format.js';

/* Sides of the canvas, about; the browser scales it to the picture. */
const CANVAS_SIDE = 480;

/* Sides of a picture in CSS pixels, at most; small wafer maps are enlarged to it. */
const PICTURE_SIDE = 400;

/** @typedef {{rows: number, columns: number, values: number[], max: number}} Grid */

/** @returns {Grid} */
export function gridOf(explanation) {
    const [rows, columns] = explanation.grid;
    const values = explanation.relevance;
    return { rows, columns, values, max: Math.max(...values, Number.MIN_VALUE) };
}

/** Two neighbours along one side, and how far it is from the first to the second; the outer halves
 * of the outermost patches are all theirs. */
function neighbours(position, count) {
    const inside = Math.min(Math.max(position - 0.5, 0), count - 1);
    const first = Math.min(Math.floor(inside), Math.max(count - 2, 0));
    return { first, second: Math.min(first + 1, count - 1), part: inside - first };
}

/** Relevance over the largest at a place of the grid, in patches from its corner. */
function valueAt(grid, x, y, smooth) {
    const at = (row, column) => grid.values[row * grid.columns + column];
    if (!smooth)
        return at(Math.floor(y), Math.floor(x)) / grid.max;
    const across = neighbours(x, grid.columns);
    const down = neighbours(y, grid.rows);
    const line = (row) => at(row, across.first) * (1 - across.part) +
        at(row, across.second) * across.part;
    return (line(down.first) * (1 - down.part) + line(down.second) * down.part) / grid.max;
}

/** @param {HTMLCanvasElement} canvas */
export function paint(canvas, grid, smooth) {
    const scale = Math.max(1, Math.round(CANVAS_SIDE / Math.max(grid.rows, grid.columns)));
    canvas.width = grid.columns * scale;
    canvas.height = grid.rows * scale;
    const context = canvas.getContext('2d');
    const image = context.createImageData(canvas.width, canvas.height);
    for (let y = 0, at = 0; y < canvas.height; y++)
        for (let x = 0; x < canvas.width; x++, at += 4)
            putColour(image.data, at, valueAt(grid, (x + 0.5) / scale, (y + 0.5) / scale, smooth));
    context.putImageData(image, 0, 0);
}

/** Holds a decoded picture at its own aspect ratio. One of few pixels shows them as they are. */
export function stageOf(picture, side = PICTURE_SIDE) {
    const width = picture.naturalWidth;
    const height = picture.naturalHeight;
    const stage = el('div', { class: 'stage' }, picture);
    stage.style.aspectRatio = `${width} / ${height}`;
    stage.style.maxWidth = `${Math.round(side * Math.min(1, width / height))}px`;
    picture.classList.toggle('pixels', Math.max(width, height) < PICTURE_SIDE / 2);
    return stage;
}

/** Over a region of a width x height picture, whatever size the picture is shown at. */
function place(element, [left, top, across, down], width, height) {
    element.style.left = `${100 * left / width}%`;
    element.style.top = `${100 * top / height}%`;
    element.style.width = `${100 * across / width}%`;
    element.style.height = `${100 * down / height}%`;
}

/** A box that is seen on light and on dark, with its rank in the corner. */
function boxOf(box, rank, size) {
    const frame = { x: box.left, y: box.top, width: box.width, height: box.height };
    return svg('g', {},
        svg('rect', { ...frame, class: 'under' }),
        svg('rect', { ...frame, class: 'over' }),
        svg('text', { x: box.left + size * 0.2, y: box.top + size * 0.95, 'font-size': size },
            String(rank)));
}

function boxesOver(boxes, width, height) {
    const size = Math.max(width, height) / 26;
    return svg('svg', { class: 'boxes', viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
        ...boxes.map((box, i) => boxOf(box, i + 1, size)));
}

/** The ramp with what its ends stand for. */
export function legend(most) {
    const strip = el('canvas', { width: RAMP.length, height: 1, class: 'strip',
        'aria-hidden': 'true' });
    const context = strip.getContext('2d');
    const image = context.createImageData(RAMP.length, 1);
    RAMP.forEach(([r, g, b], i) => image.data.set([r, g, b, 255], i * 4));
    context.putImageData(image, 0, 0);
    return el('div', { class: 'legend' }, el('span', {}, '0'), strip,
        most);
}

/** What lies under the pointer. */
function followPointer(canvas, grid, readout, told) {
    const rest = 'Point at the picture to read a patch.';
    readout.textContent = rest;
    canvas.addEventListener('pointermove', (event) => {
        const frame = canvas.getBoundingClientRect();
        const column = Math.floor((event.clientX - frame.left) / frame.width * grid.columns);
        const row = Math.floor((event.clientY - frame.top) / frame.height * grid.rows);
        const patch = row * grid.columns + column;
        if (grid.values[patch] === undefined || column < 0 || column >= grid.columns)
            return;
        told(patch);
        readout.textContent = `row ${row + 1}, column ${column + 1}: ${percent(grid.values[patch])}`;
    });
    canvas.addEventListener('pointerleave', () => {
        readout.textContent = rest;
        told(-1);
    });
}

function checkbox(label, checked, change) {
    const box = el('input', { type: 'checkbox', checked,
        change: () => change(box.checked) });
    return el('label', { class: 'check' }, box, label);
}

function slider(canvas, settings) {
    const range = el('input', { type: 'range', min: 0, max: 100, value: settings.opacity,
        id: 'opacity', input: () => show() });
    const show = () => {
        settings.opacity = Number(range.value);
        canvas.style.opacity = String(settings.opacity / 100);
    };
    show();
    return el('label', { class: 'slider' }, 'Heat map', range);
}

function patchList(boxes) {
    return el('ol', { class: 'patches' }, ...boxes.map((box) => el('li', {},
        el('span', { class: 'number' }, percent(box.relevance)),
        ` at ${box.left}, ${box.top}, ${box.width} × ${box.height} px`)));
}

/* What the reader has set stays from picture to picture. */
const settings = { opacity: 80, smooth: true, boxes: false };

function controls(canvas, grid, boxes) {
    const smooth = checkbox('Smooth', settings.smooth, (on) => {
        settings.smooth = on;
        paint(canvas, grid, on);
    });
    const framed = checkbox('Top patches', settings.boxes, (on) => {
        settings.boxes = on;
        boxes.toggleAttribute('hidden', !on);
    });
    boxes.toggleAttribute('hidden', !settings.boxes);
    return el('div', { class: 'row controls' }, slider(canvas, settings), smooth, framed);
}

/**
 * Lays the heat map over a picture whose size is known.
 *
 * @param {HTMLElement} stage  holds the picture alone and has its aspect ratio
 * @param {HTMLImageElement} picture
 * @param {(patch: number) => void} told  which patch is pointed at; -1: none
 * @returns {{foot: Element, show: (values: number[]|null) => void}} foot: controls and legend, to
 *     stand below; show: draws other values of the patches, null: the relevance again
 */
export function heatMap(stage, picture, explanation, told = () => {}) {
    const width = picture.naturalWidth;
    const height = picture.naturalHeight;
    const grid = gridOf(explanation);
    const canvas = el('canvas', { class: 'heat', id: 'heat', role: 'img',
        'aria-label': `Heat map of ${grid.rows} by ${grid.columns} patches` });
    const boxes = boxesOver(explanation.top_patches ?? [], width, height);
    const readout = el('p', { class: 'hint readout' });
    place(canvas, explanation.region, width, height);
    followPointer(canvas, grid, readout, told);
    stage.append(canvas, boxes);
    const most = el('span', {});
    const show = (values) => {
        Object.assign(grid, gridOf({ ...explanation, relevance: values ?? explanation.relevance }));
        most.textContent = `${percent(grid.max)} of the ${values === null ? 'relevance'
            : 'attention'} a patch`;
        paint(canvas, grid, settings.smooth);
    };
    show(null);
    return { show, foot: el('div', { class: 'heat-foot' }, controls(canvas, grid, boxes),
        legend(most), readout, el('details', {}, el('summary', {}, 'Most relevant patches'),
            patchList(explanation.top_patches ?? []))) };
}
