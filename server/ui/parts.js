/* Answers that are parts of a text or entries of a vocabulary: spans, answers to a question, words
 * for masked tokens, weights of terms. The text is shown with its marks, the list beside it. */
import { el } from './dom.js';
import { integer, percent, plural } from './format.js';
import { COLOURS, markedText } from './marks.js';
import { taskOf } from './tasks.js';
import { oneLine, visible } from './words.js';

/* Rows that are shown at once. */
const ROWS_SHOWN = 12;

function place({ start, end }) {
    return `characters ${integer(start)} to ${integer(end)}`;
}

/** @param {number} share  of the bar, 0 to 1 */
export function barRow(name, share, figure, { first = false, exact = figure } = {}) {
    const bar = el('span', { class: 'fill' });
    bar.style.width = `${100 * Math.min(Math.max(share, 0), 1)}%`;
    return el('tr', { class: first ? 'first' : null }, el('th', { scope: 'row' }, name),
        el('td', { class: 'bar-cell' }, el('span', { class: 'track' }, bar)),
        el('td', { class: 'number', title: exact }, figure));
}

/** A table that shows its first rows, and on request all. @param {Element[]} rows */
export function longTable(id, heads, rows, what) {
    const body = el('tbody', {}, ...rows.slice(0, ROWS_SHOWN));
    const more = rows.length <= ROWS_SHOWN ? null
        : el('button', { type: 'button', class: 'link', click: () => {
            body.append(...rows.slice(ROWS_SHOWN));
            more.remove();
        } }, `Show all ${plural(rows.length, what)}`);
    return [el('table', { id }, el('thead', { class: 'hidden' },
        el('tr', {}, ...heads.map((head) => el('th', { scope: 'col' }, head)))), body), more];
}

/** A panel beside what is seen. */
export function listPanel(title, ...content) {
    return el('section', { class: 'panel classes', 'aria-label': title }, el('h3', {}, title),
        ...content);
}

function textPanel(title, ...content) {
    return el('section', { class: 'panel text', 'aria-label': title }, el('h3', {}, title),
        ...content);
}

function goButton(text, go) {
    return text === '' ? '–'
        : el('button', { type: 'button', class: 'link', click: go }, oneLine(text));
}

/* ---- spans ---- */

/* Without aggregation a label says where its token stands in the span. */
function nameOf(label) {
    return label.replace(/^[BI]-/, '');
}

/** Names in the model's order, so that one has the same colour in each text. */
function coloursOf(labels, spans) {
    const names = [...new Set([...labels, ...spans.map(({ label }) => label)].map(nameOf))]
        .filter((name) => name !== 'O');
    return new Map(names.map((name, i) => [name, i % COLOURS]));
}

function legendOf(parts) {
    const counts = new Map();
    for (const { name, colour } of parts)
        counts.set(name, { colour, count: (counts.get(name)?.count ?? 0) + 1 });
    return el('ul', { class: 'tags', id: 'tags', 'aria-label': 'Labels of the spans' },
        ...[...counts].map(([name, { colour, count }]) => el('li', { class: `tag tag-${colour}` },
            visible(name), ' ', el('span', { class: 'number' }, integer(count)))));
}

function spansOf({ input: { text }, answer: { spans }, labels = [] }) {
    const colours = coloursOf(labels, spans);
    const parts = spans.map(({ label, score, start, end }) => ({ start, end, name: label,
        colour: colours.get(nameOf(label)) ?? 0,
        told: `${label}, ${percent(score)}, ${place({ start, end })}` }));
    const { element, go } = markedText(text, parts, 'Text with its spans');
    const rows = spans.map((span, i) => el('tr', {},
        el('th', { scope: 'row' }, el('span', { class: `tag tag-${parts[i].colour}` },
            visible(span.label))),
        el('td', { class: 'part' }, goButton(span.text, () => go(i))),
        el('td', { class: 'number', title: `${span.score}, ${place(span)}` },
            percent(span.score))));
    return { seen: textPanel('Text with its spans', spans.length > 0 ? legendOf(parts) : null,
        element),
    list: listPanel('Spans', ...rows.length === 0
        ? [el('p', { class: 'hint' }, 'No part of the text has a label.')]
        : longTable('span-rows', ['Label', 'Text', 'Score'], rows, 'span')) };
}

