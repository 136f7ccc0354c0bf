/* Texts that models wrote in this tab and that are not to go out by themselves: the picture that was
 * read, the text, and why a person should look at it. */
import { el } from './dom.js';
import { clock, plural } from './format.js';
import { scoreText } from './tasks.js';
import { chip, figures, reason } from './verdict.js';
import { visible } from './words.js';

/* The latest. */
const ROWS_MAX = 200;

/* Characters of a text in its row. */
const SHOWN = 300;

/* Of a picture, in pixels; a mark is wide and low. */
const FACE_HEIGHT = 40;

function faceOf(blob) {
    if (blob === undefined)
        return null;
    const face = el('img', { class: 'mark-face', alt: '', height: FACE_HEIGHT });
    face.src = URL.createObjectURL(blob);
    for (const event of ['load', 'error'])
        face.addEventListener(event, () => URL.revokeObjectURL(face.src));
    return face;
}

function rowOf({ when, name, answer, blob }) {
    const output = answer.output ?? answer.rejected?.output ?? '';
    return el('tr', {}, el('th', { scope: 'row' }, el('span', { class: 'start' }, name),
        faceOf(blob)),
    el('td', { class: 'written', dir: 'auto' },
        answer.output === null ? `${answer.label}; rejected: ` : null,
        output === '' ? 'An empty text' : visible(output.slice(0, SHOWN)),
        output.length > SHOWN ? ' …' : null),
    el('td', { class: 'number' }, scoreText(answer)), el('td', {}, chip(answer)),
    el('td', { class: 'why' }, `${reason(answer)} ${figures(answer)}`.trim()),
    el('td', {}, answer.model.name), el('td', { class: 'number' }, clock(when)));
}

export class ReviewTexts {
    constructor() {
        this.counted = el('p', { class: 'hint', id: 'review-texts-count' });
        this.body = el('tbody');
        const heads = ['Input', 'Text', 'Score', 'Decision', 'Why', 'Model', 'Time'];
        this.element = el('section', { class: 'panel tile', hidden: true,
            'aria-label': 'Texts to look at' }, el('h2', {}, 'Texts to look at'), this.counted,
        el('div', { class: 'scroll tall', tabindex: 0, role: 'region', 'aria-label': 'Texts' },
            el('table', { class: 'data', id: 'review-texts' },
                el('thead', {}, el('tr', {}, ...heads.map((head) =>
                    el('th', { scope: 'col', class: head === 'Score' || head === 'Time' ? 'number'
                        : null }, head)))), this.body)));
    }

    /** @param {import('./entry.js').Record} record */
    add(record) {
        const { answer } = record;
        if (answer?.output === undefined || answer.decision === undefined ||
            answer.decision === 'auto')
            return;
        this.body.prepend(rowOf(record));
        if (this.body.rows.length > ROWS_MAX)
            this.body.lastElementChild.remove();
        this.element.hidden = false;
        this.counted.textContent = `${plural(this.body.rows.length, 'text')} of this tab, the ` +
            'newest first, until the page is reloaded.';
    }
}
