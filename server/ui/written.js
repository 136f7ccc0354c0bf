/* A text that a model wrote, and the other texts that it might have written. */
import { alignedOf } from './alignment.js';
import { copyButton } from './copy.js';
import { el } from './dom.js';
import { longTable, listPanel } from './parts.js';
import { scoreText } from './tasks.js';
import { visible } from './words.js';

/* A longer text is no headline any more. */
const HEADLINE_MAX = 160;

/** The text, to be read and taken along. @returns {Element[]} */
export function outputOf({ output }) {
    const text = el('span', { id: 'label', dir: 'auto',
        class: `output${output.length > HEADLINE_MAX ? ' long' : ''}` },
    output === '' ? el('span', { class: 'hint' }, 'An empty text') : visible(output));
    return [text, copyButton(output, text)];
}

/** The texts beside the best one; null: no others were asked for. */
function alternativesOf({ output, score, alternatives = [] }) {
    const texts = [{ output, score }, ...alternatives];
    const rows = texts.map((text, i) => el('tr', { class: i === 0 ? 'first' : null },
        el('td', { class: 'rank' }, String(i + 1)),
        el('th', { scope: 'row', dir: 'auto' }, text.output === '' ? 'An empty text'
            : visible(text.output)),
        el('td', { class: 'number', title: String(text.score) }, scoreText(text))));
    return alternatives.length === 0 ? null : listPanel('Texts, the best first',
        ...longTable('texts', ['Rank', 'Text', 'Score'], rows, 'text'));
}

/**
 * @param {object} shown  see result.js
 * @returns {{seen: Element|null, list: Element|null, below: Element|null}} seen: null: as of any
 *     other answer; below: wide, under both
 */
export function writtenOf(shown) {
    return { seen: null, below: null, ...alignedOf(shown), list: alternativesOf(shown.answer) };
}
