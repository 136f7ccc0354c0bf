/* The right label of an answer, said by a person: the model's own in one press, another from the
 * list of the model, or one that it has never heard of. */
import { announce, el } from './dom.js';
import { isWanted } from './new_label.js';

/**
 * @param {{entry: object, labels: string[], feedback: import('./feedback.js').Feedback}} subject
 *     entry: the answer, see entry.js; labels: those of its model
 * @param {string} suffix  makes ids unique where two answers are shown
 */
export function markForm({ entry, labels, feedback }, suffix) {
    const told = el('p', { class: 'hint', id: `mark-told${suffix}` });
    const before = feedback.labelOf(entry);
    const field = el('input', { id: `mark-label${suffix}`, list: `mark-labels${suffix}`,
        type: 'text', maxlength: 256, autocomplete: 'off', spellcheck: 'false',
        value: before ?? '' });
    const mark = async (label) => {
        if (label === '') {
            told.textContent = 'Choose a label or type one.';
            field.focus();
            return;
        }
        if (!labels.includes(label) && label !== before && !await isWanted(label, labels)) {
            field.focus();
            return;
        }
        field.value = label;
        told.textContent = `Marked as ${label} …`;
        told.textContent = `Marked as ${label}. ` +
            await feedback.mark(entry, { label }, !labels.includes(label));
        announce(told.textContent);
    };
    field.addEventListener('keydown', (event) => {
        if (event.key === 'Enter')
            mark(field.value.trim());
    });
    if (before !== undefined)
        told.textContent = `Marked as ${before}.`;
    return el('div', { class: 'mark', role: 'group', 'aria-label': 'Right label' },
        el('button', { type: 'button', class: 'small', click: () => mark(entry.label) },
            `“${entry.label}” is right`),
        el('label', {}, 'Right label', field),
        el('datalist', { id: `mark-labels${suffix}` },
            ...labels.map((label) => el('option', { value: label }))),
        el('button', { type: 'button', class: 'small', click: () => mark(field.value.trim()) },
            'Mark'), told);
}
