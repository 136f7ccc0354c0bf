/* Replies of a running server are what its document says. The server takes every request that the
 * document allows. */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync }
    from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Validator } from '@seriousme/openapi-schema-validator';
import { BUILD, MODELS, ROOT, startServer } from '../support/server.mjs';
import { writer } from '../support/writers.mjs';
import { ask, askRaw } from './client.mjs';
import { Interface, withMember } from './document.mjs';

const INPUTS_MAX = 3, BODY_BYTES_MAX = 200000, PIXELS_MAX = 1000000;
const PNG = readFileSync(`${ROOT}tests/data/examples/wafer_map.png`);
const JPEG = readFileSync(`${ROOT}tests/data/images/made/rgb.jpg`);
const BMP = readFileSync(`${ROOT}tests/data/images/bmp/rle8.bmp`);
const LOT = readFileSync(`${ROOT}tests/data/examples/lot.stdf`);
const LOG = 'BUG: kernel NULL pointer dereference, address: 0000000000000018';
const IMAGE = PNG.toString('base64');
const WRITES = writer('t5-0'), TEXTS = writer('marian-0');
const METHODS = ['rollout', 'attention', 'gradient', 'gradient-last'];
const JSON_TYPE = 'application/json', TYPE = { 'Content-Type': JSON_TYPE };

let server, face, folder, state;
const bodies = []; /* [schema, reply] of every JSON reply */

/* A model with the fab's own names for its labels. */
function modelWithCodes() {
    const from = `${ROOT}models/wafer-vit`;
    folder = mkdtempSync(join(tmpdir(), 'attnd-openapi-'));
    for (const name of readdirSync(from).filter((name) => name !== 'attnd.json'))
        symlinkSync(join(from, name), join(folder, name));
    const settings = JSON.parse(readFileSync(join(from, 'attnd.json')));
    const labels = Object.values(JSON.parse(readFileSync(join(from, 'config.json'))).id2label);
    settings.class_codes = Object.fromEntries(labels.map((label, i) =>
        [label, i % 2 === 0 ? i : `code ${i}`]));
    writeFileSync(join(folder, 'attnd.json'), JSON.stringify(settings));
}

/* An index of two past texts. */
function pastCases() {
    const list = join(state, 'cases.jsonl'), out = join(state, 'cases.index');
    writeFileSync(list, '{"text": "scan chain 3 FAIL", "label": "scan"}\n{"text": "leakage"}\n');
    execFileSync(`${ROOT}${BUILD}/attnd-index`, ['build', '--model',
        `${ROOT}tests/data/embedding/st-bert-0`, '--data', list, '--out', out]);
    return out;
}

before(async () => {
    modelWithCodes();
    state = mkdtempSync(join(tmpdir(), 'attnd-openapi-'));
    server = await startServer([...MODELS, '--model', `coded=${folder}`,
        '--model', `any=${ROOT}tests/data/golden/clip-0`,
        '--model', `vectors=${ROOT}tests/data/embedding/st-bert-0,index=${pastCases()}`,
        '--model', `ranks=${ROOT}tests/data/rerank/rerank-bert-0`,
        '--model', `tags=${ROOT}tests/data/tags/ner-bert-0`,
        '--model', `answers=${ROOT}tests/data/answers/qa-bert-0`,
        '--model', `fills=${ROOT}tests/data/vocabulary/mlm-bert-0`,
        '--model', `sparse=${ROOT}tests/data/vocabulary/splade-bert-0`,
        '--model', `writes=${WRITES}`, '--model', `texts=${TEXTS}`,
        '--idempotency-bytes', '1000000', '--inputs-max', String(INPUTS_MAX), '--body-bytes-max', String(BODY_BYTES_MAX),
        '--image-pixels-max', String(PIXELS_MAX), '--queue-limit', String(INPUTS_MAX),
        '--body-timeout-ms', '300', '--drain-delay-ms', '3000', '--state-dir', join(state, 'state'),
        '--keep-inputs-bytes', '1000000', '--keep-inputs-share', '1']);
    face = await Interface.of(server.url);
});
after(async () => {
    rmSync(folder, { recursive: true });
    await server?.stop();
    rmSync(state, { recursive: true });
});

/** One exchange, held against the document. */
async function exchange(options, status) {
    const pattern = options.pattern ?? options.path.split('?')[0];
    const reply = options.raw !== undefined ? await askRaw(server.url, options.raw)
        : await ask(server.url, options);
    const asked = { method: options.as ?? options.method ?? 'GET', pattern };
    assert.equal(reply.status, status, `${asked.method} ${options.path}: ${reply.body}`);
    const schema = face.checkReply(asked, reply);
    if (/[/+]json/.test(reply.headers['content-type']) && pattern !== '/openapi.json')
        bodies.push([schema, JSON.parse(reply.body)]);
    return reply;
}

function post(body, headers = {}, query = '') {
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    return { method: 'POST', path: `/predict${query}`, pattern: '/predict', body: text,
        headers: { 'Content-Type': JSON_TYPE, ...headers } };
}

/** A request that the document allows or not, as `status` tells, and what it is answered with. */
async function predict(body, status = 200) {
    const faults = face.requestFaults({ type: JSON_TYPE, body });
    assert.equal(faults === null, status === 200, `${JSON.stringify(body)}: ${faults}`);
    return JSON.parse((await exchange(post(JSON.stringify(body)), status)).body);
}