/* ---- answers ---- */

function answersOf({ input: { text }, answer, question = '' }) {
    const found = answer.answers ?? (answer.answer === null ? [] : [answer.answer]);
    const parts = found.map((one, i) => ({ start: one.start, end: one.end, name: String(i + 1),
        colour: i === 0 ? 0 : 1,
        told: `Answer ${i + 1}, ${percent(one.score)}, ${place(one)}` }));
    const marked = parts.filter(({ start, end }) => end > start);
    const { element, go } = markedText(text, marked, 'Text with its answers');
    const rows = found.map((one, i) => barRow(one.start === one.end ? 'No answer'
        : goButton(one.text, () => go(marked.indexOf(parts[i]))), one.score,
    percent(one.score), { first: i === 0, exact: `${one.score}, ${place(one)}` }));
    return { seen: textPanel('Text with its answers',
        el('p', { class: 'asked', id: 'asked' }, visible(question)), element),
    list: listPanel('Answers', ...rows.length === 0
        ? [el('p', { class: 'hint' }, 'The text has no answer.')]
        : longTable('answers', ['Answer', 'Bar', 'Score'], rows, 'answer')) };
}

/* ---- words for masked tokens ---- */

/** Code points at which the masked tokens begin; fewer than there are where the text names them
 * otherwise. */
function masksOf(text, mask, count) {
    const places = [];
    let points = 0;
    let from = 0;
    for (let at; places.length < count && (at = text.indexOf(mask, from)) >= 0;
        from = at + mask.length) {
        points += [...text.slice(from, at)].length;
        places.push(points);
        points += [...mask].length;
    }
    return places;
}

function filledOf({ input: { text }, answer: { predictions }, mask }) {
    const places = mask ? masksOf(text, mask, predictions.length) : [];
    const parts = places.map((start, i) => ({ start, end: start + [...mask].length,
        name: predictions[i][0]?.text ?? '–', colour: i % COLOURS,
        told: `Mask ${i + 1}: ${predictions[i].map((one) => `${one.text} ${percent(one.score)}`)
            .join(', ')}` }));
    const { element, go } = markedText(text, parts, 'Text with its masks');
    return { seen: textPanel('Text with its masks', element),
        list: listPanel('Words for the masks', ...predictions.flatMap((best, i) => [
            el('h4', {}, i < places.length ? goButton(`Mask ${i + 1}`, () => go(i))
                : `Mask ${i + 1}`),
            ...longTable(`mask-${i + 1}`, ['Word', 'Bar', 'Score'], best.map((one, k) =>
                barRow(visible(one.text), one.score, percent(one.score),
                    { first: k === 0, exact: String(one.score) })), 'word')])) };
}

/* ---- weights of terms ---- */

function termsOf({ answer: { sparse } }) {
    const terms = [...sparse].sort((a, b) => b.value - a.value);
    const rows = terms.map(({ token, value }, i) => barRow(visible(token),
        value / terms[0].value, value.toFixed(3), { first: i === 0, exact: String(value) }));
    return { seen: null, list: listPanel('Terms by weight', ...rows.length === 0
        ? [el('p', { class: 'hint' }, 'No term has a weight.')]
        : longTable('terms', ['Term', 'Bar', 'Weight'], rows, 'term')) };
}

const PANELS = { tag: spansOf, answer: answersOf, fill: filledOf, sparse: termsOf };

/**
 * The text with its marks, and the list beside it; null: the answer is one of the whole input.
 *
 * @param {{input: import('./api.js').Input, answer: object, labels?: string[], question?: string,
 *     mask?: string|null}} shown  labels: of the model; mask: how a text names a masked token
 * @returns {{seen: Element|null, list: Element}|null}
 */
export function partsOf(shown) {
    return PANELS[taskOf(shown.answer)]?.(shown) ?? null;
}
