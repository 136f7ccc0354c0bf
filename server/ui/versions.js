/* The versions of a model in a table: what each does, and what is known of how well. */
import { el } from './dom.js';
import { integer, percent, plural } from './format.js';
import { intervalOf } from './interval.js';
import { num, table } from './table.js';

const DIGEST_CHARACTERS = 'sha256:'.length + 8;

function pText(p) {
    return p < 0.001 ? 'p < 0.001' : `p = ${p.toFixed(p < 0.1 ? 3 : 2)}`;
}

/** McNemar's test on the inputs that both were right or wrong about, in words. */
export function comparedText(compared) {
    if (!compared)
        return '–';
    const { n, only_shadow_right: shadow, only_answer_right: answer, mcnemar_p: p } = compared;
    return `of ${plural(n, 'input')}: only the shadow was right ${plural(shadow, 'time')}, only ` +
        `the answer ${plural(answer, 'time')}: ${pText(p)}`;
}

function shareText({ share, shadow }) {
    return shadow > 0 ? `${percent(share)}, copies of ${percent(shadow)}` : percent(share);
}

/* What a shadow was given and did not judge. */
function missedText({ skipped = 0, failed = 0 }) {
    return [[skipped, 'skipped'], [failed, 'failed']].filter(([count]) => count > 0)
        .map(([count, word]) => `${integer(count)} ${word}`).join(', ');
}

function versionCell({ version, digest }) {
    const short = digest ? `${digest.slice(0, DIGEST_CHARACTERS)}…` : 'digest not yet known';
    return el('th', { scope: 'row', title: version }, version,
        el('div', { class: 'hint' }, short));
}

function rowOf(one) {
    const missed = missedText(one);
    return el('tr', {}, versionCell(one), el('td', {}, one.role), el('td', {}, shareText(one)),
        el('td', { class: 'number' }, integer(one.predictions)),
        el('td', {}, intervalOf(one.agreement),
            missed === '' ? null : el('div', { class: 'hint' }, missed)),
        el('td', {}, intervalOf(one.accuracy)),
        el('td', { class: 'in-words' }, comparedText(one.compared)));
}

/** @returns {{element: Element, draw: (versions: object[]) => void}} */
export function versionsTable(name) {
    const { element, fill } = table(null, `Versions of ${name}`, ['Version', 'Role', 'Share',
        num('Predictions'), 'Agreement', 'Accuracy', 'Shadow against answers']);
    element.classList.add('versions');
    return { element, draw: (versions) => fill(versions.map(rowOf)) };
}