async function predictRaw(type, body, query = '', status = 200, headers = {}) {
    const faults = face.requestFaults({ type, query });
    assert.equal(faults === null, status === 200, `${query}: ${faults}`);
    return JSON.parse((await exchange(post(body, { ...headers, 'Content-Type': type },
        query && `?${query}`), status)).body);
}

/** Exchanges at once until one is answered with the status; every answer is checked. */
async function until(status, count, make, others) {
    for (let round = 0; round < 30; round++) {
        const replies = await Promise.all(Array.from({ length: count }, () =>
            ask(server.url, make)));
        for (const reply of replies) {
            assert.ok(reply.status === status || others.includes(reply.status), reply.body);
            face.checkReply({ method: make.method, pattern: make.path }, reply);
        }
        if (replies.some((reply) => reply.status === status))
            return;
    }
    assert.fail(`never ${status}`);
}

test('the document is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(face.document);
    assert.ok(valid, JSON.stringify(errors));
    assert.equal(validator.version, '3.1');
});

test('every schema compiles, strictly', () => {
    for (const name of Object.keys(face.document.components.schemas))
        face.ofSchema(name, null);
});

async function embed(body, status = 200) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return JSON.parse((await exchange({ method: 'POST', path: '/v1/embeddings', body: text,
        headers: TYPE }, status)).body);
}

async function rank(path, body, status = 200) {
    return JSON.parse((await exchange({ method: 'POST', path, body: JSON.stringify(body),
        headers: TYPE }, status)).body);
}

async function near(body, status = 200, query = '') {
    return JSON.parse((await exchange({ method: 'POST', path: `/similar${query}`,
        pattern: '/similar', body: JSON.stringify(body), headers: TYPE }, status)).body);
}

test('near inputs', async () => {
    const { neighbours } = await near({ text: 'scan chain 3 FAIL', k: 2 });
    assert.deepEqual(neighbours.map(({ label }) => label), ['scan', null]);
    const { results } = await near({ inputs: [{ text: 'scan', id: 'a' }, { text: '' }] }, 200,
        '?k=1&model=vectors');
    assert.deepEqual(results.map((result) => result.neighbours?.length), [1, undefined]);
    await near({ text: 'scan', k: 101 }, 422);
    await near({ text: 'scan', model: 'none' }, 404);
    await near({ text: 'scan', model: 'tags' }, 422);
    await predict({ text: 'scan', model: 'vectors', similar: 1 });
    await predict({ text: 'scan', model: 'vectors', similar: 101 }, 422);
});

test('ranks', async () => {
    const { results } = await rank('/v1/rerank', { query: 'scan', documents: ['a', 'b'],
        model: 'ranks', top_n: 1, return_documents: true });
    assert.equal(results.length, 1);
    await rank('/v1/rerank', { query: '', documents: ['a'] });
    await rank('/v2/rerank', { query: 'scan', documents: ['a'] });
    await rank('/v1/rerank', { query: 'a', documents: ['a'], model: 'none' }, 404);
    await rank('/v1/rerank', { query: 'a', documents: ['a', 'b', 'c', 'd'] }, 413);
    await rank('/v1/rerank', { query: 'a', documents: ['a'], model: 'testlog-bert' }, 422);
    await rank('/rerank', { query: 'scan', texts: ['a', 'b'], raw_scores: true, return_text: true });
    await rank('/rerank', { query: 'scan', texts: [LOG.repeat(50)] }, 413);
    await rank('/rerank', { query: 'scan', texts: [LOG.repeat(50)], truncate: true });
    await rank('/rerank', { query: 'scan' }, 422);
});

async function get(path, status = 200, pattern = undefined) {
    return (await exchange({ path, pattern }, status)).body;
}

test('clients of text-embeddings-inference', async () => {
    const send = rank; /* a body to a path */
    assert.equal((await send('/embed', { inputs: ['a', LOG], dimensions: 3 }))[1].length, 3);
    await send('/embed', { inputs: 'a', model: 'vectors', prompt_name: 'query', truncate: true });
    await send('/embed', { inputs: [{ image: IMAGE }] }, 422);
    await send('/embed', { inputs: ['a', 'b', 'c', 'd'] }, 413);
    await send('/embed', { inputs: 'a', model: 'none' }, 404);
    assert.equal((await send('/embed_all', { inputs: ['a', LOG], truncate: true }))[0].length, 3);
    await send('/embed_all', { inputs: 'a', model: 'tags' }, 422);
    assert.equal((await send('/embed_sparse', { inputs: 'a' }))[0][0].value > 0, true);
    await send('/embed_sparse', { inputs: 'a', model: 'vectors' }, 422);
    const [tokens] = await send('/tokenize', { inputs: LOG, model: 'vectors', prompt_name: 'query' });
    assert.equal(tokens[0].start, null);
    await send('/tokenize', { inputs: ['a', 'b', 'c', 'd'] }, 413);
    await send('/decode', { ids: tokens.map(({ id }) => id), model: 'vectors' });
    await send('/decode', { ids: [[2, 5], [5]], skip_special_tokens: false });
    await send('/decode', { ids: [99999999] }, 422);
    await send('/decode', { ids: [2], model: 'none' }, 404);
    await send('/similarity', { inputs: { source_sentence: 'a', sentences: ['b', 'a'] },
        parameters: { truncate: true } });
    await send('/similarity', { inputs: 'a' }, 422);
    const labels = await send('/predict', { inputs: LOG, raw_scores: true, truncate: true });
    assert.deepEqual(Object.keys(labels[0]), ['label', 'score']);
    assert.equal((await send('/predict', { inputs: [['a'], [LOG]] })).length, 2);
    await send('/predict', { inputs: ['a', 'b'], model: 'ranks' });
    await send('/predict', { inputs: ['a', 'b', 'c'] }, 422);
    await get('/info');
    await get('/info?model=ranks');
    await get('/info?model=none', 404);
    await get('/info?a=1', 422);
    await get('/health');
});

