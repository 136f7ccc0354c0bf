/* Requests for predictions, made from inputs and options. */

/**
 * @typedef {import('./api.js').Input} Input
 * @typedef {{model: string, method: string, layer: number}} Options
 *     model '': the server's default; method: 'true', 'false' or a name; layer 0: the method's own
 * @typedef {{url: string, type: string, body: Blob|string, file: string|null, json: object|null}}
 *     Request  file and json: what the command that asks the same is made of
 */

/** A lone surrogate is no character and has no UTF-8: it becomes U+FFFD, which is also one. */
function wellFormed(text) {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new TextEncoder().encode(text));
}

/** @param {Options} options */
function optionsOf(options) {
    const out = { top_k: 'all' };
    if (options.model !== '')
        out.model = options.model;
    if (options.method !== 'false')
        out.explain = options.method === 'true' ? true : options.method;
    if (options.layer > 0)
        out.explain_layer = options.layer;
    return out;
}

/**
 * An image goes as it is, with the options in the query; a text goes as JSON, where any of it can
 * be written, NUL too.
 *
 * @param {Input} input
 * @param {Options} options
 * @returns {Request}
 */
export function requestOf(input, options) {
    const address = new URL('predict', document.baseURI);
    address.hash = '';
    const chosen = optionsOf(options);
    if (input.kind === 'image') {
        address.search = new URLSearchParams(chosen).toString();
        return { url: address.href, type: input.type, body: input.blob, file: input.name,
            json: null };
    }
    const json = { text: wellFormed(input.text), ...chosen };
    return { url: address.href, type: 'application/json', body: JSON.stringify(json),
        file: null, json };
}

/** @param {Request} request */
export function bodyBytes(request) {
    return typeof request.body === 'string' ? new TextEncoder().encode(request.body).length
        : request.body.size;
}
