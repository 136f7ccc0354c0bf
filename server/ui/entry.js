/* An answer as it is kept in lists and written into files: without its explanation, and without the
 * text that was sent. */
import { CONTEXT } from './context.js';

/**
 * @typedef {{when: Date, name: string, kind: string, answer?: object, problem?: object,
 *     roundTripMs?: number, index?: number, blob?: Blob}} Record
 *     name: of the input; index: among the results that share the answer's id; blob: a picture
 */

function withoutText({ label, score, start, end }) {
    return { label, score, start, end };
}

/** @param {Record} record @returns {object} plain, to become JSON */
export function entryOf({ when, name, kind, answer, problem, roundTripMs, index }) {
    const head = { time: when.toISOString(), input: name, kind };
    if (answer === undefined)
        return { ...head, error: `${problem.title}: ${problem.detail}`, status: problem.status };
    const { label, score, decision, truncated, ood_score, ood_rank, class_code } = answer;
    return { ...head, id: answer.id, index, model: answer.model.name,
        version: answer.model.version, digest: answer.model.digest, label,
        score: Number.isNaN(score) ? undefined : score, decision,
        reason: answer.reason, truncated, class_code, ood_score, ood_rank,
        predictions: answer.predictions, spans: answer.spans?.map(withoutText),
        answers: (answer.answers ?? (answer.answer ? [answer.answer] : undefined))
            ?.map(withoutText), output: answer.output,
        confidence: answer.confidence, alternatives: answer.alternatives,
        broken_rule: answer.broken_rule, rejected: answer.rejected, context: answer.context, round_trip_ms: roundTripMs };
}

const COLUMNS = ['time', 'input', 'kind', 'model', 'version', 'label', 'score', 'decision',
    'reason', 'truncated', 'class_code', 'ood_score', 'ood_rank', 'right_label', 'output'];
const TAIL = ['id', 'index', 'error', 'status'];

/* A spreadsheet takes a cell that begins so for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** RFC 4180. A text that a spreadsheet would compute is marked as the text that it is. */
function cellOf(value) {
    if (value === undefined || value === null)
        return '';
    if (typeof value !== 'string')
        return String(value);
    const text = FORMULA.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {object[]} entries */
export function csvOf(entries) {
    const members = CONTEXT.map(({ member }) => member);
    const rowOf = (entry) => [...COLUMNS.map((name) => entry[name]),
        ...members.map((name) => entry.context?.[name]), ...TAIL.map((name) => entry[name])];
    return [[...COLUMNS, ...members, ...TAIL], ...entries.map(rowOf)]
        .map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');
}

/** One object a line. */
export function linesOf(objects) {
    return objects.map((object) => `${JSON.stringify(object)}\n`).join('');
}
