/* The module clients/js: its methods against a server, its retries against replies that a test
 * gives. */
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, before, test } from 'node:test';
import { AttndError, Client } from '../../clients/js/attnd.mjs';
import { BUILD, ROOT, startServer } from '../support/server.mjs';

const PNG = readFileSync(`${ROOT}tests/data/examples/wafer_map.png`);

let server, attnd, past;

before(async () => {
    past = mkdtempSync(`${tmpdir()}/attnd-js-`);
    writeFileSync(`${past}/past.jsonl`, ['leakage at pin 3', 'scan chain 7 is broken'].map((text, i) =>
        `${JSON.stringify({ id: `case${i}`, text, label: 'seen' })}\n`).join(''));
    execFileSync(`${ROOT}${BUILD}/attnd-index`, ['build', '--model', `${ROOT}tests/data/embedding/st-bert-0`,
        '--data', `${past}/past.jsonl`, '--out', `${past}/past.index`], { stdio: 'ignore' });
    server = await startServer(['--model', 'text=tests/data/golden/bert-3', '--model',
        'wafer=models/wafer-vit', '--model',
        `vectors=tests/data/embedding/st-bert-0,index=${past}/past.index`, '--model',
        'ranks=tests/data/rerank/rerank-bert-0', '--inputs-max', '4']);
    attnd = new Client(server.url);
});
after(async () => {
    await server?.stop();
    rmSync(past, { recursive: true });
});

async function all(lines) {
    const list = [];
    for await (const line of lines)
        list.push(line);
    return list;
}

test('a text, a picture and a lot', async () => {
    const answer = await attnd.predict('scan', { id: 'one', top_k: 2, context: { lot: 'A1' } });
    assert.equal(answer.id, 'one');
    assert.equal(answer.predictions.length, 2);
    assert.equal((await attnd.predict(PNG)).label, 'Scratch');
    assert.equal((await attnd.predict(new Blob([PNG]))).label, 'Scratch');
    const lot = await attnd.predictLot(readFileSync(`${ROOT}tests/data/examples/lot.stdf`),
        { context: { tool: 'P' } });
    assert.deepEqual(lot.map(({ id }) => id), ['W01', 'W02', 'W03']);
});

test('lists are cut to what the server takes', async () => {
    const texts = Array.from({ length: 11 }, (_, i) => `leakage at pin ${i}`);
    const results = await attnd.predictMany([...texts, '', PNG]);
    assert.equal(results.length, 13);
    assert.equal(results[11].error_type, 'unusable');
    const vectors = await attnd.embed(texts, { model: 'vectors', dimensions: 3 });
    assert.deepEqual(vectors.map(({ length }) => length), Array(11).fill(3));
    const ranked = await attnd.rerank('leakage', texts, { topN: 5 });
    assert.equal(ranked.length, 5);
    assert.ok(ranked.every(({ score }, i) => i === 0 || score <= ranked[i - 1].score));
});

test('past cases, the nearest first', async () => {
    const found = await attnd.similar('scan chain 7 is broken', { k: 2, model: 'vectors' });
    assert.deepEqual(found.map(({ id, label }) => [id, label]), [['case1', 'seen'], ['case0', 'seen']]);
    assert.equal((await attnd.similar({ text: 'pin 3' }, { k: 1, model: 'vectors' })).length, 1);
});

test('lines in their order', async () => {
    const given = Array.from({ length: 100 }, (_, i) => ({ text: `pin ${i}`, id: `x${i}` }));
    const lines = await all(attnd.predictLines([...given, ''], { top_k: 2, context: { lot: 'A' } }));
    assert.deepEqual(lines.map(({ index }) => index), Array.from({ length: 101 }, (_, i) => i));
    assert.equal(lines[99].id, 'x99');
    assert.equal(lines[100].status, 422);
    assert.deepEqual(lines[0].context, { lot: 'A' });
    for await (const line of attnd.predictLines(Array(3000).fill('scan'))) {
        assert.equal(line.index, 0);
        break;
    }
});

test('models, readiness, feedback and refusals', async () => {
    assert.equal((await attnd.models()).length, 4);
    assert.equal(await attnd.ready(), true);
    assert.equal(await new Client('http://127.0.0.1:9').ready(), false);
    const { label } = await attnd.predict('scan', { id: 'told' });
    assert.equal((await attnd.feedback('told', label)).correct, true);
    await assert.rejects(attnd.predict('', {}), (error) =>
        error instanceof AttndError && error.status === 422 && error.errorType === 'unusable');
    await assert.rejects(attnd.embed('a', { model: 'none' }), { status: 404 });
});

/* ---- retries ---- */

function scripted(...replies) {
    const asked = [], slept = [];
    const client = new Client('http://server', {
        fetch: async (url, { body }) => {
            asked.push(body);
            const reply = replies.shift();
            if (reply instanceof Error)
                throw reply;
            return reply;
        },
        sleep: async (seconds) => slept.push(seconds) });
    return { client, asked, slept };
}

function busy(status, after) {
    return new Response('{}', { status, headers: after ? { 'Retry-After': after } : {} });
}

function lines(...list) {
    return new Response(list.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

test('a busy server is asked again when it says', async () => {
    const { client, slept, asked } = scripted(busy(429, '7'), busy(503), new Error('broken'),
        Response.json?.({ label: 'scan' }) ?? new Response('{"label":"scan"}'));
    assert.equal((await client.predict('a')).label, 'scan');
    assert.equal(slept[0], 7);
    assert.ok(slept.every((seconds) => seconds > 0 && seconds <= 60));
    assert.equal(new Set(asked).size, 1);
});

test('waits and tries are bounded', async () => {
    const { client, slept } = scripted(...Array.from({ length: 5 }, () => busy(429, '4000')));
    await assert.rejects(client.predict('a'), { status: 429 });
    assert.deepEqual(slept, [60, 60, 60, 60]);
});

test('feedback is not sent twice after a connection that broke', async () => {
    await assert.rejects(scripted(new Error('broken')).client.feedback('one', 'scan'), /broken/);
});

test('lines of a busy server are sent again', async () => {
    const { client, asked } = scripted(
        lines({ index: 0, label: 'a' }, { index: 1, status: 429 }, { index: 2, label: 'c' }),
        lines({ index: 0, label: 'b' }));
    assert.deepEqual((await all(client.predictLines(['a', 'b', 'c'])))
        .map(({ index, label }) => [index, label]), [[0, 'a'], [2, 'c'], [1, 'b']]);
    assert.equal(asked[1], '{"text":"b"}');
});

test('a list that never becomes whole is an error', async () => {
    const { client } = scripted(...Array.from({ length: 5 }, () => lines()));
    await assert.rejects(all(client.predictLines(['a'])), /before its last answer/);
});
