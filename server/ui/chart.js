/* A line over the last minutes: a small SVG that is redrawn from its points. */
import { el, svg } from './dom.js';

const WIDTH = 300;
const HEIGHT = 60;

/** The next of 1, 2, 5, 10, ... */
export function niceAbove(value) {
    if (!(value > 0))
        return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    return power * [1, 2, 5, 10].find((step) => step * power >= value);
}

/* A missing value (NaN) breaks the line; a value between two such is a dot, which is what a line of
 * no length with round ends looks like. */
function pathOf(points, value, x, y) {
    let pen = false;
    let path = '';
    for (const point of points) {
        const at = value(point);
        if (Number.isFinite(at))
            path += `${pen ? 'L' : 'M'}${x(point.time).toFixed(1)} ${y(at).toFixed(1)}h0`;
        pen = Number.isFinite(at);
    }
    return path;
}

/** What the lines are, where there is more than one. */
function key(series) {
    return series.length < 2 ? null : el('p', { class: 'key' },
        ...series.map((one) => el('span', { class: one.style }, one.name)));
}

/**
 * @param {{title: string, spanMs: number, least: number, format: (value: number) => string,
 *     series: {name: string, style: string, value: (point: object) => number}[]}} options
 *     least: what the scale reaches at least
 * @returns {{element: Element, draw: (points: {time: number}[], now: number) => void}}
 */
export function chart({ title, spanMs, least, format, series }) {
    const lines = series.map((one) => svg('path', { class: `line ${one.style}` }));
    const top = el('span', { class: 'top' });
    const grid = [0.02, 0.5, 0.98].map((part) => svg('path', { class: 'grid',
        d: `M0 ${HEIGHT * part}H${WIDTH}` }));
    const drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none',
        role: 'img', 'aria-label': `${title}, last ${Math.round(spanMs / 60000)} minutes` },
    ...grid, ...lines);
    const element = el('div', { class: 'chart-box' }, key(series),
        el('div', { class: 'chart' }, drawing, top,
            el('span', { class: 'from' }, `−${Math.round(spanMs / 60000)} min`),
            el('span', { class: 'to' }, 'now')));
    const draw = (points, now) => {
        const values = points.flatMap((point) => series.map((one) => one.value(point)));
        const most = niceAbove(Math.max(least, ...values.filter(Number.isFinite)));
        const x = (time) => WIDTH * (1 - (now - time) / spanMs);
        const y = (value) => HEIGHT * (0.98 - 0.96 * value / most);
        series.forEach((one, i) => lines[i].setAttribute('d', pathOf(points, one.value, x, y)));
        top.textContent = format(most);
    };
    return { element, draw };
}