test('clients of Hugging Face', async () => {
    const at = async (name, body, status = 200) => JSON.parse((await exchange({ method: 'POST',
        path: `/models/${name}`, pattern: '/models/{name}', body: JSON.stringify(body),
        headers: TYPE }, status)).body);
    assert.equal((await rank('/', { inputs: LOG, parameters: { top_k: 2, truncate: true } }))[0].length,
        2);
    assert.equal(typeof (await at('vectors', { inputs: 'a' }))[0], 'number');
    await rank('/', { inputs: ['a', 'b'], normalize: true });
    await rank('/', { inputs: { source_sentence: 'a', sentences: ['b'] } });
    assert.equal((await rank('/', { inputs: { question: 'a', context: 'b c' } })).answer.length > 0, true);
    await at('answers', { inputs: [{ question: 'a', context: 'b c' }, { question: 'a', context: 'b' }],
        parameters: { top_k: 2, max_answer_len: 3, handle_impossible_answer: true } });
    await at('answers', { inputs: { question: 'a' } }, 422);
    assert.equal((await at('tags', { inputs: LOG, parameters: { ignore_labels: [], stride: 1 } }))[0].start, 0);
    await at('tags', { inputs: ['a', LOG], parameters: { aggregation_strategy: 'none' } });
    await at('tags', { inputs: 'a', parameters: { top_k: 2 } }, 422);
    assert.equal((await at('fills', { inputs: 'a [MASK] b' })).length, 5);
    await at('fills', { inputs: ['[MASK]', '[MASK] [MASK]'], parameters: { targets: ['a', 'the'] } });
    await at('fills', { inputs: 'a' }, 422);
    await at('sparse', { inputs: 'a' }, 422);
    await at('tags', { inputs: LOG, parameters: { aggregation_strategy: 'last' } }, 422);
    await at('any', { inputs: IMAGE, parameters: { candidate_labels: ['a', 'b'] } });
    await at('wafer-vit', { inputs: { image: IMAGE } });
    await at('none', { inputs: 'a' }, 404);
    await exchange({ method: 'POST', path: '/', body: PNG, headers: { 'Content-Type': 'image/png' } },
        200);
});

test('texts that are written, whole and token by token', async () => {
    const send = async (path, body, status = 200) => (await exchange({ method: 'POST', path,
        pattern: path.replace('writes', '{name}'), body: JSON.stringify(body), headers: TYPE }, status)).body;
    const events = async (path, body) => (await send(path, body)).trim().split('\n\n').map((event) =>
        JSON.parse(event.replace(/^(event: \w+\n)?data: /, '')));
    const parameters = { num_beams: 1, max_new_tokens: 5, details: true };
    const whole = JSON.parse(await send('/generate', { inputs: LOG, parameters }));
    assert.equal(face.ofSchema('TgiReply', whole), null);
    for (const [path, more] of [['/generate', { stream: true }], ['/generate_stream', {}],
        ['/models/writes', { stream: true }]]) {
        const told = await events(path, { inputs: LOG, parameters, ...more });
        assert.deepEqual(told.map((event) => face.ofSchema('TgiEvent', event)), told.map(() => null));
        assert.deepEqual(told.map(({ token }) => token), whole.details.tokens);
        assert.equal(told.at(-1).generated_text, whole.generated_text);
    }
    const own = await events('/predict', { text: LOG, model: 'writes', num_beams: 1, stream: true });
    assert.deepEqual(own.map((event) => face.ofSchema('StreamEvent', event)), own.map(() => null));
    for (const body of [{ inputs: LOG, stream: false }, { inputs: LOG, parameters: { num_beams: 2 } },
        { inputs: LOG, parameters: { do_sample: true } }])
        await send('/generate_stream', body, 422);
});

test('the Open Inference Protocol', async () => {
    const infer = async (name, body, status = 200) => exchange({ method: 'POST',
        path: `/v2/models/${name}/infer`, pattern: '/v2/models/{model}/infer',
        body: JSON.stringify(body), headers: TYPE }, status);
    const tensor = (name, data) => ({ name, shape: [data.length], datatype: 'BYTES', data });
    await infer('testlog-bert', { inputs: [tensor('text', ['a', LOG])], parameters: { truncate: true } });
    await infer('vectors', { inputs: [tensor('text', ['a'])], outputs: [{ name: 'embedding' }] });
    await infer('wafer-vit', { inputs: [tensor('image', [IMAGE])], outputs: [{ name: 'scores',
        parameters: { classification: 2 } }] });
    await infer('none', { inputs: [tensor('text', ['a'])] }, 404);
    await infer('testlog-bert', { inputs: [tensor('text', ['a', 'b', 'c', 'd'])] }, 413);
    await infer('testlog-bert', { inputs: [tensor('txt', ['a'])] }, 422);
    for (const path of ['/v2', '/v2/health/live', '/v2/health/ready', '/v2/models/stats'])
        await get(path);
    for (const [path, pattern] of [['', ''], ['/ready', '/ready'], ['/stats', '/stats']]) {
        await get(`/v2/models/ranks${path}`, 200, `/v2/models/{model}${pattern}`);
        await get(`/v2/models/ranks/versions/1${path}`, 200,
            `/v2/models/{model}/versions/{version}${pattern}`);
        await get(`/v2/models/none${path}`, 404, `/v2/models/{model}${pattern}`);
    }
    await exchange({ method: 'POST', path: '/v2/repository/index', body: '{}', headers: TYPE }, 200);
    await exchange({ method: 'POST', path: '/v2/repository/index', body: '5', headers: TYPE }, 422);
    await exchange({ method: 'POST', path: '/v2/repository/models/none/unload', body: '{}',
        pattern: '/v2/repository/models/{model}/unload', headers: TYPE }, 404);
    await exchange({ method: 'POST', path: '/v2/repository/models/none/load', body: '{}',
        pattern: '/v2/repository/models/{model}/load', headers: TYPE }, 422);
});

