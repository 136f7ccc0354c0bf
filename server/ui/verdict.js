/* What an answer comes to, in words. Of an input that is unlike what the model learnt the label is
 * only the nearest one: it never stands alone. */
import { el, icon } from './dom.js';
import { headlineOf, scoreText } from './tasks.js';

export const DECISIONS = {
    auto: { word: 'Automatic', why: 'Sure enough to go out by itself' },
    review: { word: 'Review', why: 'A person should look at it' },
    unknown: { word: 'Unknown', why: 'Unlike anything the model has learnt' },
};

export const UNKNOWN = 'Unknown: unlike anything the model has learnt';
const END_UNREAD = 'The text is longer than the model reads: its end was not read';

export function isUnknown(answer) {
    return answer.decision === 'unknown';
}

/** What the answer to an unknown input is called: it never stands alone. */
export function nearestWord({ output }) {
    return output === undefined ? 'Nearest label' : 'Text that was written';
}

/** 'Scratch', or of what is unknown 'Unknown (nearest: none)' */
export function shortVerdict(answer) {
    const word = answer.output === undefined ? 'nearest' : 'written';
    return isUnknown(answer) ? `Unknown (${word}: ${answer.label})` : answer.label;
}

/** What a screen reader is told. */
export function spokenVerdict(answer) {
    if (isUnknown(answer))
        return `${UNKNOWN}. ${nearestWord(answer)} ${answer.label}, ${scoreText(answer)}`;
    const word = DECISIONS[answer.decision]?.word ?? answer.decision;
    return [headlineOf(answer),
        ...Number.isFinite(answer.score) && !answer.set ? [scoreText(answer)] : [], ...word === undefined ? [] : [word]].join(', ');
}

/** A word with its sign; null: nothing was decided. A decision that this page does not know is one
 * for a person. */
export function chip(answer) {
    if (answer.decision === undefined)
        return null;
    const known = DECISIONS[answer.decision];
    const name = known === undefined ? 'review' : answer.decision;
    return el('span', { class: `chip ${name}` }, icon(name),
        known?.word ?? String(answer.decision));
}

function sentence(text) {
    return text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Why it was decided so; for an unknown input without the server's figures. */
export function reason(answer) {
    const why = DECISIONS[answer.decision]?.why;
    return sentence((isUnknown(answer) ? why : answer.reason ?? why) ?? '');
}

/** The figures of an unknown input, as the server tells them; '' for all others. */
export function figures(answer) {
    return isUnknown(answer) ? sentence(answer.reason ?? '') : '';
}

/** What else is to be known of it: that its end was not read, if no reason says so already. */
export function unreadNote(answer) {
    const said = (answer.reason ?? '').includes('end was not read');
    return answer.truncated === true && !said ? `${END_UNREAD}.` : '';
}
