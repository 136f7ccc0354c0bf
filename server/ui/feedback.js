/* Right labels: what a person says that an input is. Each goes to the server if it takes them, and
 * stays in a list of this browser, to be downloaded, until somebody clears it. */
import { Refusal, sendFeedback } from './api.js';
import { judgedText } from './right_text.js';

const KEY = 'attnd-labels';

/* Of the list, whatever the browser would allow. The oldest go first. */
const MARKS_MAX = 1000;
const CHARACTERS_MAX = 400000;

/**
 * @typedef {{id: string, index?: number, label?: string, output?: string, predicted: string|null,
 *     model: string, version: string, input: string, context?: object, time: string,
 *     sent: boolean}} Mark  output: the right text, in place of a label
 */

/** Storage can be switched off, full, or hold what another page has written. */
function stored() {
    try {
        const list = JSON.parse(localStorage.getItem(KEY) ?? '[]');
        return Array.isArray(list)
            ? list.filter((mark) => typeof (mark?.label ?? mark?.output) === 'string') : [];
    } catch {
        return [];
    }
}

function store(marks) {
    try {
        localStorage.setItem(KEY, JSON.stringify(marks));
    } catch {
        // The list lives as long as the page then.
    }
}

function bounded(marks) {
    let kept = marks.slice(-MARKS_MAX);
    while (kept.length > 1 && JSON.stringify(kept).length > CHARACTERS_MAX)
        kept = kept.slice(Math.ceil(kept.length / 10));
    return kept;
}

function same(one, { id, index }) {
    return one.id === id && one.index === index;
}

/** The right label or text of a mark. @param {Mark|undefined} mark */
export function rightOf(mark) {
    return mark?.label ?? mark?.output;
}

export class Feedback {
    /** @param {() => void} changed */
    constructor(changed) {
        this.changed = changed;
        this.marks = stored();
    }

    /** The label or text that was marked as the right one; undefined: none. */
    labelOf(subject) {
        return rightOf(this.marks.find((mark) => same(mark, subject)));
    }

    keep(mark) {
        this.marks = bounded([...this.marks.filter((one) => !same(one, mark)), mark]);
        store(this.marks);
        this.changed();
    }

    /**
     * Of several labels for one answer the latest counts.
     *
     * @param {object} entry  see entry.js
     * @param {{label: string}|{output: string}} right
     * @param {boolean} [isNew]  the model lacks the label
     * @returns {Promise<string>} what became of it, as a sentence
     */
    async mark(entry, right, isNew = false) {
        const { id, index, model, version, input, context } = entry;
        const mark = { id, index, ...right, predicted: right.output === undefined ? entry.label
            : entry.output, model, version, input, context, time: new Date().toISOString(),
        sent: false };
        this.keep(mark);
        try {
            const { results } = await sendFeedback({ id, ...right,
                ...index === undefined ? {} : { index }, ...isNew ? { new: true } : {} });
            this.keep({ ...mark, sent: true });
            return right.output === undefined ? 'Sent to the server.'
                : `Sent to the server: ${judgedText(results[0])}`;
        } catch (error) {
            if (!(error instanceof Refusal))
                throw error;
            const { status, detail } = error.problem;
            const why = status === 404 || status === 405 ? 'the server does not take it' : detail;
            return `Kept in this browser, see History (${why}).`;
        }
    }

    clear() {
        this.marks = [];
        try {
            localStorage.removeItem(KEY);
        } catch {
            // See store().
        }
        this.changed();
    }
}
