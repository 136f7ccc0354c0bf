/* What a fit came to: the new version beside the one before, on inputs that neither learnt from. */
import { el } from './dom.js';
import { percent } from './format.js';
import { currentKey } from './key.js';
import { getFitReport } from './review_api.js';
import { save } from './save.js';
import { num, row, table } from './table.js';

const FIGURES = [['accuracy', 'Accuracy'], ['macro_f1', 'Macro F1']];

function cell(value) {
    return num(Number.isFinite(value) ? percent(value) : '–');
}

function beforeAfter({ before, after }) {
    const figures = table('fit-figures', 'Before and after the fit',
        ['Figure', num('Before'), num('After')]);
    figures.fill(FIGURES.map(([key, word]) => row(word, cell(before?.[key]), cell(after?.[key]))));
    return figures.element;
}

/* The server may ask for a key, which a link does not carry. */
function wholeReport(number) {
    return currentKey() === null
        ? el('a', { href: `admin/fits/${number}/report`, target: '_blank', rel: 'noopener' },
            'The whole report')
        : el('button', { type: 'button', class: 'small', click: async () =>
            save(`attnd-fit-${number}.html`, 'text/html', await getFitReport(number)) },
        'Save the whole report');
}

/** @param {{fit: number, report?: object}} fit @returns {Element[]} */
export function fitReport({ fit, report }) {
    return report === undefined ? [] : [beforeAfter(report), wholeReport(fit)];
}
