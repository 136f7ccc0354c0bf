/* A text whose words are shaded by relevance.
 *
 * Offsets come in Unicode code points; JavaScript counts UTF-16 units, two for each code point
 * beyond the first plane. */
import { el } from './dom.js';
import { percent } from './format.js';

/* Characters of a phrase or span that are shown; a log may hold a word of thousands. */
const EXCERPT_SHOWN = 120;

/* Characters of a text in a list or a headline. */
const LINE_SHOWN = 80;

/* How much of a text is shown behind the last word that the model has read. */
const UNREAD_SHOWN = 400;

/** Where each code point up to `last` begins, in UTF-16 units; [last] is where it ends. */
export function unitsOf(text, last) {
    const units = new Uint32Array(last + 1);
    let unit = 0;
    for (let point = 0; point < last; point++) {
        units[point] = unit;
        unit += unit < text.length && text.codePointAt(unit) > 0xFFFF ? 2 : 1;
    }
    units[last] = unit;
    return units;
}

/** Code points that excerpts reach to. */
function lastOf(excerpts) {
    return excerpts.reduce((last, excerpt) => Math.max(last, excerpt.end), 0);
}

/** Shade of a word: five steps, so that neighbours can be told apart; 0 is none. */
export function shadeOf(relevance, max) {
    return max > 0 ? Math.min(5, Math.floor(6 * relevance / max)) : 0;
}

/* A line break must stay one; any other control character, and what reorders text, is shown as a
 * sign: the text must look as the model read it. */
const UNSEEN = /[^\P{Cc}\n\t]|[\u061C\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/gu;

/* Between the two texts of a pair. */
export const PAIR_BORDER = '\n―――\n';

/** Both texts as one, with the words, spans and phrases where they are in it. */
export function joinPair(text, pair, explanation) {
    const before = [...text + PAIR_BORDER].length;
    const moved = (parts) => parts?.map((part) => part.of === 'text_pair'
        ? { ...part, start: part.start + before, end: part.end + before } : part);
    return [text + PAIR_BORDER + pair, { ...explanation, words: moved(explanation.words),
        spans: moved(explanation.spans) }];
}

/** The text as it may be shown: what is not seen, or reorders, becomes a sign. */
export function visible(text) {
    return text.replace(UNSEEN, (c) => {
        const code = c.codePointAt(0);
        return code < 0x20 ? String.fromCodePoint(0x2400 + code) : code === 0x7F ? '␡' : '·';
    });
}

function wordElement(text, word, max) {
    return el('span', { class: `word shade-${shadeOf(word.relevance, max)}`, tabindex: -1,
        title: percent(word.relevance) }, visible(text));
}

/** Text between words and the words themselves, in order. */
function pieces(text, words, units) {
    const max = words.reduce((most, word) => Math.max(most, word.relevance), 0);
    const out = [];
    let from = 0;
    for (const word of words) {
        out.push(visible(text.slice(from, units[word.start])));
        out.push(wordElement(text.slice(units[word.start], units[word.end]), word, max));
        from = units[word.end];
    }
    const rest = text.slice(from, from + UNREAD_SHOWN);
    const more = text.length - from - rest.length;
    out.push(el('span', { class: 'unread' }, visible(rest), more > 0 ? ` … ${more} more` : null));
    return out;
}

/**
 * Arrow keys go from element to element; the whole text is one stop of the Tab key.
 *
 * @param {(index: number) => void} tell  what is at hand, by key or by pointer; -1: none
 * @returns {(index: number) => void}  goes to an element
 */
export function walk(container, elements, tell) {
    let current = 0;
    const go = (index) => {
        elements[current].tabIndex = -1;
        current = Math.min(Math.max(index, 0), elements.length - 1);
        elements[current].tabIndex = 0;
        elements[current].focus();
    };
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10 };
    container.addEventListener('keydown', (event) => {
        if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey)
            return;
        event.preventDefault();
        go(current + steps[event.key]);
    });
    const told = ({ target }) => tell(elements.indexOf(target.closest('[tabindex]')));
    container.addEventListener('focusin', told);
    container.addEventListener('pointerover', told);
    if (elements.length > 0)
        elements[0].tabIndex = 0;
    return go;
}

/** A text in one line: its beginning. */
export function oneLine(text) {
    const shown = [...text.slice(0, 2 * LINE_SHOWN)].slice(0, LINE_SHOWN).join('');
    return visible(shown).replaceAll('\n', ' ') + (shown.length < text.length ? ' …' : '');
}

/** A part of the text in one line: its beginning, and how much more there is. */
export function excerptOf(text, units, { start, end }) {
    const shown = Math.min(end, start + EXCERPT_SHOWN);
    const words = visible(text.slice(units[start], units[shown]));
    return shown < end ? `${words} … ${end - shown} more characters` : words;
}

/** A span of the text, to read and to go to. */
function spanItem(text, span, words, units, go) {
    const first = words.findIndex((word) => word.start >= span.start);
    return el('li', {},
        el('span', { class: 'number' }, percent(span.relevance)), ' ',
        el('button', { type: 'button', class: 'link', click: () => go(first) },
            excerptOf(text, units, span)));
}

/** What the table of n-grams takes for the label: it may lie behind what the encoder reads. */
function phraseList(text, phrases) {
    if (phrases.length === 0)
        return [];
    const units = unitsOf(text, lastOf(phrases));
    return [el('h3', {}, 'Phrases that speak for it'),
        el('ol', { class: 'spans', id: 'phrases' }, ...phrases.map((phrase) => el('li', {},
            el('span', { class: 'number' }, `+${phrase.evidence.toFixed(2)}`), ' ',
            excerptOf(text, units, phrase))))];
}

/** Ranks by falling relevance, from 1. */
function ranksOf(words) {
    const order = words.map((_, i) => i).sort((a, b) => words[b].relevance - words[a].relevance);
    const ranks = new Array(words.length);
    order.forEach((word, i) => {
        ranks[word] = i + 1;
    });
    return ranks;
}

/** A text with its words shaded by relevance. @returns {{body: Element, elements: Element[]}} */
export function wordsBody(text, words, title) {
    const units = unitsOf(text, lastOf(words));
    const body = el('div', { class: 'words', id: 'words', role: 'group', dir: 'ltr',
        'aria-label': title }, ...pieces(text, words, units));
    return { body, elements: [...body.querySelectorAll('.word')] };
}

/**
 * @param {string} text  as it was sent
 * @param {{words: {start: number, end: number, relevance: number}[], spans: object[],
 *     phrases?: {start: number, end: number, evidence: number}[]}} explanation
 */
export function shadedWords(text, explanation) {
    const { words, spans } = explanation;
    const units = unitsOf(text, Math.max(lastOf(words), lastOf(spans)));
    const ranks = ranksOf(words);
    const rest = 'Point at a word, or walk with the arrow keys, to read its share.';
    const readout = el('p', { class: 'hint readout', 'aria-live': 'polite' }, rest);
    const { body, elements } = wordsBody(text, words, 'Words by relevance');
    const go = walk(body, elements, (index) => {
        if (index >= 0)
            readout.textContent = `“${elements[index].textContent}”: ` +
                `${percent(words[index].relevance)}, rank ${ranks[index]} of ${words.length}`;
    });
    return el('div', { class: 'words-box' }, body, readout,
        el('h3', {}, 'Densest spans'),
        el('ol', { class: 'spans', id: 'spans' },
            ...spans.map((span) => spanItem(text, span, words, units, go))),
        ...phraseList(text, explanation.phrases ?? []));
}
