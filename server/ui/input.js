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
 * A file is a text only if it is one and does not claim to be an image: then the server reports
 * what is wrong with it.
 *
 * @param {File} file
 * @returns {Promise<{kind: 'image'|'text', type: string, bytes: Uint8Array}>} bytes: its first ones
 */
export async function probe(file) {
    const bytes = new Uint8Array(await file.slice(0, PROBE_BYTES).arrayBuffer());
    const signature = signatureOf(bytes);
    if (signature === undefined && !file.type.startsWith('image/') && looksLikeText(bytes))
        return { kind: 'text', type: 'text/plain', bytes };
    return { kind: 'image', bytes,
        type: signature?.type ?? (file.type || 'application/octet-stream') };
}

/**
 * @param {File} file
 * @returns {Promise<Input>}
 */
export async function inputOf(file) {
    const { kind, type } = await probe(file);
    return kind === 'text' ? { kind, text: await file.text(), name: file.name }
        : { kind, blob: file, name: file.name, type };
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
