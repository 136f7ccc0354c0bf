/* A text with parts of it marked, each with its name behind it. Parts may overlap: what several of
 * them cover is one mark that tells all. */
import { el } from './dom.js';
import { unitsOf, visible, walk } from './words.js';

/* Marks that are drawn: without aggregation each token of a long log is one. */
const MARKS_MAX = 3000;

/* How much of a text is shown behind its last mark. */
const REST_SHOWN = 2000;

export const COLOURS = 8;

/**
 * @typedef {{start: number, end: number, name: string, colour: number, told: string}} Part
 *     start, end: code points; colour: 0 to COLOURS - 1; told: what is read out
 */

/** The text's pieces that parts cover, in order, none in another. @param {Part[]} parts */
export function piecesOf(parts) {
    const order = parts.map((_, i) => i).sort((a, b) => parts[a].start - parts[b].start ||
        parts[a].end - parts[b].end);
    const cuts = [...new Set(parts.flatMap(({ start, end }) => [start, end]))]
        .sort((a, b) => a - b);
    const pieces = [];
    let active = [];
    let next = 0;
    for (const [i, start] of cuts.entries()) {
        active = active.filter((part) => parts[part].end > start);
        for (; next < order.length && parts[order[next]].start === start; next++)
            if (parts[order[next]].end > start)
                active.push(order[next]);
            else
                pieces.push({ start, end: start, covering: [order[next]], ends: [order[next]] });
        const end = cuts[i + 1];
        if (active.length > 0)
            pieces.push({ start, end, covering: [...active],
                ends: active.filter((part) => parts[part].end === end) });
    }
    return pieces;
}

function markElement(text, { covering, ends }, parts) {
    const several = covering.length > 1 ? ' tag-several' : '';
    return el('mark', { class: `tag tag-${parts[covering[0]].colour}${several}`, tabindex: -1,
        title: covering.map((part) => parts[part].told).join('; ') }, visible(text),
    ...ends.map((part) => el('span', { class: 'tag-name' }, visible(parts[part].name))));
}

/**
 * @param {string} text  as it was sent
 * @param {Part[]} parts
 * @param {string} title  of the text, for a screen reader
 * @returns {{element: Element, go: (part: number) => void}}  go: to the mark of a part
 */
export function markedText(text, parts, title) {
    const all = piecesOf(parts);
    const pieces = all.slice(0, MARKS_MAX);
    const units = unitsOf(text, pieces.reduce((last, { end }) => Math.max(last, end), 0));
    const body = el('div', { class: 'words marked', id: 'marked', role: 'group', dir: 'ltr',
        'aria-label': title, tabindex: pieces.length === 0 ? 0 : null });
    const elements = [];
    let from = 0;
    for (const piece of pieces) {
        body.append(visible(text.slice(from, units[piece.start])));
        elements.push(markElement(text.slice(units[piece.start], units[piece.end]), piece, parts));
        body.append(elements.at(-1));
        from = units[piece.end];
    }
    const rest = text.slice(from, from + REST_SHOWN);
    const more = text.length - from - rest.length;
    body.append(visible(rest), more > 0 ? el('span', { class: 'unread' }, ` … ${more} more`) : '');
    const left = all.length - pieces.length;
    const readout = el('p', { class: 'hint readout', 'aria-live': 'polite' }, pieces.length === 0
        ? '' : left > 0 ? `The first ${MARKS_MAX} marks are drawn; ${left} more are in the answer.`
            : 'Point at a mark, or walk with the arrow keys, to read its score.');
    const go = walk(body, elements, (index) => {
        if (index >= 0)
            readout.textContent = elements[index].title;
    });
    return { element: el('div', { class: 'words-box' }, body, readout),
        go: (part) => {
            const at = pieces.findIndex(({ covering }) => covering.includes(part));
            if (at >= 0)
                go(at);
        } };
}