test('clients of TensorFlow Serving', async () => {
    const ask = async (name, body, status = 200) => exchange({ method: 'POST',
        path: `/v1/models/${name}:predict`, pattern: '/v1/models/{model}:predict',
        body: JSON.stringify(body), headers: TYPE }, status);
    await ask('testlog-bert', { instances: ['a', { text: LOG }] });
    await ask('wafer-vit', { instances: [{ b64: IMAGE }, { image: { b64: IMAGE } }] });
    await ask('vectors', { instances: ['a'], signature_name: 'serving_default' });
    await ask('none', { instances: ['a'] }, 404);
    await ask('vectors', { inputs: ['a'] }, 422);
});

test('lists of models of others', async () => {
    assert.equal(JSON.parse(await get('/v1/models')).object, 'list');
    await get('/v1/models/ranks', 200, '/v1/models/{model}');
    await get('/v1/models/none', 404, '/v1/models/{model}');
});

test('spans', async () => {
    const { spans } = await predict({ text: LOG, model: 'tags', aggregation: 'none' });
    assert.equal(spans[0].text, LOG.slice(spans[0].start, spans[0].end));
    await predictRaw('text/plain', LOG, 'model=tags&aggregation=average');
});

test('answers', async () => {
    const { answer, answers } = await predict({ text: LOG, question: 'Which pin?', model: 'answers',
        top_k: 2, doc_stride: 0, max_seq_len: 40, max_answer_len: 5, handle_impossible_answer: true,
        align_to_words: false });
    assert.deepEqual(answer, answers[0]);
    await predict({ inputs: [{ text: LOG, question: 'Which pin?' }], model: 'answers' });
});

test('words for masked tokens, and sparse vectors', async () => {
    const { predictions } = await predict({ text: 'die [MASK] and [MASK]', model: 'fills', top_k: 2 });
    assert.deepEqual(predictions.map((mask) => mask.length), [2, 2]);
    await exchange(post(JSON.stringify({ text: 'die', model: 'fills' })), 422);
    assert.ok((await predict({ text: 'die', model: 'sparse' })).sparse.length > 0);
});

test('a request that comes again', async () => {
    const send = (text, status) => exchange({ method: 'POST', path: '/predict',
        body: JSON.stringify({ text }), headers: { ...TYPE, 'Idempotency-Key': '"lot-7"' } }, status);
    const first = await send(LOG, 200), again = await send(LOG, 200);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal(again.body, first.body);
    await send('another text', 422);
});

test('vectors', async () => {
    const { embedding, dimensions } = await predict({ text: LOG, model: 'vectors',
        prompt_name: 'query' });
    const { chunks } = await predict({ text: 'a\n\nb', model: 'vectors', chunks: 'lines' });
    assert.equal(chunks[1].embedding, null);
    await exchange(post({ text: 'a', model: 'tags', chunks: 'lines' }), 422);
    assert.equal(embedding.length, dimensions);
    await predictRaw('text/plain', LOG, 'model=vectors&prompt_name=document');
    await embed({ input: LOG, model: 'vectors', user: 'me' });
    assert.equal((await embed({ input: ['a', 'b'], dimensions: 3 })).data[1].embedding.length, 3);
    assert.equal(typeof (await embed({ input: 'a', encoding_format: 'base64' })).data[0].embedding,
        'string');
    await embed('{', 400);
    await embed({ input: 'a', model: 'none' }, 404);
    await embed({ input: ['a', 'b', 'c', 'd'] }, 413);
    await embed({ input: [1, 2] }, 422);
    await embed({ input: 'a', model: 'testlog-bert' }, 422);
});

test('a text', async () => {
    await predict({ text: LOG });
    await predict({ text: LOG, model: 'testlog-bert', top_k: 'all', id: 'one', deadline_ms: 60000,
        context: { lot: 'A1', wafer: 3, die_x: -1, die_y: 0.5, tool: null, chamber: '', recipe: 'é',
            step: 'etch' } });
    assert.equal((await predict({ text: `${LOG} `.repeat(300) })).truncated, true);
    assert.notEqual((await predict({ text: 'Kaffee und Kuchen am Nachmittag' })).decision, 'auto');
});

test('an image', async () => {
    await predict({ image: IMAGE, top_k: 3 });
    await predict({ image: `data:image/jpeg;base64,${JPEG.toString('base64')}` });
    const coded = await predict({ image: IMAGE, model: 'coded', top_k: 'all' });
    assert.deepEqual(new Set(coded.predictions.map(({ class_code: code }) => typeof code)),
        new Set(['number', 'string']));
});

