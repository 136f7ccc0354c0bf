/* The right text of an answer that is a text, said by a person: what was written in one press, or
 * what somebody types. */
import { announce, el } from './dom.js';

const ROWS_MAX = 8;

/**
 * @param {{written: string|null, typed: string, told?: string,
 *     send: (text: string) => Promise<string>}} subject  written: null: no text obeys the rules;
 *     typed: what stands in the field at first; told: what became of it before; send: resolves to
 *     what became of it, as a sentence
 * @param {string} suffix  makes ids unique where several are shown
 */
export function rightTextForm({ written, typed, told: before = '', send }, suffix) {
    const told = el('p', { class: 'hint', id: `mark-told${suffix}` }, before);
    const field = el('textarea', { id: `mark-text${suffix}`, dir: 'auto', spellcheck: 'false',
        rows: Math.min(typed.split('\n').length, ROWS_MAX) });
    field.value = typed;
    const give = async (text) => {
        told.textContent = 'Sending …';
        told.textContent = await send(text);
        announce(told.textContent);
    };
    return el('div', { class: 'mark right-text', role: 'group', 'aria-label': 'Right text' },
        written === null ? null : el('button', { type: 'button', class: 'small',
            click: () => give(written) }, 'The text is right'),
        el('label', { for: `mark-text${suffix}` }, 'Right text'), field,
        el('button', { type: 'button', class: 'small', click: () => give(field.value) },
            'Send the right text'), told);
}

/** What the server made of a right text. @param {{correct: boolean, edits: number}} result */
export function judgedText({ correct, edits }) {
    return correct ? 'it is what was written.'
        : `${edits} ${edits === 1 ? 'character differs' : 'characters differ'}.`;
}
