/* An attnd on a free port, for the tests that are written for node.
 *
 *     const server = await startServer();
 *     await fetch(`${server.url}/models`);
 *     await server.stop();
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const BUILD = process.env.BUILD ?? 'build';
const PROGRAM = process.env.ATTND ?? `${ROOT}${BUILD}/attnd`;

export const MODELS = ['--model', 'wafer-vit=models/wafer-vit',
    '--model', 'kernel-bert=models/kernel-bert', '--model', 'testlog-bert=models/testlog-bert'];

/* The longest time until a server answers, or has ended. */
const PATIENCE_MS = 120000;

function inTime(promise, what) {
    let timer;
    const late = new Promise((_, fail) => {
        timer = setTimeout(() => fail(new Error(`${what}: not in ${PATIENCE_MS} ms`)), PATIENCE_MS);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** The line that attnd prints when it is ready. */
function readyLine(child) {
    return new Promise((resolve, reject) => {
        let text = '';
        child.stdout.setEncoding('utf8').on('data', (piece) => {
            text += piece;
            if (text.includes('\n'))
                resolve(text);
        });
        child.once('error', reject);
        child.once('exit', (code) => reject(new Error(`attnd ended with ${code}`)));
    });
}

/**
 * @param {string[]} options
 * @param {number} port  0: any free one
 * @returns {Promise<{url: string, port: number, reload: () => boolean,
 *     stop: () => Promise<number>}>}
 *     stop ends this very process and tells its exit code
 */
export async function startServer(options = MODELS, port = 0) {
    const child = spawn(PROGRAM, ['--listen', `127.0.0.1:${port}`, ...options],
        { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const url = /http:\/\/127\.0\.0\.1:(\d+)/.exec(await inTime(readyLine(child), 'attnd'));
    return { url: url[0], port: Number(url[1]),
        reload: () => child.kill('SIGHUP'),
        stop: () => {
            child.kill('SIGTERM');
            return inTime(ended, 'the end of attnd');
        } };
}
