/* Results that leave the page: as files, and on paper. */
import { announce, el } from './dom.js';
import { csvOf } from './entry.js';

/* The browser has read a file by then. */
const KEPT_MS = 60000;

/** Gives the browser a file to keep. */
export function save(name, type, text) {
    const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    el('a', { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
    announce(`Saved ${name}`);
}

function button(text, click) {
    return el('button', { type: 'button', class: 'small', click }, text);
}

/**
 * @param {string} stem  what the files are called
 * @param {() => object[]} entries  see entry.js
 * @returns {Element}
 */
export function saveButtons(stem, entries) {
    return el('div', { class: 'row save', role: 'group', 'aria-label': `Save or print: ${stem}` },
        button('CSV', () => save(`${stem}.csv`, 'text/csv', csvOf(entries()))),
        button('JSON', () => save(`${stem}.json`, 'application/json',
            `${JSON.stringify(entries(), null, 2)}\n`)),
        button('Print', () => print()));
}
