/* One group of kept inputs: as a card in the list, and opened with its members, the explanation of
 * the most typical one, and the labelled inputs that are nearest to it. */
import { Refusal } from './api.js';
import { askOne } from './ask.js';
import { el } from './dom.js';
import { integer, percent, plural } from './format.js';
import { problemPanel } from './problem.js';
import { evidenceOf } from './result.js';
import { DECISIONS, chip } from './verdict.js';

const FACES = 3;
const FACE_SIDE = 48;
const MEMBER_SIDE = 72;
const NEAREST_SIDE = 88;

function isImage(item) {
    return item.media_type.startsWith('image/');
}

/** "9 review, 3 unknown" */
function decisionsText({ decisions }) {
    return Object.keys(DECISIONS).filter((name) => decisions[name] > 0)
        .map((name) => `${integer(decisions[name])} ${DECISIONS[name].word.toLowerCase()}`)
        .join(', ');
}

/**
 * @param {import('./review_api.js').Group} group
 * @param {import('./review_input.js').Inputs} inputs
 * @param {() => void} open
 */
export function groupCard(group, inputs, open) {
    const faces = group.items.slice(0, isImage(group.items[0]) ? FACES : 1);
    return el('button', { type: 'button', class: 'group', 'aria-pressed': 'false', click: open },
        el('span', { class: 'faces' }, ...faces.map((item) => inputs.face(item, FACE_SIDE))),
        el('span', { class: 'group-facts' },
            el('strong', {}, integer(group.size)), ` ${group.label}`,
            el('span', { class: 'start' }, decisionsText(group))));
}

function nearestFigure(nearest, inputs) {
    const face = nearest.id === undefined ? null : inputs.face(nearest, NEAREST_SIDE);
    return el('li', {}, face, el('strong', {}, nearest.label),
        el('span', { class: 'hint' }, `likeness ${nearest.similarity.toFixed(2)}`));
}

function nearestPanel({ nearest }, inputs) {
    return el('section', { class: 'panel', 'aria-label': 'Nearest labelled inputs' },
        el('h3', {}, 'Nearest labelled inputs'),
        nearest.length === 0 ? el('p', { class: 'hint' }, 'None of this model is labelled yet.')
            : el('ol', { class: 'nearest-list' },
                ...nearest.map((one) => nearestFigure(one, inputs))));
}

export class OpenGroup {
    /**
     * @param {import('./review_api.js').Group} group
     * @param {import('./review_input.js').Inputs} inputs
     * @param {object} model  as GET /models has it
     */
    constructor(group, inputs, model) {
        this.group = group;
        this.inputs = inputs;
        this.model = model;
        this.out = new Set(); // members that are left alone
        this.asking = new AbortController();
        this.buttons = group.items.map((item) => this.memberButton(item));
        this.counted = el('p', { class: 'hint' });
        this.why = el('div', { 'aria-busy': 'true' },
            el('p', { class: 'hint' }, 'The model is asked why…'));
        this.element = el('div', { class: 'opened' },
            el('section', { class: 'panel', 'aria-label': 'Members' },
                this.counted, el('div', { class: 'members' }, ...this.buttons)),
            el('div', { class: 'evidence' }, this.why, nearestPanel(group, inputs)));
        this.count();
        this.explain();
    }

    memberButton(item) {
        const said = `${item.label}, ${percent(item.score)}`;
        const button = el('button', { type: 'button', class: 'member', 'aria-pressed': 'true',
            title: `${item.id}${item.index > 0 ? ` [${item.index}]` : ''}, ${item.time}`,
            click: () => this.toggle(item, button) },
        this.inputs.face(item, MEMBER_SIDE), el('span', { class: 'start' }, said), chip(item));
        return button;
    }

    toggle(item, button) {
        const isOut = this.out.delete(item) ? false : this.out.add(item).has(item);
        button.setAttribute('aria-pressed', String(!isOut));
        this.count();
    }

    /** The member with the focus, or the first. */
    toggleCurrent() {
        const at = Math.max(0, this.buttons.indexOf(document.activeElement));
        this.toggle(this.group.items[at], this.buttons[at]);
    }

    chosen() {
        return this.group.items.filter((item) => !this.out.has(item));
    }

    count() {
        const { items, size } = this.group;
        const rest = size > items.length
            ? ` ${integer(size - items.length)} more come when these are labelled.` : '';
        const alone = this.out.size === 0 ? 'A member that is another thing can be left out.'
            : `${integer(this.out.size)} left out.`;
        this.counted.textContent = `${plural(this.chosen().length, 'input')} get the label. ` +
            `${alone}${rest}`;
    }

    /** Asks the model about the most typical member again; that is not kept once more. */
    async explain() {
        const item = this.group.items[0];
        const options = { model: item.model.name, method: 'true', layer: 0, context: null,
            labels: [], keep: false };
        try {
            const input = await this.inputs.input(item);
            const shown = await askOne(input, options, [this.model], this.asking.signal);
            this.why.replaceChildren(evidenceOf(shown, '-review') ?? el('p', { class: 'hint' },
                'The model explains nothing of it.'));
        } catch (error) {
            if (error.name === 'AbortError')
                return;
            if (!(error instanceof Refusal))
                throw error;
            this.why.replaceChildren(problemPanel(error.problem, () => this.explain()));
        } finally {
            this.why.removeAttribute('aria-busy');
        }
    }

    close() {
        this.asking.abort();
    }
}
