/* The Search view: an input, and the past cases that are nearest to it, with their labels. The
 * cases are those of the index of the model that is chosen, or of the first one that has an
 * index. */
import { Refusal, findSimilar, refuse } from './api.js';
import { checkSize } from './ask.js';
import { announce, byId, el } from './dom.js';
import { plural } from './format.js';
import { inputOf, listen, textInput } from './input.js';
import { problemPanel } from './problem.js';
import { num, row, table } from './table.js';

const COUNTS = [5, 10, 20, 50, 100];

export class SearchView {
    /**
     * @param {HTMLElement} root
     * @param {{tellServer: (ok: boolean) => void}} page
     */
    constructor(root, { tellServer }) {
        this.root = root;
        this.tellServer = tellServer;
        this.all = []; // that are served
        this.models = []; // those with an index
        this.input = null;
        this.running = null;
        this.drop = el('div', { class: 'drop', id: 'search-drop' },
            el('p', {}, 'Drop or paste an image or a log'),
            el('button', { type: 'button', id: 'search-choose' }, 'Choose a file…'),
            el('input', { type: 'file', id: 'search-file', class: 'hidden', tabindex: '-1',
                'aria-label': 'File to search for',
                accept: 'image/png,image/jpeg,image/bmp,text/*,.log,.txt' }));
        this.text = el('textarea', { id: 'search-text', rows: '7', spellcheck: 'false',
            autocomplete: 'off', autocapitalize: 'off', wrap: 'off', keydown: (event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                    this.send();
            } });
        this.model = el('select', { id: 'search-model', change: () => this.again() });
        this.count = el('select', { id: 'search-count', change: () => this.again() },
            ...COUNTS.map((count) => el('option', { value: count }, String(count))));
        this.none = el('p', { class: 'hint', id: 'search-none' });
        this.result = el('section',
            { class: 'result', id: 'search-result', 'aria-label': 'Near cases' },
            el('div', { class: 'panel empty' }, el('p', {}, 'No search yet.'),
                el('p', { class: 'hint' }, 'The past cases that are nearest to an image or a log ' +
                    'are shown here, with their labels.')));
        root.append(el('section', { class: 'panel input', 'aria-labelledby': 'search-title' },
            el('h2', { id: 'search-title' }, 'Similar past cases'), this.none, this.drop,
            el('div', { class: 'field' },
                el('label', { for: 'search-text' }, 'Log text'), this.text,
                el('div', { class: 'row' }, el('button', { type: 'button', class: 'primary',
                    id: 'search-send', click: () => this.send() }, 'Search'),
                el('span', { class: 'hint' }, el('kbd', {}, 'Ctrl'), ' ', el('kbd', {}, 'Enter')))),
            el('div', { class: 'field options', role: 'group', 'aria-label': 'Search options' },
                el('label', { for: 'search-model' }, 'Model'), this.model,
                el('label', { for: 'search-count' }, 'Cases'), this.count)), this.result);
        listen({ zone: this.drop, button: byId('search-choose'), chooser: byId('search-file') },
            { files: ([file]) => this.takeFile(file), text: (text) => this.take(textInput(text)),
                isMine: () => !root.hidden });
    }

    setModels(models) {
        this.all = models;
        this.models = models.filter(({ index }) => index !== null);
        const before = this.model.value;
        this.model.replaceChildren(el('option', { value: '' }, 'First that has cases'),
            ...this.models.map(({ name, index }) => el('option', { value: name },
                `${name} (${plural(index.rows, 'case')})`)));
        this.model.value = this.models.some(({ name }) => name === before) ? before : '';
        this.none.hidden = this.models.length > 0;
        this.none.textContent = this.models.length > 0 ? ''
            : 'No model has an index of past cases: attnd-index build makes one, and "index" in ' +
                'the entry of a model names it. Without one, inputs that are kept for a review ' +
                'are searched.';
    }

    send() {
        if (this.text.value !== '')
            this.take(textInput(this.text.value));
        else
            this.again();
    }

    async takeFile(file) {
        try {
            checkSize(file.size, this.all);
            this.take(await inputOf(file));
        } catch (error) {
            this.fail(error instanceof Refusal ? error
                : refuse(-1, 'Unreadable file', 'The browser could not read this file.'));
        }
    }

    /** @param {string} [name]  of the model, if it has an index */
    take(input, name = this.model.value) {
        this.input = input;
        if (input.kind === 'text' && this.text.value !== input.text)
            this.text.value = input.text;
        const fits = this.models.some((model) => model.name === name &&
            model.reads.includes(input.kind));
        this.model.value = fits ? name : '';
        this.again();
    }

    /** A new search ends the one before. */
    async again() {
        if (this.input === null)
            return;
        this.running?.abort();
        const running = this.running = new AbortController();
        const { input } = this;
        this.result.setAttribute('aria-busy', 'true');
        try {
            const answer = await findSimilar(input,
                { model: this.model.value, k: Number(this.count.value) }, running.signal);
            if (running === this.running)
                this.show(input, answer.neighbours);
        } catch (error) {
            if (running === this.running)
                this.fail(error);
        }
    }

    show(input, neighbours) {
        const labels = new Map();
        for (const { label } of neighbours.filter((near) => near.label !== null))
            labels.set(label, (labels.get(label) ?? 0) + 1);
        const most = [...labels].sort(([, a], [, b]) => b - a)
            .map(([label, count]) => `${label}: ${count}`).join(', ');
        const said = `${plural(neighbours.length, 'case')} near to ${input.name}` +
            (most === '' ? '' : `. ${most}`);
        this.running = null;
        this.result.removeAttribute('aria-busy');
        const cases = table('neighbours', 'Nearest cases',
            ['Label', num('Score'), 'Case', 'Source']);
        cases.fill(neighbours.map(({ id, label, score, source }) =>
            row(label ?? '–', num(score.toFixed(4)), id, source ?? '–')));
        this.result.replaceChildren(el('div', { class: 'panel' }, el('h2', {}, 'Nearest cases'),
            el('p', { class: 'hint', id: 'search-said' }, said), cases.element));
        announce(said);
        this.tellServer(true);
    }

    fail(error) {
        this.running = null;
        this.result.removeAttribute('aria-busy');
        if (error.name === 'AbortError')
            return;
        const refusal = error instanceof Refusal ? error
            : refuse(-1, 'Error in this page', String(error));
        this.result.replaceChildren(problemPanel(refusal.problem, () => this.again()));
        if (refusal.problem.status >= 0)
            this.tellServer(refusal.problem.status !== 0);
    }
}
