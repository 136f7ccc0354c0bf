/* Requests of the Review view: kept inputs, their labels, and fits of what was labelled. */
import { Refusal, fetchAnswer, removeFeedback, sendFeedback } from './api.js';

/* Inputs of one page of the list, pages that are read for one look, and inputs that are shown. */
const LIST_LIMIT = 100;
const PAGES_MAX = 20;
const OPEN_MAX = 50;

/* Labels of one request, where a model does not say how many inputs it takes. */
const LABELS_MAX = 64;

/**
 * @typedef {{id: string, index: number, label: string, score: number, decision: string,
 *     media_type: string, model: {name: string, version: string}}} Item  a kept input
 * @typedef {{size: number, label: string|null, decisions: Object<string, number>, items: Item[],
 *     nearest: {label: string, similarity: number, id?: string, index?: number,
 *     media_type?: string}[]}} Group
 */

/**
 * @param {string} decision  '': those that are not automatic
 * @returns {Promise<{groups: Group[], groups_total: number, inputs: number, forgotten: number,
 *     labels: {label: string, count: number}[]}>} throws a Refusal
 */
export async function getGroups(model, decision, { signal, byHand }) {
    const query = new URLSearchParams({ model, ...decision === '' ? {} : { decision } });
    const response = await fetchAnswer(`review/groups?${query}`, { cache: 'no-store', signal },
        byHand);
    return response.json();
}

/**
 * Kept inputs of a model that writes, the newest first, that have no right text yet.
 *
 * @param {string} decision  as of getGroups
 * @returns {Promise<{open: object[], given: number, isMore: boolean}>} given: so many have one;
 *     throws a Refusal
 */
export async function getWritten(model, decision, { signal, byHand }) {
    const wanted = ['', 'any'].includes(decision) ? {} : { decision };
    const found = { open: [], given: 0, isMore: true };
    let before = {};
    for (let page = 0; page < PAGES_MAX && found.open.length < OPEN_MAX && found.isMore; page++) {
        const query = new URLSearchParams({ model, limit: LIST_LIMIT, ...wanted, ...before });
        const response = await fetchAnswer(`review?${query}`, { cache: 'no-store', signal }, byHand);
        const { inputs, next } = await response.json();
        const meant = inputs.filter((item) => item.output !== undefined &&
            (decision !== '' || item.decision !== 'auto'));
        found.open.push(...meant.filter((item) => item.right_output === undefined));
        found.given += meant.filter((item) => item.right_output !== undefined).length;
        found.isMore = next !== null;
        before = { before: next };
    }
    return { ...found, open: found.open.slice(0, OPEN_MAX),
        isMore: found.isMore || found.open.length > OPEN_MAX };
}

/** The right text of one input. @returns {Promise<object>} the server's result; throws a Refusal */
export async function giveText({ id, index }, output) {
    const { results } = await sendFeedback({ id, index, output, source: 'review' });
    return results[0];
}

/** The bytes of a kept input. @returns {Promise<Blob>} throws a Refusal */
export async function getKept({ id, index }, signal) {
    const query = new URLSearchParams({ id, index });
    const response = await fetchAnswer(`review/input?${query}`, { signal });
    return response.blob();
}

/**
 * One label for many inputs, in as many requests as the server's limit wants. What went wrong with
 * one is told of it, and the others are labelled.
 *
 * @param {Item[]} items
 * @param {{label: string, isNew: boolean, most?: number}} what  most: labels of one request
 * @returns {Promise<{done: Item[], failed: {item: Item, why: string}[]}>} throws a Refusal of the
 *     first request
 */
export async function giveLabel(items, { label, isNew, most = LABELS_MAX }) {
    const done = [];
    const failed = [];
    for (let from = 0; from < items.length; from += most) {
        const some = items.slice(from, from + most);
        try {
            const { results } = await sendFeedback({ feedback: some.map(({ id, index }) =>
                ({ id, index, label, source: 'review', ...isNew ? { new: true } : {} })) });
            some.forEach((item, i) => (results[i].detail === undefined ? done.push(item)
                : failed.push({ item, why: results[i].detail })));
        } catch (error) {
            if (!(error instanceof Refusal) || done.length + failed.length === 0)
                throw error;
            some.forEach((item) => failed.push({ item, why: error.problem.detail }));
        }
    }
    return { done, failed };
}

/** @returns {Promise<{item: Item, why: string}[]>} what could not be taken back */
export async function takeBack(items) {
    const failed = [];
    for (const item of items)
        try {
            await removeFeedback(item);
        } catch (error) {
            if (!(error instanceof Refusal))
                throw error;
            failed.push({ item, why: error.problem.detail });
        }
    return failed;
}

async function askFits(method, path, body) {
    const sent = body === undefined ? {}
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    return fetchAnswer(`admin/fits${path}`, { method, cache: 'no-store', ...sent },
        method !== 'GET');
}

/** A new version of a model from its labels, to be a shadow. @returns {Promise<object>} the fit */
export async function startFit(name) {
    return (await askFits('POST', '', { name, shadow: 1 })).json();
}

export async function getFit(number) {
    return (await askFits('GET', `/${number}`)).json();
}

export async function cancelFit(number) {
    await askFits('DELETE', `/${number}`);
}

/** The whole report, a page of its own. @returns {Promise<string>} */
export async function getFitReport(number) {
    return (await askFits('GET', `/${number}/report`)).text();
}
