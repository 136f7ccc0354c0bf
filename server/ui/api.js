/* Requests to the server that this page came from. All addresses are relative to the page, so that
 * it also works behind a proxy that serves it under a prefix. */
import { anotherKey, authorization, currentKey } from './key.js';
import { wellFormed } from './request.js';
import { eventsOf, isStream } from './stream.js';
import { withLine } from './tasks.js';

/**
 * @typedef {{kind: 'image', blob: Blob, name: string, type: string}
 *     | {kind: 'text', text: string, pair?: string, name: string}} Input
 * @typedef {{status: number, title: string, detail: string, retryAfterS: number}} Problem
 *     status 0: there was no answer; -1: the page could not even ask
 */

/** A refusal by the server, or the reason why it could not be reached. */
export class Refusal extends Error {
    /** @param {Problem} problem */
    constructor(problem) {
        super(problem.detail);
        this.problem = problem;
    }
}

export function refuse(status, title, detail, retryAfterS = 0) {
    return new Refusal({ status, title, detail, retryAfterS });
}

async function refusalOf(response) {
    const retryAfterS = Number(response.headers.get('Retry-After')) || 0;
    let problem = null;
    try {
        problem = await response.json();
    } catch {
        // Not attnd's: something between the page and attnd has answered.
    }
    return refuse(response.status, String(problem?.title ?? `HTTP ${response.status}`),
        String(problem?.detail ?? 'The answer is no problem object: a proxy may have made it.'),
        retryAfterS);
}

/** fetch, with every failure but a cancelled request as a Refusal. Where a key is wanted, a person
 * is asked for it, and then the server once more. `byHand`: a person waits for the answer. */
export async function fetchAnswer(address, options, byHand = false) {
    const key = currentKey();
    const headers = { ...options.headers, ...authorization(key) };
    let response;
    try {
        response = await fetch(address, { ...options, headers });
    } catch (error) {
        if (error.name === 'AbortError')
            throw error;
        throw refuse(0, 'No answer', 'The connection to the server failed or was closed.');
    }
    if (response.ok)
        return response;
    const refusal = await refusalOf(response);
    if (response.status === 401 && await anotherKey(key, refusal.problem.detail, byHand))
        return fetchAnswer(address, options, byHand);
    throw refusal;
}

/** The models' descriptions, in the order in which they are served. */
export async function getModels({ signal, byHand } = {}) {
    const response = await fetchAnswer('models', { cache: 'no-store', signal }, byHand);
    return (await response.json()).models;
}

/** One model with its versions; `confusion`: also with its pairs of classes. */
export async function getModel(name, { confusion, signal }) {
    const address = `models/${encodeURIComponent(name)}${confusion ? '?confusion=true' : ''}`;
    const response = await fetchAnswer(address, { cache: 'no-store', signal });
    return response.json();
}

/**
 * Changes which versions are served.
 *
 * @param {string} method
 * @param {string[]} path  below admin/models: a name, a version, an action
 * @param {object} [body]
 * @returns {Promise<object>} the versions after it; throws a Refusal
 */
export async function changeModels(method, path, body) {
    const address = ['admin/models', ...path.map(encodeURIComponent)].join('/');
    const sent = body === undefined ? {}
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const response = await fetchAnswer(address, { method, ...sent }, true);
    return response.json();
}

export async function getMetrics(signal) {
    const response = await fetchAnswer('metrics', { cache: 'no-store', signal });
    return response.text();
}

/** The answer at the end of a stream of tokens, of which `token` is told. */
async function streamedAnswer(body, token) {
    try {
        for await (const { event, data } of eventsOf(body)) {
            const object = JSON.parse(data);
            if (event === 'token')
                token(String(object.text));
            else if (event === 'result')
                return object;
            else if (event === 'problem')
                throw refuse(object.status, String(object.title), String(object.detail));
        }
    } catch (error) {
        if (error instanceof Refusal || error.name === 'AbortError')
            throw error;
        throw refuse(0, 'No answer', `The text could not be read to its end: ${error.message}`);
    }
    throw refuse(0, 'No answer', 'The connection ended before the whole text had come.');
}

/**
 * @param {import('./request.js').Request} request
 * @param {AbortSignal} signal
 * @param {(text: string) => void} [token]  told of each token of a text as it comes
 * @returns {Promise<{answer: object, reply: object, roundTripMs: number}>} reply: as it came;
 *     throws a Refusal or an AbortError
 */
export async function predict(request, signal, token = () => {}) {
    const begun = performance.now();
    const response = await fetchAnswer(request.url, { method: 'POST', body: request.body, signal,
        headers: { 'Content-Type': request.type } }, true);
    const reply = isStream(response) ? await streamedAnswer(response.body, token)
        : await response.json();
    const { results, ...rest } = reply;
    const line = (one) => (one.status === undefined ? withLine(one) : one);
    const answer = results === undefined ? withLine(rest)
        : { results: results.map(line), ...rest };
    return { answer, reply, roundTripMs: performance.now() - begun };
}

/**
 * The past cases that are nearest to an input.
 *
 * @param {Input} input
 * @param {{model: string, k: number}} options  model '': the first that has an index
 * @param {AbortSignal} signal
 * @returns {Promise<{neighbours: object[]}>} throws a Refusal or an AbortError
 */
export async function findSimilar(input, { model, k }, signal) {
    const chosen = { k, ...model !== '' && { model } };
    const isImage = input.kind === 'image';
    const query = isImage ? `?${new URLSearchParams(chosen)}` : '';
    const response = await fetchAnswer(`similar${query}`, { method: 'POST', signal,
        body: isImage ? input.blob : JSON.stringify({ text: wellFormed(input.text), ...chosen }),
        headers: { 'Content-Type': isImage ? input.type : 'application/json' } }, true);
    return response.json();
}

/**
 * @param {{id: string, label: string}|{feedback: object[]}} feedback  one, or several
 * @returns {Promise<object>} what became of each; throws a Refusal
 */
export async function sendFeedback(feedback) {
    const response = await fetchAnswer('feedback', { method: 'POST', body: JSON.stringify(feedback),
        headers: { 'Content-Type': 'application/json' } }, true);
    return response.json();
}

/** Takes the label of an answer back; throws a Refusal. */
export async function removeFeedback({ id, index }) {
    const query = new URLSearchParams({ id, index });
    await fetchAnswer(`feedback?${query}`, { method: 'DELETE' }, true);
}
