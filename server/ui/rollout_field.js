/* Fields of the forms that change versions. Shares are typed as percentages. */
import { el } from './dom.js';

export function field(text, control) {
    return el('label', { class: 'labelled' }, el('span', {}, text), control);
}

export function percentField() {
    return el('input', { type: 'number', min: 0, max: 100, step: 'any', class: 'percent' });
}

/** From 0 to 1; undefined: nothing is typed. */
export function shareIn(input) {
    return input.value === '' ? undefined : Number(input.value) / 100;
}
