/* Small tables of the Live view. */
import { el } from './dom.js';

/** @typedef {string|{number: string}} Cell */

/** A cell that holds a number: digits stand below digits. @returns {Cell} */
export function num(text) {
    return { number: text };
}

function cellOf(tag, attributes, cell) {
    return typeof cell === 'string' ? el(tag, attributes, cell)
        : el(tag, { ...attributes, class: 'number' }, cell.number);
}

/** The first cell names the row. @param {...Cell} cells */
export function row(...cells) {
    const [first, ...rest] = cells;
    return el('tr', {}, cellOf('th', { scope: 'row' }, first),
        ...rest.map((cell) => cellOf('td', {}, cell)));
}

/** A table that does not fit scrolls, also with the keyboard; an empty one shows a note. */
export function table(id, caption, heads) {
    const body = el('tbody');
    const nothing = el('tr', {}, el('td', { colspan: heads.length }, 'none yet'));
    const fill = (rows) => body.replaceChildren(...(rows.length > 0 ? rows : [nothing]));
    const element = el('div', { class: 'scroll', tabindex: 0, role: 'region',
        'aria-label': caption },
    el('table', { class: 'data', id },
        el('caption', { class: 'hidden' }, caption),
        el('thead', {}, el('tr', {}, ...heads.map((head) => cellOf('th', { scope: 'col' }, head)))),
        body));
    fill([]);
    return { element, fill };
}
