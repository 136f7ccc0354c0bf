/* A client of attnd for Node 18 or later and browsers: fetch, and nothing beside. attnd.d.mts has
 * the types, docs/clients.md what all clients do.
 *
 *     import { Client } from './attnd.mjs';
 *     const attnd = new Client('http://127.0.0.1:8080', { key });
 *     console.log((await attnd.predict('SCAN chain 3 FAIL', { id: 'die-1' })).label);
 *     for await (const line of attnd.predictLines(texts, { top_k: 2 }))
 *         console.log(line.index, line.label ?? line.error_type);
 */

const LINES_TYPE = 'application/x-ndjson';
const LINES_MAX = 4096; /* of one request: so a connection that breaks costs no more */
const BYTES_MAX = 8 << 20;

/** A refusal: attnd answers with application/problem+json (RFC 9457). */
export class AttndError extends Error {
    constructor(status, body) {
        let problem = {};
        try {
            problem = JSON.parse(body);
        } catch {
            /* a proxy may answer in its own words */
        }
        const detail = problem.detail ?? problem.error?.message ?? problem.error ?? body.slice(0, 200);
        super(`${status} ${problem.title ?? 'HTTP error'}: ${detail}`);
        Object.assign(this, { name: 'AttndError', status, problem, detail, title: problem.title,
            errorType: problem.error_type });
    }
}

/** In pieces, since a call takes only so many arguments. */
function base64(bytes) {
    let text = '';
    for (let at = 0; at < bytes.length; at += 32768)
        text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    return btoa(text);
}

/** An element of `inputs`: of a text, a picture's bytes (or Blob), or such an element. */
async function inputOf(given) {
    if (typeof given === 'string')
        return { text: given };
    if (typeof Blob !== 'undefined' && given instanceof Blob)
        given = await given.arrayBuffer();
    if (given instanceof ArrayBuffer)
        given = new Uint8Array(given);
    if (ArrayBuffer.isView(given))
        return { image: base64(new Uint8Array(given.buffer, given.byteOffset, given.byteLength)) };
    return given;
}

/** Options as a query has them. */
function queryOf(options) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(options))
        if (name === 'context')
            for (const [key, member] of Object.entries(value))
                query.set(`context.${key}`, member);
        else if (value !== undefined)
            query.set(name, Array.isArray(value) ? JSON.stringify(value) : value);
    return query.size === 0 || String(query) === '' ? '' : `?${query}`;
}

/** The lines of a body as they come. */
async function* linesOf(reply) {
    const reader = reply.body.getReader(), decoder = new TextDecoder();
    let text = '';
    try {
        for (;;) {
            const { done, value } = await reader.read();
            text += done ? decoder.decode() : decoder.decode(value, { stream: true });
            const lines = text.split('\n');
            text = done ? '' : lines.pop();
            yield* lines.filter((line) => line !== '');
            if (done)
                return;
        }
    } finally {
        await reader.cancel().catch(() => {});
    }
}

/** Lines by their index, so many as one request should have. */
async function* batches(given) {
    let batch = new Map(), size = 0, index = 0;
    for await (const one of given) {
        const line = JSON.stringify(await inputOf(one));
        if (batch.size > 0 && (batch.size === LINES_MAX || size + line.length > BYTES_MAX)) {
            yield batch;
            [batch, size] = [new Map(), 0];
        }
        batch.set(index++, line);
        size += line.length + 1;
    }
    if (batch.size > 0)
        yield batch;
}

export class Client {
    #url; #headers; #tries; #waitMax; #timeout; #fetch; #sleep;

    constructor(url = 'http://127.0.0.1:8080', { key, tries = 5, waitMax = 60, timeout = 30,
        fetch: ask = globalThis.fetch,
        sleep = (seconds) => new Promise((wake) => setTimeout(wake, seconds * 1000)) } = {}) {
        this.#url = url.replace(/\/$/, '');
        this.#headers = key ? { Authorization: `Bearer ${key}` } : {};
        this.#tries = tries;
        this.#waitMax = waitMax;
        this.#timeout = timeout;
        this.#fetch = ask.bind(globalThis);
        this.#sleep = sleep;
    }