test('lines, one of them bad', async () => {
    const lines = [{ text: LOG, id: 'first' }, { text: '' }, { image: IMAGE }, { text: LOG }];
    const { body } = await exchange({ method: 'POST', path: '/predict?top_k=2&context.lot=A1',
        pattern: '/predict', headers: { 'Content-Type': 'application/x-ndjson' },
        body: lines.map((line) => JSON.stringify(line)).join('\n') }, 200);
    const answers = body.trimEnd().split('\n').map((line) => JSON.parse(line));
    for (const answer of answers)
        assert.equal(face.ofSchema('AnswerLine', answer), null, JSON.stringify(answer));
    assert.deepEqual(answers.map(({ index }) => index), [0, 1, 2, 3]);
    assert.deepEqual(answers.map(({ status }) => status), [undefined, 422, undefined, undefined]);
});

test('several inputs, one of them bad', async () => {
    const { results } = await predict({ explain: true, id: 'all', context: { lot: 'A1' }, inputs: [
        { text: LOG, id: 'first', context: { wafer: 4 } }, { image: 'no image', id: 'second' },
        { image: IMAGE, context: { wafer: 5 } }] });
    assert.deepEqual(results.map(({ status }) => status), [undefined, 422, undefined]);
});

for (const explain of [true, ...METHODS])
    test(`explain: ${explain}`, async () => {
        const more = { explain, attention_stats: true };
        const { explanation } = await predict({ text: LOG, ...more });
        assert.ok(explanation.words.length > 0);
        const image = await predict({ image: IMAGE, overlay: true, ...more });
        assert.ok(image.explanation.overlay.length > 0);
        if (explain === 'rollout' || explain === 'attention')
            await predict({ text: LOG, explain, explain_layer: 1 });
    });

test('a text that is longer than the model, in windows and cut', async () => {
    const text = LOG.repeat(40);
    const { windows, truncated, explanation } = await predict({ text, long_text: 'windows', explain: true });
    assert.ok(windows > 1 && truncated === undefined);
    assert.ok(explanation.words.at(-1).end > text.length - 20);
    assert.equal((await predict({ text, long_text: 'truncate' })).truncated, true);
    await predictRaw('text/plain', text, 'long_text=windows');
    await predictRaw('text/plain', text, 'long_text=no', 422);
});

test('labels that come with a picture', async () => {
    const any = { image: IMAGE, model: 'any' };
    const labels = ['a ring', 'a scratch', 'no defect'];
    const { predictions } = await predict({ ...any, candidate_labels: labels, top_k: 'all',
        hypothesis_template: 'a map with {}', explain: true });
    assert.deepEqual(predictions.map(({ label }) => label).sort(), labels);
    await predict({ inputs: [{ image: IMAGE }], model: 'any', candidate_labels: ['a'] });
    for (const wrong of [{ candidate_labels: [] }, { candidate_labels: 'a' },
        { candidate_labels: ['a', 'a'] }, { candidate_labels: [''] },
        { hypothesis_template: 'a {}' },
        { candidate_labels: ['a'], hypothesis_template: 'a' }])
        await predict({ ...any, ...wrong }, 422);
    await predictRaw('image/png', PNG,
        'model=any&candidate_labels=a&candidate_labels=b%20c&hypothesis_template=%7B%7D');
});

test('two texts together', async () => {
    const { explanation } = await predict({ text: LOG, text_pair: 'and what came before', explain: true });
    assert.equal(explanation.words.at(-1).of, 'text_pair');
    assert.equal(explanation.words[0].of, undefined);
    await predict({ inputs: [{ text: LOG, text_pair: 'a' }, { text: LOG, text_pair: '' }] });
    await predict({ text_pair: 'alone' }, 422);
    await predict({ image: IMAGE, text_pair: 'a' }, 422);
});

test('raw bodies with options in the query', async () => {
    const context = 'context.lot=A1&context.die_x=3&context.step=etch';
    await predictRaw('image/png', PNG, `top_k=all&id=raw&model=wafer-vit&${context}`);
    await predictRaw('image/jpeg', JPEG, 'explain=true&overlay=true&attention_stats=false');
    await predictRaw('image/bmp', BMP, 'top_k=2');
    const { results } = await predictRaw('application/x-stdf', LOT, 'explain=true&context.tool=P12');
    assert.deepEqual(results.map(({ id }) => id), ['W01', 'W02', 'W03']);
    await predictRaw('text/plain', LOG, 'explain=rollout&explain_layer=1&deadline_ms=60000');
    await predictRaw('text/plain', gzipSync(LOG), '', 200, { 'Content-Encoding': 'gzip' });
    for (const query of ['top_k=0', 'explain=nothing', 'explain_layer=0', 'overlay=1', 'tops=1',
        'context.lots=A1', `id=${'x'.repeat(129)}`, 'deadline_ms=86400001'])
        await predictRaw('text/plain', LOG, query, 422);
});

