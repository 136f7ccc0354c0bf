/* Requests for predictions, made from inputs and options. */

/**
 * @typedef {import('./api.js').Input} Input
 * @typedef {{model: string, method: string, layer: number, context: object|null,
 *     labels: string[], keep?: boolean, task?: string, question?: string, mayBeEmpty?: boolean,
 *     aggregation?: string, writing?: object, stream?: boolean}} Options
 *     model '': the server's default; method: 'true', 'false' or a name; layer 0: the method's own;
 *     context: where the input comes from (lot, wafer, ...), null: not said;
 *     labels: what a zero-shot model is to choose from, none: its own; keep false: the input is
 *     not to be kept for a review; task: of the model, absent: it gives labels; writing: members
 *     for a model that writes texts; stream: its tokens are wanted as they come
 * @typedef {{url: string, type: string, body: Blob|string, file: string|null, json: object|null}}
 *     Request  file or json: what the command that asks the same is made of
 */

/* Predictions of each of several inputs that are kept. */
const TOP_OF_SEVERAL = 5;

/* Answers, and words for each masked token. Spans and weights come as they are. */
const TOP = { answer: 5, fill: 8, tag: undefined, sparse: undefined,
    generate: undefined };

/** A lone surrogate is no character and has no UTF-8: it becomes U+FFFD, which is also one. */
export function wellFormed(text) {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new TextEncoder().encode(text));
}

/* What only models of the task take. */
function taskOptions({ task, mayBeEmpty, aggregation, writing }) {
    return { ...writing, ...task === 'answer' && mayBeEmpty === true && { handle_impossible_answer: true },
        ...task === 'tag' && aggregation !== undefined && aggregation !== '' &&
            { aggregation } };
}

/** @param {Options} options */
function optionsOf(options) {
    const top = options.task in TOP ? TOP[options.task] : 'all';
    const out = { ...top !== undefined && { top_k: top }, ...taskOptions(options) };
    if (options.model !== '')
        out.model = options.model;
    if (options.method !== 'false')
        out.explain = options.method === 'true' ? true : options.method;
    if (options.layer > 0)
        out.explain_layer = options.layer;
    if (options.labels.length > 0)
        out.candidate_labels = options.labels;
    if (options.stream === true)
        out.stream = true;
    if (options.keep === false)
        out.keep = false;
    return out;
}

/** @returns {Promise<string>} */
async function base64Of(blob) {
    const reader = new FileReader();
    await new Promise((resolve, reject) => {
        reader.onload = resolve;
        reader.onerror = () => reject(reader.error);
        reader.readAsDataURL(blob);
    });
    return reader.result.slice(reader.result.indexOf(',') + 1);
}

/** The member of a request that carries the input. */
async function memberOf(input, { task, question }) {
    return input.kind === 'image' ? { image: await base64Of(input.blob) }
        : { text: wellFormed(input.text), ...task === 'answer' && { question: wellFormed(question) },
            ...input.pair !== undefined && { text_pair: wellFormed(input.pair) } };
}

function address() {
    const url = new URL('predict', document.baseURI);
    url.hash = '';
    return url;
}

/**
 * An image goes as it is, with the options and the context in the query; a text goes as JSON, where
 * any of it can be written, NUL too, and so does an image with labels, of which a query takes few.
 *
 * @param {Input} input
 * @param {Options} options
 * @returns {Promise<Request>}
 */
export async function requestOf(input, options) {
    const url = address();
    const chosen = optionsOf(options);
    const { context } = options;
    if (input.kind === 'image' && options.labels.length === 0) {
        const query = Object.entries(context ?? {}).map(([name, value]) => [`context.${name}`, value]);
        url.search = new URLSearchParams([...Object.entries(chosen), ...query]).toString();
        return { url: url.href, type: input.type, body: input.blob, file: input.name, json: null };
    }
    const json = { ...await memberOf(input, options), ...chosen, ...context !== null && { context } };
    return { url: url.href, type: 'application/json', body: JSON.stringify(json), file: null, json };
}

/**
 * Several inputs of one kind; nobody explains so many.
 *
 * @param {Input[]} inputs
 * @param {Options} options
 * @returns {Promise<Request>}
 */
export async function envelopeOf(inputs, options) {
    const body = { inputs: await Promise.all(inputs.map((input) => memberOf(input, options))),
        ...!(options.task in TOP && TOP[options.task] === undefined) && { top_k: TOP_OF_SEVERAL },
        ...taskOptions(options) };
    if (options.model !== '')
        body.model = options.model;
    if (options.labels.length > 0)
        body.candidate_labels = options.labels;
    if (options.context !== null)
        body.context = options.context;
    return { url: address().href, type: 'application/json', body: JSON.stringify(body),
        file: null, json: null };
}

/** @param {Request} request */
export function bodyBytes(request) {
    return typeof request.body === 'string' ? new TextEncoder().encode(request.body).length
        : request.body.size;
}
