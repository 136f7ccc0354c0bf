/* Many inputs, sent in groups one after the other. A server that is busy is waited for, a group
 * that is too large for it is halved, and what is wrong with one input stays in its row. */
import { Refusal, predict, refuse } from './api.js';
import { bytes, integer } from './format.js';
import { inputOf, probe } from './input.js';
import { limitsOf, pack } from './packing.js';
import { pixelsOf } from './pixels.js';
import { envelopeOf, requestOf } from './request.js';
import { lackOf } from './tasks.js';

/**
 * @typedef {{file: File, name: string, kind: string, type: string, size: number, pixels: number,
 *     start: string, results: object[]}} Row
 *     start: how a text begins; results: one for each model that is asked, an answer or a problem
 */

/* So often in a row a busy server is waited for; how long, if it does not say. */
const WAITS_MAX = 20;
const WAIT_S_MAX = 60;

const START_CHARACTERS = 160;

/* After these nothing else would come through either. */
const HOPELESS = [0, 401, 403];

function problemOf(error) {
    return error instanceof Refusal ? error.problem
        : refuse(-1, 'Unreadable file', 'The browser could not read this file.').problem;
}

/** @param {File} file @returns {Promise<Row>} */
export async function rowOf(file) {
    const row = { file, name: file.name, kind: 'image', type: '', size: file.size, pixels: 0,
        start: '', results: [] };
    try {
        const { file: whole, kind, type, bytes: first } = await probe(file);
        const text = kind === 'text' ? new TextDecoder().decode(first) : '';
        return { ...row, file: whole, size: whole.size, kind, type, pixels: pixelsOf(first, type),
            start: [...text.trim().slice(0, 2 * START_CHARACTERS)].slice(0, START_CHARACTERS)
                .join('') };
    } catch (error) {
        return { ...row, results: [{ problem: problemOf(error) }] };
    }
}

/** What can be said without asking; null: nothing. */
function hindrance(row, limits, model, question) {
    if (model === undefined)
        return refuse(-1, 'No model', `No model for ${row.kind}s is served here.`).problem;
    const lack = lackOf(model, question);
    if (lack !== '')
        return refuse(-1, 'Not asked', lack).problem;
    if (row.size > limits.bytes)
        return refuse(413, 'Content Too Large', `This input has ${bytes(row.size)}; the server ` +
            `takes at most ${bytes(limits.bytes)}.`).problem;
    if (row.pixels > limits.imagePixels)
        return refuse(422, 'Too many pixels', `This image has ${integer(row.pixels)} pixels; the ` +
            `server takes at most ${integer(limits.imagePixels)}.`).problem;
    return null;
}

function pause(seconds, signal) {
    return new Promise((resolve, reject) => {
        const stop = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        const timer = setTimeout(() => {
            signal.removeEventListener('abort', stop);
            resolve();
        }, seconds * 1000);
        signal.addEventListener('abort', stop, { once: true });
    });
}

/** Sends until a server that is busy for now has taken it. */
async function patiently(send, { signal, waiting }) {
    for (let times = 0; ; times++) {
        try {
            return await send();
        } catch (error) {
            const { status, retryAfterS } = problemOf(error);
            if ((status !== 429 && status !== 503) || times === WAITS_MAX || signal.aborted)
                throw error;
            const seconds = Math.min(WAIT_S_MAX, retryAfterS > 0 ? retryAfterS : 2 ** times);
            waiting(seconds);
            await pause(seconds, signal);
            waiting(0);
        }
    }
}

/** One request; alone an input goes as it would from the page. @returns {Promise<object[]>} */
async function sendGroup(rows, options, how) {
    const inputs = await Promise.all(rows.map((row) => inputOf(row.file)));
    const request = inputs.length === 1 ? await requestOf(inputs[0], { ...options, method: 'false',
        layer: 0 }) : await envelopeOf(inputs, options);
    const { answer, roundTripMs } = await patiently(() => predict(request, how.signal), how);
    const { results = [answer], id, context } = answer;
    return results.map((result, index) => result.status === undefined
        ? { answer: { ...result, id, context }, roundTripMs,
            index: answer.results === undefined ? undefined : index }
        : { problem: result });
}

/** As sendGroup, in halves if it is too large, and with a result for each row whatever happens. */
async function resultsOf(rows, options, how) {
    try {
        return await sendGroup(rows, options, how);
    } catch (error) {
        how.signal.throwIfAborted();
        const problem = problemOf(error);
        const apart = rows.length > 1 && (problem.status === 413 || !(error instanceof Refusal));
        if (!apart)
            return rows.map(() => ({ problem }));
        const half = Math.ceil(rows.length / 2);
        return [...await resultsOf(rows.slice(0, half), options, how),
            ...await resultsOf(rows.slice(half), options, how)];
    }
}

/**
 * @param {Row[]} rows  their results are filled in
 * @param {import('./options.js').Options} options
 * @param {{signal: AbortSignal, done: (rows: Row[], which: number) => void,
 *     waiting: (seconds: number) => void}} how  done: these rows have their result of that model
 * @returns {Promise<object|null>} the problem that ended it before its time; throws an AbortError
 */
export async function runBatch(rows, options, how) {
    for (const kind of ['image', 'text']) {
        const model = options.model(kind);
        const limits = limitsOf(model);
        const asked = options.of(kind);
        const ready = rows.filter((row) => row.kind === kind && row.results.length === 0);
        for (const row of ready) {
            const problem = hindrance(row, limits, model, options.question());
            row.results = problem === null ? [] : [{ problem }];
        }
        how.done(ready.filter((row) => row.results.length > 0), 0);
        for (const group of pack(ready.filter((row) => row.results.length === 0), limits))
            for (const [which, one] of asked.entries()) {
                const results = await resultsOf(group, one, how);
                group.forEach((row, i) => {
                    row.results[which] = results[i];
                });
                how.done(group, which);
                const [{ problem }] = results;
                if (HOPELESS.includes(problem?.status))
                    return problem;
            }
    }
    return null;
}
