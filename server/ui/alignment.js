/* What each token of a written text looked at: words of the source text, or patches of the picture.
 *
 * One place is pointed at, by pointer or by keys: a token, a source (word or patch), or both in a
 * cell of the matrix. All that is shown follows it: the sources that a token looked at, the tokens
 * that looked at a source. A weight is always drawn as a share of the token's largest one. */
import { el } from './dom.js';
import { percent } from './format.js';
import { heatMap, stageOf } from './heat_map.js';
import { matrixPanel } from './matrix.js';
import { longTable } from './parts.js';
import { STRIP_CHARACTERS_MAX, readingStrip } from './reading_strip.js';
import { shadeOf, visible, walk, wordsBody } from './words.js';

/* Sides of a picture that is read, in CSS pixels, at most: a mark is wide and low. */
const READING_SIDE = 720;

/* Sources or tokens that one sentence tells. */
const TOLD = 3;

/* The name of a token that adds nothing that is seen. */
const NO_TEXT = 'no text';

/* Weights below this share of a token's largest are not told. */
const TOLD_SHARE = 0.05;

/**
 * @typedef {{token: number, source: number}} Place  -1: none
 * @typedef {{text: string, weights: number[]}[]} Tokens  of the written text; [sources] of weights
 */

/** A place that is pointed at, and who follows it. */
class Pointed {
    constructor() {
        this.followers = [];
    }

    /** @param {(place: Place) => void} follower */
    follow(follower) {
        this.followers.push(follower);
        follower({ token: -1, source: -1 });
    }

    at(token, source) {
        this.followers.forEach((follower) => follower({ token, source }));
    }
}

function tokenName({ text }) {
    return text.trim() === '' ? NO_TEXT : `“${visible(text.trim())}”`;
}

/** Indices of the largest numbers, the largest first. */
function largest(numbers, count) {
    return numbers.map((_, i) => i).sort((a, b) => numbers[b] - numbers[a]).slice(0, count);
}

/* ---- in words ---- */

function listed(numbers, names, least) {
    const told = largest(numbers, TOLD).filter((i) => numbers[i] >= least && numbers[i] > 0);
    return told.map((i) => `${names(i)} ${percent(numbers[i])}`).join(', ') || 'nothing';
}

/** A place as a sentence. */
function sentenceOf({ token, source }, tokens, sources, rest) {
    const tokenAt = (i) => tokenName(tokens[i]);
    if (token >= 0 && source >= 0)
        return `${tokenAt(token)} looked at ${sources(source)}: ` +
            percent(tokens[token].weights[source]);
    if (token >= 0) {
        const { weights } = tokens[token];
        return `${tokenAt(token)} looked at ` +
            listed(weights, sources, TOLD_SHARE * Math.max(...weights));
    }
    return source < 0 ? rest : `${sources(source)} was looked at by ` +
        listed(tokens.map(({ weights }) => weights[source]), tokenAt, TOLD_SHARE);
}

function readoutOf(pointed, tokens, sources, rest) {
    const readout = el('p', { class: 'hint readout', id: 'looked', 'aria-live': 'polite' });
    pointed.follow((place) => {
        readout.textContent = sentenceOf(place, tokens, sources, rest);
    });
    return readout;
}

/** What the picture of the weights says, for who does not see it. */
function strongestTable(tokens, sources) {
    const rows = tokens.map((token) => {
        const [best] = largest(token.weights, 1);
        return el('tr', {}, el('th', { scope: 'row' }, tokenName(token)),
            el('td', { class: 'part' }, sources(best)),
            el('td', { class: 'number' }, percent(token.weights[best])));
    });
    return el('details', { class: 'classes' },
        el('summary', {}, 'Strongest source of each token'),
        ...longTable('strongest', ['Token', 'Source', 'Weight'], rows, 'token'));
}

/* ---- tokens and words that are pointed at ---- */

/** Nothing is pointed at any more when the pointer or the focus leaves. */
function rests(element, pointed) {
    for (const event of ['pointerleave', 'focusout'])
        element.addEventListener(event, () => pointed.at(-1, -1));
}

function classOf(name, share, isAt) {
    return `${name} shade-${shadeOf(share, 1)}${isAt ? ' at' : ''}`;
}

/** Each token's weights as shares of its largest. */
function sharesOf(tokens) {
    return tokens.map(({ weights }) => {
        const most = Math.max(...weights, Number.MIN_VALUE);
        return weights.map((weight) => weight / most);
    });
}