/* The server refuses every request that the document forbids: the limits of both are the same. */
test('requests that neither document nor server allow', async () => {
    const long = (bytes) => 'x'.repeat(bytes);
    for (const body of [{}, [], 5, 'text', { text: 5 }, { text: '' }, { image: '' }, { inputs: [] },
        { text: LOG, image: IMAGE }, { text: LOG, inputs: [{ text: LOG }] }, { texts: LOG },
        { text: LOG, top_k: 0 }, { text: LOG, top_k: 1.5 }, { text: LOG, top_k: 'some' },
        { text: LOG, explain: 'nothing' }, { text: LOG, explain: 1 },
        { text: LOG, explain_layer: 1 }, { text: LOG, explain: true, explain_layer: 1001 },
        { text: LOG, deadline_ms: 0 }, { text: LOG, deadline_ms: 86400001 },
        { text: LOG, overlay: 'true' }, { text: LOG, id: long(129) }, { text: LOG, id: 'a\u0001' },
        { text: LOG, id: '\u0085' }, { text: LOG, model: long(65) }, { text: LOG, model: 7 },
        { text: LOG, context: { lots: 'A1' } }, { text: LOG, context: { lot: long(65) } },
        { text: LOG, context: { lot: true } }, { text: LOG, context: [] }])
        await predict(body, 422);
    const inputs = Array.from({ length: INPUTS_MAX + 1 }, () => ({ text: LOG }));
    await predict({ inputs }, 413);
    for (const item of [{ text: LOG, top_k: 1 }, { text: LOG, image: IMAGE }, {}, { id: 'x' }]) {
        assert.notEqual(face.requestFaults({ type: JSON_TYPE, body: { inputs: [item] } }), null);
        const { body } = await exchange(post({ inputs: [item] }), 200);
        assert.equal(JSON.parse(body).results[0].status, 422);
    }
});

test('values at a limit are allowed by both', async () => {
    await predict({ text: LOG, id: 'x'.repeat(128), top_k: 1000000, deadline_ms: 86400000,
        context: { lot: 'x'.repeat(64) } });
    await predict({ inputs: Array.from({ length: INPUTS_MAX }, () => ({ text: LOG })) });
});

test('refusals of a prediction', async () => {
    await exchange(post('{"text":'), 400);
    await exchange({ path: '/predict', method: 'PUT', as: 'POST' }, 405);
    await exchange(post({ text: LOG, model: 'none' }), 404);
    await exchange(post(`{"text": "${'x'.repeat(BODY_BYTES_MAX)}"}`), 413);
    await exchange(post(LOG, { 'Content-Type': 'text/html' }), 415);
    await exchange(post(LOG, { 'Content-Encoding': 'br' }), 415);
    await exchange({ raw: 'POST /predict HTTP/1.1\r\nHost: h\r\n\r\n', path: '/predict',
        method: 'POST' }, 411);
    await exchange({ raw: 'POST /predict HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{',
        path: '/predict', method: 'POST' }, 408);
    await exchange({ raw: 'POST /predict HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n' +
        'Content-Length: 8\r\n\r\n{', path: '/predict', method: 'POST' }, 400);
});

test('a full queue and a deadline', async () => {
    const inputs = Array.from({ length: INPUTS_MAX }, () => ({ image: IMAGE }));
    const busy = post({ inputs, explain: 'gradient' });
    await until(429, 24, busy, [200]);
    const late = post({ image: IMAGE, explain: 'gradient', deadline_ms: 1 });
    await until(504, 3, late, [200]);
});

test('what is served, and its state', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/models', '/', '/openapi.json'])
        await exchange({ path }, 200);
    for (const name of ['wafer-vit', 'kernel-bert', 'testlog-bert', 'coded'])
        await exchange({ path: `/models/${name}`, pattern: '/models/{name}' }, 200);
    await exchange({ path: '/models/none', pattern: '/models/{name}' }, 404);
    await exchange({ path: '/models', method: 'POST', as: 'GET' }, 405);
    await exchange({ path: '/ui/app.js', pattern: '/ui/{file}' }, 200);
    await exchange({ path: '/ui/none', pattern: '/ui/{file}' }, 404);
    for (const path of ['/', '/openapi.json']) {
        const { headers } = await exchange({ path }, 200);
        await exchange({ path, headers: { 'If-None-Match': headers.etag } }, 304);
    }
});

test('a reload, and who may not ask for one', async () => {
    const reload = { method: 'POST', path: '/admin/reload' };
    await exchange(reload, 200);
    await until(409, 8, reload, [200]);
    for (const headers of [{ Origin: 'http://attnd.example' }, { Origin: 'null' },
        { Host: 'attnd.example' }, { Via: '1.1 proxy' }])
        await exchange({ ...reload, headers }, 403);
    await exchange({ ...reload, headers: { 'Content-Type': 'text/plain' } }, 415);
    await exchange({ ...reload, body: 'x'.repeat(4097) }, 413);
    writeFileSync(join(folder, 'attnd.json'), '{"version": 5}');
    await exchange(reload, 422);
});

test('a server with keys, whose document tells which operation needs one', async () => {
    const keys = join(folder, 'keys.txt'), without = server;
    const hash = createHash('sha256').update('k').digest('hex');
    writeFileSync(keys, `sha256:${hash} ours predict rate=0.01/s\n`);
    server = await startServer([...MODELS, '--keys-file', keys]);
    try {
        const { paths } = (await Interface.of(server.url)).document;
        assert.deepEqual(paths['/predict'].post.security, [{ key: ['predict'] }]);
        assert.equal(paths['/readyz'].get.security, undefined);
        const Authorization = 'Bearer k';
        await exchange(post({ text: LOG }), 401);
        await exchange({ path: '/metrics', headers: { Authorization } }, 403);
        await exchange({ path: '/admin/reload', method: 'POST' }, 401);
        await exchange(post({ text: LOG }, { Authorization }), 200);
        await exchange(post({ text: LOG }, { Authorization }), 429);
        writeFileSync(keys, `sha256:${hash} ours metrics\n`);
        server.reload();
        await until(403, 24, post({ text: LOG }, { Authorization }), [429]);
    } finally {
        await server.stop();
        server = without;
    }
});

