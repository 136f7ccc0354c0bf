/* Asks an attnd server for an image and a text. Node 18 or later, no packages.
 *
 *     node attnd-client.mjs wafer.png fail.log
 *
 * ATTND_URL            the server, http://127.0.0.1:8080 by default
 * ATTND_KEY            the key, if the server has keys
 * NODE_EXTRA_CA_CERTS  PEM file of the authority that signed the server's certificate, with https.
 *                      Node reads it when it starts, so a program cannot set it for itself.
 */
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const TRIES = 5;
const WAIT_S_MAX = 60;
const MEDIA_TYPES = { '.png': 'image/png', '.jpg': 'image/jpeg', '.jpeg': 'image/jpeg',
    '.bmp': 'image/bmp' };

/** A refusal: attnd answers with application/problem+json (RFC 9457). */
class Problem extends Error {
    constructor(status, body) {
        let said = {};
        try {
            said = JSON.parse(body);
        } catch {
            /* a proxy may answer in its own words */
        }
        super(`${status} ${said.title ?? 'HTTP error'}: ${said.detail ?? body.slice(0, 200)}`);
        this.status = status;
        this.detail = said.detail;
    }
}

class Client {
    constructor(url, key) {
        this.url = url.replace(/\/$/, '');
        this.headers = key ? { Authorization: `Bearer ${key}` } : {};
    }

    /** Waits and asks again while the server is busy (429) or not ready (503). */
    async post(path, body, mediaType) {
        for (let left = TRIES - 1; ; left--) {
            const reply = await fetch(this.url + path, { method: 'POST', body,
                headers: { ...this.headers, 'Content-Type': mediaType },
                signal: AbortSignal.timeout(30000) });
            if (reply.ok)
                return reply.json();
            if (![429, 503].includes(reply.status) || left === 0)
                throw new Problem(reply.status, await reply.text());
            await reply.arrayBuffer();
            const wait = Math.min(Number(reply.headers.get('Retry-After') ?? 1), WAIT_S_MAX);
            console.error(`the server is busy (${reply.status}), again in ${wait} s`);
            await sleep(wait * 1000);
        }
    }

    /** The bytes of a file: a picture by its name, all else as a text in UTF-8. */
    async predict(path) {
        const type = MEDIA_TYPES[extname(path).toLowerCase()] ?? 'text/plain; charset=utf-8';
        return this.post('/predict', await readFile(path), type);
    }
}

const client = new Client(process.env.ATTND_URL ?? 'http://127.0.0.1:8080', process.env.ATTND_KEY);
for (const path of process.argv.slice(2)) {
    try {
        const answer = await client.predict(path);
        console.log(`${path}: ${answer.label} ${answer.score.toFixed(4)} ${answer.decision}`);
    } catch (failed) {
        console.error(`${path}: ${failed.cause?.message ?? failed.message}`);
        process.exitCode = 1;
    }
}
