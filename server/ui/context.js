/* Where an input comes from: what the server echoes with the answer and writes into its log. */
import { el } from './dom.js';

/* In this order on the page and in tables. A number is sent as one. */
export const CONTEXT = [
    { member: 'lot', title: 'Lot' },
    { member: 'wafer', title: 'Wafer' },
    { member: 'step', title: 'Step' },
    { member: 'tool', title: 'Tool' },
    { member: 'chamber', title: 'Chamber' },
    { member: 'recipe', title: 'Recipe' },
    { member: 'die_x', title: 'Die X', number: true },
    { member: 'die_y', title: 'Die Y', number: true },
];

const BYTES_MAX = 64;

function valueOf({ number }, text) {
    return number === true && /^-?\d{1,9}$/.test(text) ? Number(text) : text;
}

/** "Lot A1, Wafer 7" */
export function contextText(context) {
    return CONTEXT.filter(({ member }) => context?.[member] !== undefined)
        .map(({ member, title }) => `${title} ${context[member]}`).join(', ');
}

/**
 * @param {HTMLDetailsElement} place  its summary tells what is set
 * @returns {() => object|null} reads the fields; null: none is set
 */
export function contextFields(place) {
    const fields = CONTEXT.map((row) => ({ ...row, input: el('input', { id: `context-${row.member}`,
        type: 'text', maxlength: BYTES_MAX, autocomplete: 'off', spellcheck: 'false',
        input: () => tell() }) }));
    const summary = el('summary');
    const read = () => {
        const set = fields.map((field) => [field.member, valueOf(field, field.input.value.trim())])
            .filter(([, value]) => value !== '');
        return set.length === 0 ? null : Object.fromEntries(set);
    };
    const tell = () => {
        summary.textContent = contextText(read()) || 'Lot, wafer, step';
    };
    tell();
    place.append(summary, el('div', { class: 'context' }, ...fields.map(({ title, input }) =>
        el('label', {}, title, input))), el('p', { class: 'hint' },
        'Goes with what is sent next, and into the server’s log.'));
    return read;
}
