/* The labels to choose from, each with its key, and one that the model has never heard of. */
import { el } from './dom.js';
import { isWanted, nearest } from './new_label.js';

/* Letters that do something else are left out (review_keys.js). */
const KEYS = '123456789abcdefghilmopqrstvwyz';

const LABEL_MAX = 256;

/**
 * @param {string[]} known  the model's own
 * @param {string[]} given  that were given
 * @returns {{label: string, key: string, isNew: boolean}[]}
 */
export function choicesOf(known, given) {
    const more = given.filter((label) => !known.includes(label)).sort();
    return [...known, ...more].map((label, i) => ({ label, key: KEYS[i] ?? '',
        isNew: i >= known.length }));
}

function choiceButton({ label, key, isNew }, choose) {
    return el('button', { type: 'button', class: 'choice', 'aria-keyshortcuts': key || null,
        click: () => choose(label, isNew) },
    key === '' ? null : el('kbd', { 'aria-hidden': 'true' }, key), el('span', {}, label));
}

export class Labels {
    /** @param {(label: string, isNew: boolean) => void} choose */
    constructor(choose) {
        this.choose = choose;
        this.choices = [];
        this.buttons = el('div', { class: 'choices', role: 'group', 'aria-label': 'Labels' });
        this.field = el('input', { id: 'review-new', type: 'text', maxlength: LABEL_MAX,
            autocomplete: 'off', spellcheck: 'false' });
        this.form = el('form', { class: 'row', hidden: true, submit: (event) => {
            event.preventDefault();
            this.takeNew();
        } }, el('label', { for: 'review-new' }, 'New label'), this.field,
        el('button', { type: 'submit', class: 'small' }, 'Give it'),
        el('button', { type: 'button', class: 'small', click: () => this.closeNew() }, 'Cancel'));
        this.form.addEventListener('keydown', (event) => {
            if (event.key === 'Escape')
                this.closeNew();
        });
        this.element = el('div', { class: 'labelling' }, this.buttons, this.form);
    }

    draw(known, given) {
        this.known = known;
        this.choices = choicesOf(known, given);
        this.opener = el('button', { type: 'button', class: 'choice', 'aria-keyshortcuts': 'n',
            click: () => this.openNew() },
        el('kbd', { 'aria-hidden': 'true' }, 'n'), el('span', {}, 'new label …'));
        this.buttons.replaceChildren(
            ...this.choices.map((choice) => choiceButton(choice, this.choose)), this.opener);
    }

    /** Whether a key is that of a label; it is given then. */
    take(key) {
        const choice = this.choices.find((one) => one.key === key);
        if (choice !== undefined)
            this.choose(choice.label, choice.isNew);
        return choice !== undefined;
    }

    openNew() {
        this.form.hidden = false;
        this.field.focus();
    }

    closeNew() {
        this.form.hidden = true;
        this.field.value = '';
        this.opener.focus();
    }

    /** Whoever opened the form wants a new label; a question only where it is nearly a known one. */
    async takeNew() {
        const label = this.field.value.trim();
        const known = this.choices.map((choice) => choice.label);
        if (label === '' || (!known.includes(label) && nearest(label, known) !== undefined &&
            !await isWanted(label, known)))
            return;
        this.closeNew();
        this.choose(label, !this.known.includes(label));
    }
}
