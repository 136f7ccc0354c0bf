/* The classes of models, to be read before anything is sent. */
import { el } from './dom.js';
import { percent, plural } from './format.js';

/* A model may have a thousand: what does not fit is scrolled to, also with the keyboard. */
function classesOf({ name, labels }) {
    return el('div', { class: 'labels', tabindex: 0, role: 'region',
        'aria-label': `Classes of ${name}` },
    el('ul', {}, ...labels.map((label) => el('li', {}, label))));
}

/* What the answer of a class promises before it may go out by itself. */
function promiseOf(model) {
    if (model.calibrated === false && model.task === 'tag')
        return model.uncalibrated === 'auto' ? null : el('p', { class: 'hint' },
            'Without thresholds: answers with spans are reviewed.');
    if (model.calibrated === false)
        return el('p', { class: 'hint' }, model.uncalibrated === 'auto'
            ? 'Not calibrated: answers are automatic, and nobody knows how many of them are right.'
            : 'Not calibrated: every answer is reviewed until attnd-eval --calibrate chooses thresholds.');
    const target = model.target_precision ?? model.purity;
    return target === undefined ? null : el('p', { class: 'hint' },
        `Automatic only where at least ${percent(target)} of such answers were right.`);
}

/* Of the answers that somebody has told the right class of: mostly those that were reviewed. */
function accuracyOf({ accuracy }) {
    if (!(accuracy?.n > 0))
        return null;
    const { value, low, high, n, by_decision: { auto } } = accuracy;
    const automatic = auto.n === 0 ? '' : `; of ${auto.n} automatic ${percent(auto.value)}`;
    return el('p', { class: 'hint accuracy' }, `Right in ${percent(value)} of ` +
        `${plural(n, 'marked answer')} (${percent(low)} to ${percent(high)})${automatic}.`);
}

/** @param {HTMLElement} place  of one model or of several */
export function showClasses(place, models) {
    place.hidden = models.length === 0;
    const [only] = models;
    const title = models.length === 1
        ? `${plural(only.labels.length, only.task === 'tag' ? 'label' : 'class')} of ${only.name}`
        : 'Classes of the models';
    const open = place.querySelector('details')?.open ?? false;
    place.replaceChildren(el('details', { open }, el('summary', {}, title),
        ...models.flatMap((model) => [models.length === 1 ? null : el('h3', {}, model.name),
            classesOf(model), promiseOf(model), accuracyOf(model)]).filter((part) => part !== null)));
}
