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
    try {
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
            const text = rest + read.value;
            const isSplit = text.endsWith('\r'); // the next piece may begin with its LF
            const lines = (isSplit ? text.slice(0, -1) : text).split(/\r\n|\n|\r/);
            rest = lines.pop() + (isSplit ? '\r' : '');
            yield* lines;
        }
        if (rest.endsWith('\r'))
            yield rest.slice(0, -1);
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
