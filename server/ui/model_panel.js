/* One model of the Models view: its versions, how often it was right, how far its inputs have
 * drifted, which classes it confuses. What a person opens or fills in survives new figures. */
import { confusionTable } from './confusion.js';
import { el } from './dom.js';
import { percent, plural } from './format.js';
import { intervalOf } from './interval.js';
import { Rollout } from './rollout.js';
import { table } from './table.js';
import { DECISIONS } from './verdict.js';
import { versionsTable } from './versions.js';

const SHARES_TOLD = 3;
const DRIFTS = [['label', 'labels'], ['score', 'scores'], ['ood', 'strangeness'],
    ['value', 'numbers']];

function factsText(model) {
    return [model.kind, model.family, model.dtype,
        model.labels.length > 0 ? plural(model.labels.length, 'class') : model.task,
        `version ${model.version} is the primary`].join(', ');
}

/** Absent where the server does not measure it. */
export function driftText(drift) {
    if (!drift)
        return '';
    const figures = DRIFTS.filter(([key]) => Number.isFinite(drift[key]))
        .map(([key, word]) => `${word} ${drift[key].toFixed(3)}`);
    return `Drift of the last ${plural(drift.count, 'prediction')}, as population stability ` +
        `index (0: as in the reference): ${figures.length > 0 ? figures.join(', ') : 'none yet'}`;
}

/** Of the labels whose share is furthest from what the scores expect. Absent of a model that gives
 * no single label of its own. */
export function sharesText(shares) {
    if (!shares)
        return '';
    if (shares.estimated === null)
        return `How often each label occurs: not yet estimated, from ${plural(shares.count, 'input')}.`;
    const apart = (label) => Math.abs(shares.estimated[label] - shares.expected[label]);
    const told = Object.keys(shares.estimated).sort((a, b) => apart(b) - apart(a))
        .slice(0, SHARES_TOLD).map((label) => `${label} ${percent(shares.estimated[label])} ` +
            `(expected ${percent(shares.expected[label])})`);
    return `How often labels occur, estimated from ${plural(shares.count, 'input')}: ` +
        `${told.join(', ')}.`;
}

function decisionRow(word, share) {
    return el('tr', {}, el('th', { scope: 'row' }, word), el('td', {}, intervalOf(share)));
}

/* Without a label there is nothing to tell. */
function decisionRows(accuracy) {
    if (!(accuracy?.n > 0))
        return [];
    return [decisionRow('All', accuracy), ...Object.entries(DECISIONS).map(([key, { word }]) =>
        decisionRow(word, accuracy.by_decision[key]))];
}

export class ModelPanel {
    /**
     * @param {string} name
     * @param {{again: () => void, changed: () => void}} tell
     *     again: more is to be shown, read at once; changed: other versions are served
     */
    constructor(name, { again, changed }) {
        this.drawn = '';
        this.facts = el('p', { class: 'hint' });
        this.drift = el('p', { class: 'drift', hidden: true });
        this.shares = el('p', { class: 'shares', hidden: true });
        this.versions = versionsTable(name);
        this.decisions = table(null, `Accuracy of ${name} by decision`, ['Decision', 'Accuracy']);
        this.decisions.element.classList.add('decisions');
        this.confusion = confusionTable(name);
        this.confused = el('details', { toggle: again }, el('summary', {}, 'Confusion'),
            this.confusion.element);
        this.rollout = new Rollout(name, changed);
        this.element = el('section', { class: 'panel tile model', 'aria-label': name },
            el('h2', {}, name), this.facts, this.versions.element, el('h3', {}, 'Accuracy of the ' +
                'primary by decision, of answers that somebody labelled'), this.decisions.element,
            this.drift, this.shares, this.confused, this.rollout.element);
    }

    wantsConfusion() {
        return this.confused.open;
    }

    /** Only what is new: the same figures cost nobody a selection or a place in a table. */
    draw(model) {
        const words = JSON.stringify(model);
        if (words === this.drawn)
            return;
        this.drawn = words;
        this.facts.textContent = factsText(model);
        this.versions.draw(model.versions);
        this.decisions.fill(decisionRows(model.accuracy));
        this.drift.textContent = driftText(model.drift);
        this.drift.hidden = !model.drift;
        this.shares.textContent = sharesText(model.label_shares);
        this.shares.hidden = !model.label_shares;
        if (model.accuracy?.confusion !== undefined)
            this.confusion.draw(model.accuracy, model.labels);
        this.rollout.setVersions(model.versions);
    }
}
