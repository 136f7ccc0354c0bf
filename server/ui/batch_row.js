/* A row of the table of several inputs: the picture or how the text begins, and what came of it. */
import { el, icon } from './dom.js';
import { percent } from './format.js';
import { headlineOf, scoreText } from './tasks.js';
import { chip, isUnknown, reason, unreadNote } from './verdict.js';

const THUMB_SIDE = 40;

function faceOf(row) {
    if (row.kind !== 'image')
        return null;
    row.url = URL.createObjectURL(row.file); // whoever takes the rows away revokes it
    const face = el('img', { class: 'thumb', src: row.url, alt: '', loading: 'lazy',
        decoding: 'async', width: THUMB_SIDE, height: THUMB_SIDE,
        error: () => face.classList.add('none') });
    return face;
}

/**
 * @param {import('./batch.js').Row} row
 * @param {() => void} open  shows its result in full
 */
export function rowElement(row, open) {
    const name = el('button', { type: 'button', class: 'link', click: (event) => {
        event.stopPropagation();
        open();
    } }, row.name || 'Without a name');
    const start = row.start === '' ? null : el('span', { class: 'start' }, row.start);
    return el('tr', { click: open }, el('th', { scope: 'row' },
        el('div', { class: 'thing' }, faceOf(row), el('div', {}, name, start))));
}

function verdictOf(answer) {
    return isUnknown(answer)
        ? ['Unknown', el('span', { class: 'start' }, `nearest: ${answer.label}`)] : [headlineOf(answer)];
}

function answered(answer) {
    return [el('td', { class: 'verdict-cell' }, ...verdictOf(answer)),
        el('td', { class: 'number' }, scoreText(answer)), el('td', {}, chip(answer)),
        el('td', { class: 'why' }, `${reason(answer)} ${unreadNote(answer)}`.trim())];
}

/* Where it stood in a request says nothing here: it stands in its row. */
function failed({ detail }, colspan) {
    return el('td', { class: 'failed', colspan }, icon('error'),
        ` ${detail.replace(/^\$\.inputs\[\d+\](\.\w+)?: /, '')}`);
}

function cellsOf(result) {
    if (result === undefined)
        return [el('td', { class: 'start', colspan: 4 }, 'not sent yet')];
    return result.answer === undefined ? [failed(result.problem, 4)] : answered(result.answer);
}

/* What the second model says; marked, also in words, where it says another thing. */
function secondCell(first, second) {
    if (second === undefined)
        return el('td', {}, '–');
    if (second.answer === undefined)
        return failed(second.problem, 1);
    const differs = first?.answer !== undefined && first.answer.label !== second.answer.label;
    return el('td', { class: differs ? 'differs' : null }, ...verdictOf(second.answer), ' ',
        el('span', { class: 'number' }, percent(second.answer.score)),
        differs ? el('strong', {}, ' differs') : null);
}

/** Puts what is known now behind the row's head. */
export function showRow(row, withSecond) {
    const [first, second] = row.results;
    const head = row.element.firstElementChild;
    row.element.replaceChildren(head, ...cellsOf(first),
        ...withSecond ? [secondCell(first, second)] : []);
}
