/* Two models, one input: where they agree, where they do not, and both answers in full. */
import { announce, el } from './dom.js';
import { percent } from './format.js';
import { resultPanels } from './result.js';
import { shortVerdict } from './verdict.js';

/* Classes in the table of differences. */
const ROWS_SHOWN = 12;

function scoresOf(answer) {
    return new Map(answer.predictions.map(({ label, score }) => [label, score]));
}

/** "+12.3" percent points; a minus that is as wide as a plus. */
function points(difference) {
    const value = Math.abs(100 * difference).toFixed(1);
    return value === '0.0' ? value : `${difference > 0 ? '+' : '−'}${value}`;
}

function classRow(label, first, second) {
    const cells = [percent(first), percent(second), points(second - first)];
    return el('tr', {}, el('th', { scope: 'row' }, label),
        ...cells.map((text) => el('td', { class: 'number' }, text)));
}

/** Every class that both have, the most different first. */
function classesTable(names, answers) {
    const [first, second] = answers.map(scoresOf);
    const common = [...first.keys()].filter((label) => second.has(label));
    if (common.length === 0)
        return el('p', { class: 'hint' }, 'They have no class in common.');
    const apart = (label) => Math.abs(second.get(label) - first.get(label));
    const rows = common.sort((a, b) => apart(b) - apart(a)).slice(0, ROWS_SHOWN)
        .map((label) => classRow(label, first.get(label), second.get(label)));
    return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Differences' },
        el('table', { class: 'data', id: 'differences' },
            el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Class'),
                ...[...names, 'Points'].map((head) =>
                    el('th', { scope: 'col', class: 'number' }, head)))),
            el('tbody', {}, ...rows)));
}

function summaryOf(answers) {
    const [first, second] = answers;
    const verdicts = answers.map((answer) => `${answer.model.name} says ${shortVerdict(answer)}`);
    const same = first.label === second.label && first.decision === second.decision;
    return same ? `Both say ${shortVerdict(first)}, ${first.decision}`
        : first.label === second.label
            ? `One label, two decisions: ${first.model.name} ${first.decision}, ` +
                `${second.model.name} ${second.decision}`
            : `They differ: ${verdicts.join(', ')}`;
}

/**
 * @param {object[]} shown  two, as resultPanels takes them
 * @returns {Element[]}
 */
export function comparison(shown) {
    const answers = shown.map(({ answer }) => answer);
    const names = answers.map(({ model }) => model.name);
    const differs = answers[0].label !== answers[1].label;
    const summary = summaryOf(answers);
    const columns = shown.map((one, i) => el('section', { class: 'result',
        'aria-label': `Result of ${names[i]}` }, ...resultPanels(one, i === 0 ? '' : '-2')));
    announce(summary);
    return [el('section', { class: 'panel versus', 'aria-label': 'Comparison' },
        el('h2', { id: 'compared', class: differs ? 'differs' : null }, summary),
        classesTable(names, answers)),
    el('div', { class: 'pair' }, ...columns)];
}