    /** As Retry-After tells, else doubling from half a second, with a random part. */
    #wait(failed, told) {
        const seconds = /^\d+$/.test(told ?? '') ? Number(told)
            : 0.5 * 2 ** failed * (0.75 + Math.random() / 2);
        return this.#sleep(Math.min(seconds, this.#waitMax));
    }

    /** A reply that is a success. `isSafe`: it may be sent again if no answer came. The time ends
     * with the reply's head. */
    async #ask(path, { isSafe = true, headers, ...request } = {}) {
        for (let failed = 0; ; failed++) {
            const isLast = failed >= this.#tries - 1, stop = new AbortController();
            const timer = setTimeout(() => stop.abort(new Error('no answer in time')),
                this.#timeout * 1000);
            let told;
            try {
                const reply = await this.#fetch(this.#url + path, { ...request, signal: stop.signal,
                    headers: { ...this.#headers, ...headers } });
                if (reply.ok)
                    return reply;
                told = reply.headers.get('Retry-After');
                const isPassing = [429, 503].includes(reply.status) || (reply.status === 409 && told);
                const body = await reply.text();
                if (isLast || !isPassing)
                    throw new AttndError(reply.status, body);
            } catch (broken) {
                if (broken instanceof AttndError || isLast || !isSafe)
                    throw broken;
            } finally {
                clearTimeout(timer);
            }
            await this.#wait(failed, told);
        }
    }

    async #post(path, body, more = {}) {
        const reply = await this.#ask(path, { method: 'POST', body: JSON.stringify(body), ...more,
            headers: { 'Content-Type': 'application/json', ...more.headers } });
        return reply.json();
    }

    async predict(given, options = {}, { idempotencyKey } = {}) {
        return this.#post('/predict', { ...await inputOf(given), ...options },
            { headers: idempotencyKey ? { 'Idempotency-Key': idempotencyKey } : {} });
    }

    async #inputsMax() {
        const served = await this.models();
        return Math.max(1, Math.min(...served.map((model) => model.inputs_max ?? 64), 65536));
    }

    /** [items, index of the first] of each request. */
    async #pieces(given) {
        const items = [...given], most = await this.#inputsMax();
        return Array.from({ length: Math.ceil(items.length / most) }, (_, i) =>
            [items.slice(i * most, (i + 1) * most), i * most]);
    }

    async predictMany(given, options = {}) {
        const results = [];
        for (const [items] of await this.#pieces(given)) {
            const inputs = await Promise.all(items.map(inputOf));
            results.push(...(await this.#post('/predict', { inputs, ...options })).results);
        }
        return results;
    }

    async embed(texts, options = {}) {
        const vectors = [];
        for (const [input] of await this.#pieces(typeof texts === 'string' ? [texts] : texts))
            vectors.push(...(await this.#post('/v1/embeddings', { input, ...options })).data
                .map((row) => row.embedding));
        return vectors;
    }

    /** A score depends on its document alone, so documents may be of several requests. */
    async rerank(query, documents, { topN, ...options } = {}) {
        const ranked = [];
        for (const [piece, first] of await this.#pieces(documents))
            ranked.push(...(await this.#post('/v1/rerank', { query, documents: piece, ...options }))
                .results.map((row) => ({ index: first + row.index, score: row.relevance_score })));
        return ranked.sort((a, b) => b.score - a.score || a.index - b.index).slice(0, topN);
    }

    async similar(given, options = {}) {
        return (await this.#post('/similar', { ...await inputOf(given), ...options })).neighbours;
    }

    async predictLot(bytes, options = {}) {
        const reply = await this.#ask(`/predict${queryOf(options)}`, { method: 'POST', body: bytes,
            headers: { 'Content-Type': 'application/x-stdf' } });
        return (await reply.json()).results;
    }

    async feedback(id, label, more = {}) {
        return (await this.#post('/feedback', { id, label, ...more }, { isSafe: false })).results[0];
    }

    async models() {
        return (await (await this.#ask('/models')).json()).models;
    }

    async ready() {
        try {
            return (await this.#fetch(`${this.#url}/readyz`, { headers: this.#headers })).ok;
        } catch {
            return false;
        }
    }

    /** Each answer as it comes; lines of a busy server or a broken connection are sent again. */
    async* predictLines(given, options = {}) {
        for await (const left of batches(given))
            yield* this.#askLines(left, options);
    }

    async* #askLines(left, options) {
        for (let failed = 0; left.size > 0;) {
            const sent = [...left.keys()], isLast = failed >= this.#tries - 1;
            const reply = await this.#ask(`/predict${queryOf(options)}`, { method: 'POST',
                body: [...left.values()].join('\n'),
                headers: { 'Content-Type': LINES_TYPE, Accept: LINES_TYPE } });
            try {
                for await (const text of linesOf(reply)) {
                    const answer = JSON.parse(text);
                    answer.index = sent[answer.index];
                    if (!isLast && [429, 503].includes(answer.status))
                        continue;
                    left.delete(answer.index);
                    yield answer;
                }
            } catch (broken) {
                if (isLast)
                    throw broken;
            }
            if (left.size > 0 && isLast)
                throw new Error('the server ended the list before its last answer');
            failed = left.size < sent.length ? 0 : failed + 1;
            if (left.size > 0)
                await this.#wait(failed);
        }
    }
}