test('labels: what the document allows is taken, and what it forbids is not', async () => {
    const feedback = { method: 'POST', path: '/feedback' };
    const give = async (body, status, headers = {}) => {
        const faults = face.ofSchema('FeedbackRequest', body);
        assert.equal(faults === null, status === 200 || status === 404,
            `${JSON.stringify(body)}: ${faults}`);
        return JSON.parse((await exchange({ ...feedback, body: JSON.stringify(body),
            headers: { 'Content-Type': JSON_TYPE, ...headers } }, status)).body);
    };
    const remove = { method: 'DELETE', path: '/feedback/die-7', pattern: '/feedback/{id}' };
    const { label } = await predict({ text: LOG, id: 'die-7', model: 'kernel-bert' });
    await give({ id: 'die-7', label, index: 0, source: 'Anna', new: false }, 200);
    const { results } = await give({ feedback: [{ id: 'die-7', label: 'unheard of', new: true },
        { id: 'die-6', label }] }, 200);
    assert.equal(results[0].replaced, label);
    assert.equal(results[1].status, 404);
    await give({ id: 'die-6', label }, 404);
    for (const body of [{ id: 'die-7' }, { id: '', label }, { id: 'die-7', label, index: -1 },
        { id: 'die-7', label, index: 65536 }, { id: 'die-7', label, source: 'x'.repeat(65) },
        { id: 'die-7', label: '\u0085' }, { id: 'die-7', label, lable: 1 }, { feedback: [] },
        { feedback: [{ id: 'die-7', label }], id: 'die-7' }])
        await give(body, 422);
    await give({ feedback: Array(INPUTS_MAX + 1).fill({ id: 'die-7', label }) }, 413);
    await exchange({ ...feedback, body: '{', headers: { 'Content-Type': JSON_TYPE } }, 400);
    await exchange({ ...feedback, body: 'x', headers: { 'Content-Type': 'text/plain' } }, 415);
    await exchange({ ...feedback, body: '{}', headers: { Via: '1.1 proxy' } }, 403);
    await exchange({ path: '/models/kernel-bert?confusion=true', pattern: '/models/{name}' }, 200);
    await exchange({ ...remove, headers: { Origin: 'null' } }, 403);
    await exchange({ ...remove, path: '/feedback/die-7?index=x' }, 422);
    await exchange({ ...remove, path: '/feedback/die-7?index=0' }, 200);
    await exchange(remove, 404);
    const named = { method: 'DELETE', path: '/feedback?id=lot%2F7', pattern: '/feedback' };
    await exchange(named, 404);
    await predict({ text: LOG, id: 'lot/7', model: 'kernel-bert' });
    await give({ id: 'lot/7', label }, 200);
    await exchange(named, 200);
    await exchange({ ...named, path: '/feedback' }, 422);
});

test('inputs that are kept', async () => {
    await predict({ text: LOG, id: 'kept-1', model: 'kernel-bert', context: { lot: 'A1' } });
    let found;
    do
        found = JSON.parse((await exchange({ path: '/review?limit=1', pattern: '/review' }, 200)).body);
    while (found.inputs[0]?.id !== 'kept-1');
    const one = { path: '/review/kept-1?index=0', pattern: '/review/{id}' };
    assert.equal((await exchange(one, 200)).body.toString(), LOG);
    await exchange({ path: `/review?decision=unknown&before=${found.next}`, pattern: '/review' }, 200);
    await exchange({ path: '/review?limit=101', pattern: '/review' }, 422);
    await exchange({ path: '/review?limt=1', pattern: '/review' }, 422);
    await exchange({ ...one, path: '/review/kept-1?index=1' }, 404);
    const named = { path: '/review/input?id=kept-1', pattern: '/review/input' };
    assert.equal((await exchange(named, 200)).body.toString(), LOG);
    await exchange({ ...named, path: '/review/input?id=kept%2F1' }, 404);
    await exchange({ ...named, path: '/review/input' }, 422);
    const groups = { path: '/review/groups?model=kernel-bert&decision=any&limit=2',
        pattern: '/review/groups' };
    const { groups: all } = JSON.parse((await exchange(groups, 200)).body);
    assert.ok(all.every(({ items }) => items.length > 0));
    await exchange({ ...groups, path: '/review/groups?model=nobody' }, 404);
    await exchange({ ...groups, path: '/review/groups?model=kernel-bert&limit=51' }, 422);
    await exchange({ ...groups, path: '/review/groups?decision=any' }, 422);
    await exchange({ ...one, path: '/review/kept-1?index=x' }, 422);
    await exchange({ ...one, headers: { Via: '1.1 proxy' } }, 403);
});

test('right texts, and texts that are kept', async () => {
    const give = (body, status) => exchange({ method: 'POST', path: '/feedback',
        body: JSON.stringify(body), headers: TYPE }, status);
    const allowed = (body) => face.ofSchema('FeedbackRequest', body) === null;
    const { output } = await predict({ text: LOG, id: 'text-1', model: 'texts', num_beams: 1 });
    await predict({ text: LOG, id: 'text-2', model: 'texts', pattern: '[A-Z0-9]{6}',
        checksum: 'semi-m13' });
    for (const body of [{ id: 'text-1', output }, { id: 'text-1', output: '' },
        { id: 'text-2', output: 'a\r\n\tb', source: 'Anna', index: 0 }]) {
        assert.ok(allowed(body));
        await give(body, 200);
    }
    for (const body of [{ id: 'text-1', output, label: 'x' }, { id: 'text-1', output: 7 },
        { id: 'text-1', output: 'x'.repeat(4097) }, { id: 'text-1', output: 'a\u0007' }]) {
        assert.ok(!allowed(body), JSON.stringify(body));
        await give(body, 422);
    }
    await give({ id: 'text-1', label: 'x' }, 422); // which only the server knows
    await exchange({ path: '/models/texts?confusion=true', pattern: '/models/{name}' }, 200);
    const list = { path: '/review?model=texts&limit=2', pattern: '/review' };
    let found;
    do
        found = JSON.parse((await exchange(list, 200)).body).inputs;
    while (found.length < 2);
    assert.deepEqual(found.map((one) => [one.id, one.right_output]).sort(),
        [['text-1', ''], ['text-2', 'a\r\n\tb']]);
    await exchange({ method: 'DELETE', path: '/feedback/text-2', pattern: '/feedback/{id}' }, 200);
    await exchange({ path: '/review/groups?model=texts', pattern: '/review/groups' }, 422);
    await exchange({ ...list, path: '/review?model=' }, 422);
});

