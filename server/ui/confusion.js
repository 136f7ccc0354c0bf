/* What was right and what was answered, counted for each pair of classes: a table shaded by count.
 * Classes that nobody labelled are left out, and of very many only the most frequent are shown. */
import { el } from './dom.js';
import { integer, percent, plural } from './format.js';

const CLASSES_MAX = 40;
const LEVELS = 5;

/** @typedef {{label: string, predicted: string, count: number}} Pair */

/* Labels may have any name, those of an object's own members too: maps, not objects. */
function totalsOf(pairs) {
    const totals = new Map();
    for (const { label, predicted, count } of pairs)
        for (const one of new Set([label, predicted]))
            totals.set(one, (totals.get(one) ?? 0) + count);
    return totals;
}

/**
 * The classes that occur, in the order of the model, then those that it lacks.
 *
 * @param {Pair[]} pairs
 * @param {string[]} labels  the model's
 */
export function classesOf(pairs, labels) {
    const totals = totalsOf(pairs);
    const known = new Set(labels);
    const all = [...labels.filter((label) => totals.has(label)),
        ...[...totals.keys()].filter((label) => !known.has(label))];
    const most = new Set([...all].sort((a, b) => totals.get(b) - totals.get(a))
        .slice(0, CLASSES_MAX));
    return { shown: all.filter((label) => most.has(label)), hidden: all.length - most.size };
}

/** From 0 for none to LEVELS for the most; by the square root, for errors are few. */
function levelOf(count, most) {
    return Math.ceil(LEVELS * Math.sqrt(count / most));
}

function cell(count, most, isRight) {
    const level = count === 0 ? 0 : levelOf(count, most);
    return el('td', { class: `number count-${level}${isRight ? ' right' : ''}` }, integer(count));
}

function recallText(perClass, label) {
    const one = Object.hasOwn(perClass, label) ? perClass[label] : null;
    return one === null || one.recall === null ? '–'
        : `${percent(one.recall)} of ${integer(one.support)}`;
}

function tableOf({ confusion, per_class: perClass = {} }, shown) {
    const counts = new Map(confusion.map((pair) =>
        [JSON.stringify([pair.label, pair.predicted]), pair.count]));
    const most = Math.max(...counts.values());
    const head = (label) => el('th', { scope: 'col', title: label }, el('span', {}, label));
    const line = (label) => el('tr', {}, el('th', { scope: 'row', title: label }, label),
        ...shown.map((predicted) => cell(counts.get(JSON.stringify([label, predicted])) ?? 0, most,
            label === predicted)),
        el('td', { class: 'number' }, recallText(perClass, label)));
    return el('table', { class: 'data confusion' },
        el('caption', {}, 'Rows: the right label. Columns: what was answered. A darker cell has ' +
            'a higher count; a framed one was right.'),
        el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Right label'),
            ...shown.map(head), el('th', { scope: 'col' }, 'Recall'))),
        el('tbody', {}, ...shown.map(line)));
}

/** @returns {{element: Element, draw: (accuracy: object, labels: string[]) => void}} */
export function confusionTable(name) {
    const place = el('div', { class: 'scroll', tabindex: 0, role: 'region',
        'aria-label': `Confusion of ${name}` });
    const note = el('p', { class: 'hint' });
    const draw = (accuracy, labels) => {
        const pairs = accuracy?.confusion ?? [];
        const { shown, hidden } = classesOf(pairs, labels);
        note.textContent = hidden > 0 ? `${plural(hidden, 'rarer class')} left out.`
            : pairs.length === 0 ? 'No answer of this version has a label yet.' : '';
        place.replaceChildren(...pairs.length === 0 ? [] : [tableOf(accuracy, shown)]);
        place.hidden = pairs.length === 0;
    };
    return { element: el('div', {}, note, place), draw };
}
