/* A text/event-stream that answers a POST, for which browsers have no EventSource (HTML, 9.2:
 * server-sent events). */
/** Whether a response is one. @param {Response} response */
export function isStream(response) {
    return /^text\/event-stream\b/.test(response.headers.get('Content-Type') ?? '');
}

/**
 * Lines of a stream of text, without what ends them: CR, LF or both. What has no end is no line.
 *
 * @param {ReadableStream<string>} stream
 */
async function* linesOf(stream) {
    const reader = stream.getReader();
    let rest = '';
    let isAfterCr = false; // the piece may begin with the LF of the line before
    try {
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
            const piece = isAfterCr && read.value.startsWith('\n') ? read.value.slice(1)
                : read.value;
            isAfterCr = read.value.endsWith('\r');
            const lines = (rest + piece).split(/\r\n|\n|\r/);
            rest = lines.pop();
            yield* lines;
        }
    } finally {
        reader.cancel().catch(() => {}); // who stops reading wants no more of it
    }
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<{event: string, data: string}>}
 */
export async function* eventsOf(body) {
    let event = 'message';
    let data = [];
    for await (const line of linesOf(body.pipeThrough(new TextDecoderStream()))) {
        const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
        if (line === '') {
            if (data.length > 0)
                yield { event, data: data.join('\n') };
            event = 'message';
            data = [];
        } else if (name === 'event')
            event = value;
        else if (name === 'data')
            data.push(value);
    }
}
