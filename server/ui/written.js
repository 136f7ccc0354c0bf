/* A text that a model wrote, and the other texts that it might have written. */
import { alignedOf } from './alignment.js';
import { copyButton } from './copy.js';
import { el } from './dom.js';
import { longTable, listPanel } from './parts.js';
import { CHECK_CHARACTERS, checkOf } from './reading_strip.js';
import { scoreText } from './tasks.js';
import { visible } from './words.js';

/* A longer text is no headline any more. */
const HEADLINE_MAX = 160;

/** The text, to be read and taken along; or that there is none. @returns {Element[]} */
export function outputOf({ output, label }) {
    if (output === null)
        return [el('span', { id: 'label' }, label)];
    const text = el('span', { id: 'label', dir: 'auto',
        class: `output${output.length > HEADLINE_MAX ? ' long' : ''}` },
    output === '' ? el('span', { class: 'hint' }, 'An empty text') : visible(output));
    return [text, copyButton(output, text)];
}

const CHECKED = { holds: '✓ The check characters hold.',
    fails: '✗ The check characters do not hold.' };

/** What the rules of the request made of the text. @returns {(Element|null)[]} */
export function rulesOf(shown) {
    const { output, rejected } = shown.answer;
    const check = checkOf(shown);
    const told = check === null ? null
        : el('p', { class: `check-told ${check}`, id: 'checked' }, CHECKED[check]);
    if (output !== null || rejected === undefined)
        return [told];
    const cut = rejected.output.length - (check === null ? 0 : CHECK_CHARACTERS);
    return [el('p', { class: 'nearest', id: 'rejected' }, 'Best text that was rejected: ',
        el('span', { class: 'output-rejected', dir: 'auto' },
            visible(rejected.output.slice(0, Math.max(cut, 0))),
            check === null ? null : el('span', { class: `check-told ${check}` },
                `${visible(rejected.output.slice(Math.max(cut, 0)))} ✗`)),
        ` · score ${scoreText(rejected)}`), told];
}

/** The texts beside the best one; null: no others were asked for. */
function alternativesOf({ output, score, alternatives = [] }) {
    if (alternatives.length === 0)
        return null;
    const texts = [{ output, score }, ...alternatives];
    const rows = texts.map((text, i) => el('tr', { class: i === 0 ? 'first' : null },
        el('td', { class: 'rank' }, String(i + 1)),
        el('th', { scope: 'row', dir: 'auto' }, text.output === '' ? 'An empty text'
            : visible(text.output)),
        el('td', { class: 'number', title: String(text.score) }, scoreText(text))));
    return listPanel('Texts, the best first',
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
