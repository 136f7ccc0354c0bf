/* The options of a model that writes texts, within the limits that the model tells. An empty field
 * is as the checkpoint sets it. */
import { el } from './dom.js';
import { integer } from './format.js';

/* usual, most: members of what the model tells (`writes` of GET /models). */
const NUMBERS = [
    { name: 'max_new_tokens', label: 'Tokens at most', usual: 'max_new_tokens',
        most: 'new_tokens_max' },
    { name: 'num_beams', label: 'Beams', usual: 'num_beams', most: 'num_beams_max' },
    { name: 'num_return_sequences', label: 'Texts', usual: 'num_return_sequences',
        most: 'num_beams_max' },
];

const LANGUAGES = [
    { name: 'source_language', label: 'From language', codes: 'source_languages' },
    { name: 'target_language', label: 'Into language', codes: 'target_languages' },
];

const CHECKS = [['', 'None'], ['semi-m13', 'SEMI M12, M13']];

function idOf(name) {
    return name.replaceAll('_', '-');
}

export class WritingFields {
    /**
     * @param {HTMLElement} root
     * @param {() => void} changed
     */
    constructor(root, changed) {
        this.root = root;
        this.changed = changed;
        this.model = undefined;
        this.numbers = [];
        this.languages = [];
        this.checks = []; // of marks: the rule that their check characters obey
        this.stream = el('input', { type: 'checkbox', id: 'stream', change: () => changed() });
        this.streaming = el('label', { class: 'check' }, this.stream, 'Show tokens as they come');
    }

    /** @param {object} [model]  as GET /models has it; of another task: there is nothing to choose */
    show(model) {
        this.root.hidden = model?.writes === undefined;
        if (model === this.model)
            return;
        this.model = model?.writes === undefined ? undefined : model;
        this.numbers = this.model === undefined ? [] : NUMBERS.map((one) => this.number(one));
        this.languages = this.model === undefined ? []
            : LANGUAGES.filter(({ codes }) => model.writes[codes].length > 0)
                .map((one) => this.language(one));
        this.checks = this.model?.kind === 'image' ? [this.check()] : [];
        this.root.replaceChildren(...this.fields().flatMap((field) =>
            [el('label', { for: field.id }, field.dataset.label), field]), this.streaming);
        this.told();
    }

    /* Tokens can be shown only while one text alone is followed. */
    told() {
        this.stream.disabled = this.model === undefined || this.asked().num_beams !== 1;
        this.streaming.title = this.stream.disabled ? 'Needs 1 beam' : '';
    }

    /** The options that count: those that are chosen, else the checkpoint's. */
    asked() {
        return { ...this.model.writes, num_return_sequences: 1, ...this.values(this.model) };
    }

    /** Whether the tokens are wanted as they come. */
    streams(model) {
        return model !== undefined && model === this.model && this.stream.checked &&
            !this.stream.disabled;
    }

    number({ name, label, usual, most }) {
        const { writes } = this.model;
        return el('input', { id: idOf(name), name, type: 'number', min: 1, max: writes[most],
            step: 1, inputmode: 'numeric', autocomplete: 'off', placeholder: writes[usual],
            'data-label': label, input: () => this.told(), change: () => this.changed() });
    }

    language({ name, label, codes }) {
        return el('select', { id: idOf(name), name, 'data-label': label,
            change: () => this.changed() },
        el('option', { value: '' }, 'As the model has it'),
        ...this.model.writes[codes].map((code) => el('option', { value: code }, code)));
    }

    check() {
        return el('select', { id: 'checksum', name: 'checksum', 'data-label': 'Check characters',
            change: () => this.changed() },
        ...CHECKS.map(([value, word]) => el('option', { value }, word)));
    }

    /** The fields in their order. */
    fields() {
        return [...this.numbers, ...this.languages, ...this.checks];
    }

    /** What is chosen for a model, as members of a request. */
    values(model) {
        return model !== this.model ? {} : Object.fromEntries(this.fields()
            .filter(({ value }) => value !== '').map((field) =>
                [field.name, field.type === 'number' ? Number(field.value) : field.value]));
    }

    /** Why the server would refuse what is chosen for a model; '': it would not. */
    lack(model) {
        if (model === undefined || model !== this.model)
            return '';
        const wrong = this.numbers.find((field) => !field.checkValidity());
        if (wrong !== undefined)
            return `${wrong.dataset.label}: a number from 1 to ${integer(Number(wrong.max))}.`;
        const { num_beams: beams, num_return_sequences: texts } = this.asked();
        return texts <= beams ? '' : `${integer(texts)} texts need ${integer(texts)} beams or ` +
            `more; there ${beams === 1 ? 'is 1' : `are ${integer(beams)}`}.`;
    }
}
