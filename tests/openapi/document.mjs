/* The document that a server gives of its interface, as something to hold exchanges against. A schema
 * closes its objects, so a member that it does not know is an error. */
import { strict as assert } from 'node:assert';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ask } from './client.mjs';

const ID = 'attnd';

function compiler(document) {
    /* Types are told once, where an object is described, and not again in each condition on it. */
    const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false,
        allErrors: true, unicodeRegExp: true });
    ajv.addVocabulary(Object.keys(document));
    ajv.addSchema({ $id: ID, ...document });
    return ajv;
}

/** A key as a step of a JSON pointer. */
function step(key) {
    return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}

export class Interface {
    /** @param {string} url  of a running server */
    static async of(url) {
        const { body } = await ask(url, { path: '/openapi.json' });
        return new Interface(JSON.parse(body));
    }

    constructor(document) {
        this.document = document;
        this.ajv = compiler(document);
        this.replies = 0;
        this.requests = 0;
        this.seen = new Set(); /* "GET /models 200" */
    }

    /** The fault of a value; null: none. */
    faults(pointer, value) {
        const validate = this.ajv.getSchema(`${ID}#${pointer}`);
        assert.ok(validate, `no schema at ${pointer}`);
        return validate(value) ? null : this.ajv.errorsText(validate.errors);
    }

    ofSchema(name, value) {
        return this.faults(`/components/schemas/${name}`, value);
    }

    /** [pointer, value] of what lies behind a reference. */
    resolve(pointer, value) {
        if (value.$ref === undefined)
            return [pointer, value];
        const keys = value.$ref.slice(2).split('/');
        return [value.$ref.slice(1), keys.reduce((at, key) => at[key], this.document)];
    }

    /** The reply must be one that the document has: its status, type, headers and body. */
    checkReply({ method, pattern }, { status, headers, body }) {
        const operation = this.document.paths[pattern][method.toLowerCase()];
        const where = `/paths/${step(pattern)}/${method.toLowerCase()}/responses/${status}`;
        assert.ok(operation.responses[status], `${method} ${pattern} has no ${status}: ${body}`);
        const [pointer, response] = this.resolve(where, operation.responses[status]);
        for (const name of Object.keys(response.headers))
            assert.ok(headers[name.toLowerCase()], `${method} ${pattern} ${status} lacks ${name}`);
        const type = headers['content-type']?.split(';')[0];
        if (response.content === undefined)
            assert.equal(body, '');
        else if (response.content['*/*'] === undefined)
            assert.ok(response.content[type], `${method} ${pattern} ${status} is ${type}`);
        const schema = `${pointer}/content/${step(type)}/schema`;
        if (response.content?.[type]?.schema !== undefined)
            assert.equal(this.faults(schema, JSON.parse(body)), null, body.slice(0, 2000));
        this.replies++;
        this.seen.add(`${method} ${pattern} ${status}`);
        return schema;
    }

    /** The options of a raw body's query must be parameters. A value is text; it may mean more, and
     * of a list each value is an element (style: form, exploded). */
    queryFaults(pattern, query) {
        const known = this.document.paths[pattern].post.parameters
            .map((one, i) => this.resolve(`/paths/${step(pattern)}/post/parameters/${i}`, one));
        const values = new URLSearchParams(query);
        for (const [name, value] of values) {
            const found = known.find(([, one]) => one.in === 'query' && one.name === name);
            const more = /^(true|false|\d+)$/.test(value) ? [JSON.parse(value)] : [];
            const means = [...more, value, values.getAll(name)];
            if (found === undefined)
                return `no parameter ${name}`;
            if (means.every((one) => this.faults(`${found[0]}/schema`, one) !== null))
                return `${name} may not be ${value}`;
        }
        return null;
    }

    /** The fault of a request for predictions; null: none. */
    requestFaults({ query, type, body }) {
        this.requests++;
        const content = this.document.paths['/predict'].post.requestBody.content;
        assert.ok(content[type], `no body is ${type}`);
        if (type === 'application/json')
            return this.ofSchema('PredictRequest', body);
        return this.queryFaults('/predict', query ?? '');
    }
}

/** Every value that differs from `value` by one member more in one of its objects; a list, which no
 * map of ours has. */
export function* withMember(value) {
    if (value === null || typeof value !== 'object')
        return;
    if (!Array.isArray(value))
        yield { ...value, undocumented: [] };
    for (const [key, inner] of Object.entries(value))
        for (const changed of withMember(inner)) {
            const copy = Array.isArray(value) ? [...value] : { ...value };
            copy[key] = changed;
            yield copy;
        }
}