/** A tiny model that carries examples of its labels, since attnd-fit made it. */
function modelWithExamples() {
    const words = { POWER: 'voltage', TIMING: 'late', SCAN: 'chain' };
    const lines = Object.entries(words).flatMap(([label, word]) => [0, 1, 2, 3, 4, 5, 6, 7].map((i) =>
        JSON.stringify({ text: `${word} ${word} at ${i}`, label })));
    writeFileSync(join(state, 'list.jsonl'), lines.join('\n'));
    execFileSync(`${ROOT}${BUILD}/attnd-fit`, ['--model', `${ROOT}tests/data/golden/bert-5`,
        '--data', join(state, 'list.jsonl'), '--out', join(state, 'tiny'), '--loss-max', '100',
        '--quiet'], { stdio: 'ignore' });
    return join(state, 'tiny');
}

test('fits', async () => {
    const without = server;
    const path = '/admin/fits', one = { path: `${path}/1`, pattern: `${path}/{fit}` };
    const fit = (body, status) => exchange({ method: 'POST', path, body: JSON.stringify(body),
        headers: TYPE }, status);
    mkdirSync(join(state, 'root'));
    server = await startServer(['--model', `tiny=${modelWithExamples()}`, '--models-root',
        join(state, 'root'), '--state-dir', join(state, 'fits'), '--keep-inputs-bytes', '1000000',
        '--keep-inputs-share', '1']);
    try {
        await exchange({ path }, 200);
        await exchange(one, 404);
        await fit({ name: 'tiny' }, 409);
        await fit({ name: 'none' }, 404);
        await fit({ name: 'tiny', prior: 'file' }, 422);
        for (let i = 0; i < 10; i++) {
            const id = `die-${i}`;
            await exchange(post({ text: `hot hot at ${i}`, id }), 200);
            await exchange({ method: 'POST', path: '/feedback', headers: TYPE,
                body: JSON.stringify({ id, label: 'LEAK', new: true }) }, 200);
        }
        let kept;
        do /* inputs are kept after their replies */
            kept = JSON.parse((await ask(server.url, { path: '/review' })).body).inputs;
        while (kept.length < 10);
        const made = await ask(server.url, { method: 'POST', path, headers: TYPE, body: JSON.stringify(
            { name: 'tiny', version: 'b', loss_max: 100, shadow: 0.5, reason: 'x' }) });
        assert.equal(made.status, 202);
        assert.equal(made.headers.location, `${path}/1`);
        let reply;
        do
            reply = JSON.parse((await exchange(one, 200)).body);
        while (reply.state === 'queued' || reply.state === 'running');
        assert.equal(reply.state, 'succeeded', JSON.stringify(reply));
        assert.ok(reply.report.after.accuracy > 0);
        await exchange({ path }, 200);
        await exchange({ path: `${path}/1/report`, pattern: `${path}/{fit}/report` }, 200);
        await exchange({ ...one, method: 'DELETE' }, 200);
        await exchange({ ...one, method: 'DELETE' }, 404);
        await exchange({ path, headers: { Via: '1.1 proxy' } }, 403);
    } finally {
        await server.stop();
        server = without;
    }
});

/* Otherwise the checks above would say nothing of members that nobody wrote down. */
test('a member that the document does not know is a fault', () => {
    let changes = 0;
    for (const [schema, body] of bodies)
        for (const changed of withMember(body)) {
            assert.notEqual(face.faults(schema, changed), null, JSON.stringify(changed));
            changes++;
        }
    assert.ok(changes > 300, `only ${changes}`);
});

test('a server that drains', async () => {
    const ended = server.stop();
    while (!face.seen.has('GET /readyz 503')) { // which fails once the server has ended
        const reply = await ask(server.url, { path: '/readyz' });
        face.checkReply({ method: 'GET', pattern: '/readyz' }, reply);
    }
    server = null;
    assert.equal(await ended, 0);
    assert.ok(face.seen.has('GET /readyz 503'));
});

/* All statuses except those that a healthy server does not give (memory that fails, a stop in the
 * middle), and 409 of a request that comes again while the first is answered. */
test('every reply of a prediction and of a reload was seen', (t) => {
    const rare = { '/predict': ['409', '500', '503'],
        '/admin/reload': ['400', '405', '408', '429', '500', '503'] };
    for (const [pattern, without] of Object.entries(rare))
        for (const status of Object.keys(face.document.paths[pattern].post.responses))
            assert.ok(without.includes(status) || face.seen.has(`POST ${pattern} ${status}`),
                `${pattern} ${status} was never seen`);
    t.diagnostic(`${face.replies} replies and ${face.requests} requests, ` +
        `${JSON.stringify(face.document).length} bytes of document`);
});
