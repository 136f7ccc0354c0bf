/* Sources of inputs: a file that is dropped or chosen, the clipboard. A file's kind is detected by
 * its bytes; by its name and type only if they do not suffice. */

/** @typedef {import('./api.js').Input} Input */

const SIGNATURES = [
    { type: 'image/png', bytes: [0x89, 0x50, 0x4E, 0x47] },
    { type: 'image/jpeg', bytes: [0xFF, 0xD8, 0xFF] },
    { type: 'image/bmp', bytes: [0x42, 0x4D, null, null, null, null, 0, 0, 0, 0] }, // null: any
];

/* The bytes of a file that are read to detect its kind; the size of a JPEG may lie behind a preview. */
const PROBE_BYTES = 65536;

function signatureOf(bytes) {
    return SIGNATURES.find((known) => known.bytes.every((byte, i) =>
        byte === null || bytes[i] === byte));
}

/** UTF-8 without NUL. A character may be cut at the probe's end: hence `stream`. */
function looksLikeText(bytes) {
    if (bytes.length === 0 || bytes.includes(0))
        return false;
    try {
        new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
        return true;
    } catch {
        return false;
    }
}

/**
 * What a file of a text holds, as the programs read it: gzip is unpacked, and UTF-16 with a byte
 * order mark becomes UTF-8. Other files stay.
 *
 * @param {File} file
 * @returns {Promise<File>}
 */
async function opened(file) {
    const head = async (blob) => new Uint8Array(await blob.slice(0, 2).arrayBuffer()).join();
    let whole = file;
    if (await head(whole) === '31,139')
        whole = await new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).blob();
    const charset = { '255,254': 'utf-16le', '254,255': 'utf-16be' }[await head(whole)];
    if (charset !== undefined)
        whole = new Blob([new TextDecoder(charset, { fatal: true })
            .decode(await whole.arrayBuffer())]);
    return whole === file ? file : new File([whole], file.name);
}

/**
 * A file is a text only if it is one and does not claim to be an image: then the server reports
 * what is wrong with it.
 *
 * @param {File} packed
 * @returns {Promise<{file: File, kind: 'image'|'text', type: string, bytes: Uint8Array}>} the file
 *     unpacked, and its first bytes
 */
export async function probe(packed) {
    const file = await opened(packed);
    const bytes = new Uint8Array(await file.slice(0, PROBE_BYTES).arrayBuffer());
    const signature = signatureOf(bytes);
    if (signature === undefined && !file.type.startsWith('image/') && looksLikeText(bytes))
        return { file, kind: 'text', type: 'text/plain', bytes };
    return { file, kind: 'image', bytes,
        type: signature?.type ?? (file.type || 'application/octet-stream') };
}

/**
 * @param {File} file
 * @returns {Promise<Input>}
 */
export async function inputOf(file) {
    const { file: whole, kind, type } = await probe(file);
    return kind === 'text' ? { kind, text: await whole.text(), name: file.name }
        : { kind, blob: whole, name: file.name, type };
}

/** A text that comes from no file is told by its length: a name must not repeat it. */
export function textInput(text) {
    return { kind: 'text', text, name: `text, ${text.length} characters` };
}

function filesOf(transfer) {
    return [...transfer?.files ?? []];
}

function isEditable(target) {
    return target instanceof HTMLTextAreaElement;
}

/** Files may be dropped anywhere; without this the browser would leave the page to show them. One
 * view takes them: the one whose isMine says so. */
function takeDrops(zone, take) {
    let depth = 0;
    const mark = (by) => {
        depth = Math.max(0, depth + by);
        zone.classList.toggle('over', depth > 0);
    };
    addEventListener('dragenter', () => mark(1));
    addEventListener('dragleave', () => mark(-1));
    addEventListener('dragover', (event) => event.preventDefault());
    addEventListener('drop', (event) => {
        event.preventDefault();
        depth = 0;
        mark(0);
        if (!take.isMine())
            return;
        const files = filesOf(event.dataTransfer);
        const text = event.dataTransfer?.getData('text/plain') ?? '';
        if (files.length > 0)
            take.files(files);
        else if (text !== '')
            take.text(text);
    });
}

/** The text field handles a pasted text itself. */
function takePastes(take) {
    addEventListener('paste', (event) => {
        const files = filesOf(event.clipboardData);
        const text = event.clipboardData?.getData('text/plain') ?? '';
        if (!take.isMine() || (files.length === 0 && (text === '' || isEditable(event.target))))
            return;
        event.preventDefault();
        if (files.length > 0)
            take.files(files);
        else
            take.text(text);
    });
}

/**
 * @param {{zone: Element, button: Element, chooser: HTMLInputElement}} parts
 * @param {{files: (files: File[]) => void, text: (text: string) => void,
 *     isMine: () => boolean}} take
 */
export function listen({ zone, button, chooser }, take) {
    takeDrops(zone, take);
    takePastes(take);
    button.addEventListener('click', () => chooser.click());
    chooser.addEventListener('change', () => {
        const files = [...chooser.files];
        chooser.value = ''; // so that the same file can be chosen again
        if (files.length > 0)
            take.files(files);
    });
}
