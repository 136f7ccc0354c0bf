/* A share with its interval: as text, and as a bar with whiskers that says the same. */
import { el, svg } from './dom.js';
import { integer, percent } from './format.js';

/** @typedef {{value: number, low: number, high: number, n: number}} Share */

function bar({ value, low, high }) {
    const [at, from, to] = [value, low, high].map((share) => (100 * share).toFixed(1));
    return svg('svg', { class: 'interval', viewBox: '0 0 100 10', preserveAspectRatio: 'none',
        'aria-hidden': 'true' },
    svg('rect', { class: 'whole', width: 100, height: 10 }),
    svg('rect', { class: 'part', width: at, height: 10 }),
    svg('path', { class: 'whiskers', d: `M${from} 1V9M${from} 5H${to}M${to} 1V9` }));
}

/** "66.7 % (20.8 % to 93.9 %, n = 3)" */
export function intervalText({ value, low, high, n }) {
    return `${percent(value)} (${percent(low)} to ${percent(high)}, n = ${integer(n)})`;
}

/** @param {Share|null} share  null, or of none: there is nothing to tell @returns {Node|string} */
export function intervalOf(share) {
    if (!(share?.n > 0))
        return '–';
    const { value, low, high, n } = share;
    return el('div', { class: 'with-interval' }, el('span', { class: 'number' }, percent(value)),
        bar(share), ' ', el('span', { class: 'hint' },
            `${percent(low)} to ${percent(high)}, n = ${integer(n)}`));
}