function tokensBody(tokens, shares, pointed) {
    const seen = tokens.flatMap(({ text }, i) => (text === '' ? [] : [i]));
    const elements = seen.map((i) => el('span', { tabindex: -1 }, visible(tokens[i].text)));
    const body = el('div', { class: 'words tokens', id: 'tokens', role: 'group', dir: 'auto',
        'aria-label': 'Written text, token by token' }, ...elements);
    walk(body, elements, (index) => pointed.at(index < 0 ? -1 : seen[index], -1));
    rests(body, pointed);
    pointed.follow(({ token, source }) => elements.forEach((element, k) => {
        element.className = classOf('word token', source < 0 ? 0 : shares[seen[k]][source],
            seen[k] === token);
    }));
    return body;
}

function sourceBody(text, words, shares, pointed) {
    const { body, elements } = wordsBody(text, words, 'Source text, word by word');
    const most = Math.max(...words.map(({ relevance }) => relevance), Number.MIN_VALUE);
    elements.forEach((element) => element.removeAttribute('title'));
    walk(body, elements, (index) => pointed.at(-1, index));
    rests(body, pointed);
    pointed.follow(({ token, source }) => elements.forEach((element, j) => {
        element.className = classOf('word',
            token >= 0 ? shares[token][j] : source >= 0 ? 0 : words[j].relevance / most,
            j === source);
    }));
    return { body, elements };
}

/* ---- the whole ---- */

function textAligned(text, { words }, tokens) {
    const pointed = new Pointed();
    const shares = sharesOf(tokens);
    const written = tokensBody(tokens, shares, pointed);
    const { body, elements } = sourceBody(text, words, shares, pointed);
    const names = elements.map((element) => element.textContent.trim());
    const rest = 'Point at a token or a word, or walk with the arrow keys, to see what looked where.';
    return { seen: el('section', { class: 'panel text', 'aria-label': 'Alignment' },
        el('h3', {}, 'Written text'), written,
        el('h3', {}, 'Source text, by attention'), body,
        readoutOf(pointed, tokens, (i) => `“${names[i]}”`, rest)),
    below: matrixPanel({ tokens: tokens.map(({ text: one }) => visible(one.trim()) || NO_TEXT), names,
        weights: tokens.map(({ weights }) => weights) }, pointed,
    strongestTable(tokens, (i) => names[i])) };
}

function pictureAligned(shown) {
    const { picture, answer } = shown;
    const { alignment: tokens, explanation } = answer;
    const pointed = new Pointed();
    const [, columns] = explanation.grid;
    const stage = stageOf(picture, READING_SIDE);
    const { foot, show } = heatMap(stage, picture, explanation, (patch) => pointed.at(-1, patch));
    const names = (i) => `row ${Math.floor(i / columns) + 1}, column ${i % columns + 1}`;
    const shares = sharesOf(tokens);
    const isShort = [...answer.output].length <= STRIP_CHARACTERS_MAX;
    const written = isShort ? readingStrip(shown, shares, pointed)
        : tokensBody(tokens, shares, pointed);
    if (isShort)
        rests(written, pointed);
    pointed.follow(({ token }) => show(token < 0 ? null : tokens[token].weights));
    return { seen: el('section', { class: 'panel picture reading', 'aria-label': 'Alignment' },
        el('h3', {}, 'Image, by attention'), stage, written,
        readoutOf(pointed, tokens, names,
            'Point at a character, or walk with the arrow keys, to see where the model looked.'),
        foot, strongestTable(tokens, names)), below: null };
}

/**
 * The source and the written text, aligned; null: the answer does not say what looked where.
 *
 * @param {{input: import('./api.js').Input, picture: HTMLImageElement|null,
 *     answer: {output: string, alignment?: Tokens, explanation?: object}}} shown
 * @returns {{seen: Element, below: Element|null}|null}
 */
export function alignedOf(shown) {
    const { input, picture, answer } = shown;
    const { alignment: tokens = [], explanation } = answer;
    const sources = (explanation?.words ?? explanation?.relevance ?? []).length;
    if (answer.output === null || sources === 0 || tokens.length === 0 ||
        tokens.some(({ weights }) => weights.length !== sources))
        return null;
    if (input.kind === 'text')
        return textAligned(input.text, explanation, tokens);
    return picture === null ? null : pictureAligned(shown);
}
