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

/** '1 of 9 copies judged; 7 skipped, 1 waiting'; '' if all were judged. */
export function copiesText({ agreement, skipped = 0, failed = 0, waiting = 0 }) {
    const judged = agreement?.n ?? 0;
    const others = [[skipped, 'skipped'], [failed, 'failed'], [waiting, 'waiting']]
        .filter(([count]) => count > 0).map(([count, word]) => `${integer(count)} ${word}`);
    const all = judged + skipped + failed + waiting;
    return others.length === 0 ? ''
        : `${integer(judged)} of ${integer(all)} copies judged; ${others.join(', ')}`;
}

function versionCell({ version, digest }) {
    const short = digest ? `${digest.slice(0, DIGEST_CHARACTERS)}…` : 'digest not yet known';
    return el('th', { scope: 'row', title: version }, version,
        el('div', { class: 'hint' }, short));
}

/* The heads stand in each cell, too: on a narrow screen a row becomes a card. */
const HEADS = ['Version', 'Role', 'Share', 'Predictions', 'Agreement', 'Accuracy',
    'Shadow against answers'];

function cell(head, attributes, ...content) {
    return el('td', { ...attributes, 'data-head': HEADS[head] }, ...content);
}

function rowOf(one) {
    const copies = copiesText(one);
    return el('tr', {}, versionCell(one), cell(1, {}, one.role), cell(2, {}, shareText(one)),
        cell(3, { class: 'number' }, integer(one.predictions)),
        cell(4, {}, intervalOf(one.agreement),
            copies === '' ? null : el('div', { class: 'hint' }, copies)),
        cell(5, {}, intervalOf(one.accuracy)),
        cell(6, { class: 'in-words' }, comparedText(one.compared)));
}

/** @returns {{element: Element, draw: (versions: object[]) => void}} */
export function versionsTable(name) {
    const { element, fill } = table(null, `Versions of ${name}`,
        HEADS.map((head) => head === 'Predictions' ? num(head) : head));
    element.classList.add('versions');
    return { element, draw: (versions) => fill(versions.map(rowOf)) };
}
