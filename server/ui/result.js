/* An answer, drawn: what it is, how sure, what may become of it, why, and how to ask the same. */
import { contextText } from './context.js';
import { copyButton } from './copy.js';
import { curlOf } from './curl.js';
import { announce, el } from './dom.js';
import { milliseconds, percent } from './format.js';
import { heatMap, stageOf } from './heat_map.js';
import { barRow, longTable, partsOf } from './parts.js';
import { headlineOf, scoreText } from './tasks.js';
import { UNKNOWN, chip, figures, isUnknown, nearestWord, reason, spokenVerdict, unreadNote } from './verdict.js';
import { joinPair, shadedWords } from './words.js';
import { outputOf, rulesOf, writtenOf } from './written.js';

const SCORE_OF_TEXTS = 'Mean logarithm of the probabilities of the tokens; 0 is certain';

function strangeness({ ood_rank }) {
    return ood_rank === undefined ? ''
        : ` Stranger than ${percent(ood_rank)} of the validation inputs.`;
}

function labelLine(answer) {
    const written = answer.output !== undefined;
    return [...written ? outputOf(answer) : [el('span', { id: 'label' }, headlineOf(answer))],
        answer.class_code === undefined ? null
            : el('span', { class: 'code' }, `code ${answer.class_code}`),
        written && Number.isFinite(answer.score) ? el('span', { class: 'hint' }, 'score') : null,
        Number.isFinite(answer.score) && !answer.set
            ? el('span', { class: 'score', id: 'score',
                title: written ? SCORE_OF_TEXTS : null }, scoreText(answer)) : null,
        written && Number.isFinite(answer.confidence) ? el('span', { class: 'hint',
            id: 'confidence' }, `confidence ${percent(answer.confidence)}`) : null];
}

/* What is unknown is the headline then, and its nearest label a line below. */
function headline(answer) {
    const decision = chip(answer);
    decision?.setAttribute('id', 'decision');
    const [label, ...rest] = labelLine(answer);
    return isUnknown(answer)
        ? [el('div', { class: 'verdict-line' }, el('h2', { id: 'verdict' }, UNKNOWN), decision),
            el('p', { class: 'nearest' }, `${nearestWord(answer)}: `, label,
                answer.output === undefined ? ', ' : ' ', ...rest)]
        : [el('div', { class: 'verdict-line' }, el('h2', { id: 'verdict' }, label), ...rest,
            decision)];
}

function headOf(shown) {
    const { answer, input: { name } } = shown;
    const digest = answer.model.digest ?? 'digest not known yet';
    const unread = unreadNote(answer);
    return el('div', { class: 'panel verdict' }, ...headline(answer),
        ...answer.output === undefined ? [] : rulesOf(shown),
        el('p', { class: 'reason', id: 'reason' }, `${reason(answer)}${strangeness(answer)}`),
        figures(answer) === '' ? null : el('details', { id: 'figures' },
            el('summary', { class: 'hint' }, 'Figures'), el('p', { class: 'hint' }, figures(answer))),
        unread === '' ? null : el('p', { class: 'note' }, unread),
        el('p', { class: 'hint source' }, `${name} · `, el('span', { title: digest },
            `${answer.model.name}, version ${answer.model.version}`),
        answer.context === undefined ? null : ` · ${contextText(answer.context)}`));
}

function classesOf({ predictions = [] }) {
    if (predictions.length === 0)
        return null;
    const rows = predictions.map(({ label, score }, i) => barRow(label, score, percent(score),
        { first: i === 0, exact: String(score) }));
    return el('section', { class: 'panel classes', 'aria-label': 'Scores of all classes' },
        el('h3', {}, 'Classes'), ...longTable('classes', ['Class', 'Bar', 'Score'], rows, 'class'));
}

/**
 * @param {HTMLImageElement} picture  decoded
 */
function pictureOf(picture, explanation) {
    const stage = stageOf(picture);
    const title = explanation === undefined ? 'Image' : `Image, by ${explainedBy(explanation)}`;
    return el('section', { class: 'panel picture', 'aria-label': 'Image and relevance' },
        el('h3', {}, title), stage,
        explanation === undefined ? null : heatMap(stage, picture, explanation).foot);
}

function explainedBy(explanation) {
    const layer = explanation.layer === undefined ? '' : `, layer ${explanation.layer}`;
    return `${explanation.method}${layer}`;
}

function textOf({ text, pair }, explanation) {
    const shown = pair === undefined ? [text, explanation] : joinPair(text, pair, explanation);
    return el('section', { class: 'panel text', 'aria-label': 'Text and relevance' },
        el('h3', {}, `Words, by ${explainedBy(explanation)}`), shadedWords(...shown));
}

function copyable(title, text, id, open) {
    const code = el('pre', { id, tabindex: 0, role: 'region', 'aria-label': title, dir: 'ltr' },
        text);
    return el('details', { class: 'copyable', open }, el('summary', {}, title),
        copyButton(text, code), code);
}

function timingOf(answer, roundTripMs) {
    const parts = Object.entries({ ...answer.timing_ms, 'round trip': roundTripMs });
    return el('dl', { class: 'timing', id: 'timing' }, ...parts.map(([name, ms]) =>
        el('div', {}, el('dt', {}, name), el('dd', { class: 'number' }, milliseconds(ms)))));
}

function timingPanel(answer, roundTripMs) {
    return el('section', { class: 'panel latency', 'aria-label': 'Latency' },
        el('h3', {}, 'Latency'), timingOf(answer, roundTripMs));
}

function requestPanel(request, reply) {
    return el('section', { class: 'panel request', 'aria-label': 'Request' },
        copyable('The same with curl', curlOf(request), 'curl', true),
        copyable('Answer as JSON', JSON.stringify(reply, null, 2), 'json', false));
}

/** Ids are of the page: what is shown twice needs others the second time. */
function rename(panels, suffix) {
    if (suffix !== '')
        for (const element of panels.flatMap((panel) => [...panel.querySelectorAll('[id]')]))
            element.id += suffix;
    return panels;
}

/** What an answer hangs on: the picture with its heat map, or the text with its words shaded; null
 * if there is neither. */
export function evidenceOf({ input, picture, answer }, suffix) {
    const explanation = answer.explanation;
    const seen = picture !== null ? pictureOf(picture, explanation)
        : input.kind === 'text' && explanation !== undefined ? textOf(input, explanation)
            : null;
    return seen === null ? null : rename([seen], suffix)[0];
}

/**
 * @param {{input: import('./api.js').Input, picture: HTMLImageElement|null, request: object,
 *     answer: object, reply: object, roundTripMs: number, tools: (suffix: string) => Element}} shown
 *     tools: what may be done with the answer; the rest see parts.js
 * @param {string} suffix  of ids: '' the first time
 * @returns {Element[]}
 */
export function resultPanels(shown, suffix = '') {
    const { request, answer, reply, roundTripMs, tools } = shown;
    const parts = answer.output === undefined ? partsOf(shown) : writtenOf(shown);
    announce(spokenVerdict(answer));
    const head = headOf(shown);
    const panels = rename([head, el('div', { class: 'evidence' },
        parts?.seen ?? evidenceOf(shown, ''),
        el('div', { class: 'beside' }, parts === null ? classesOf(answer) : parts.list,
            timingPanel(answer, roundTripMs))),
    ...parts?.below ? [parts.below] : [], requestPanel(request, reply)], suffix);
    head.append(tools(suffix));
    return panels;
}
