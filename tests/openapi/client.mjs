/* Requests with whatever headers a test wants, which fetch does not let through. */
import http from 'node:http';
import net from 'node:net';

/** @returns {Promise<{status: number, headers: object, body: string}>} */
export function ask(url, { method = 'GET', path, headers = {}, body }) {
    return new Promise((resolve, reject) => {
        const length = { 'Content-Length': Buffer.byteLength(body ?? '') };
        const request = http.request(url + path, { method, agent: false,
            headers: method === 'POST' ? { ...length, ...headers } : headers });
        request.on('error', reject).on('response', (response) => {
            const pieces = [];
            response.on('error', reject).on('data', (piece) => pieces.push(piece)).on('end', () =>
                resolve({ status: response.statusCode, headers: response.headers,
                    body: Buffer.concat(pieces).toString() }));
        });
        request.end(body);
    });
}

/** The same for bytes as they are; the server is the one that closes. */
export function askRaw(url, bytes) {
    return new Promise((resolve, reject) => {
        const { hostname, port } = new URL(url);
        const socket = net.connect(Number(port), hostname, () => socket.write(bytes));
        let text = '';
        socket.setEncoding('utf8').on('data', (piece) => { text += piece; });
        socket.on('error', reject).on('close', () => {
            const [head, ...rest] = text.split('\r\n\r\n');
            const [first, ...lines] = head.split('\r\n');
            const fields = lines.map((line) => /^([^:]*):\s*(.*)$/.exec(line).slice(1));
            resolve({ status: Number(first.split(' ')[1]), body: rest.join('\r\n\r\n'),
                headers: Object.fromEntries(fields.map(([name, value]) =>
                    [name.toLowerCase(), value])) });
        });
    });
}
