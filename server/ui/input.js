/* Sources of inputs: a file that is dropped or chosen, the clipboard. A file's kind is detected by
 * its bytes; by its name and type only if they do not suffice. */

/** @typedef {import('./api.js').Input} Input */

const SIGNATURES = [
    { type: 'image/png', bytes: [0x89, 0x50, 0x4E, 0x47] },
    { type: 'image/jpeg', bytes: [0xFF, 0xD8, 0xFF] },
];

/* The bytes of a file that are read to detect a text. */
const PROBE_BYTES = 4096;

function signatureOf(bytes) {
    return SIGNATURES.find((known) => known.bytes.every((byte, i) => bytes[i] === byte));
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
 * @returns {Promise<Input>}
 */
export async function inputOf(file) {
    const probe = new Uint8Array(await file.slice(0, PROBE_BYTES).arrayBuffer());
    const signature = signatureOf(probe);
    const claimsImage = file.type.startsWith('image/');
    if (signature === undefined && !claimsImage && looksLikeText(probe))
        return { kind: 'text', text: await file.text(), name: file.name };
    const type = signature?.type ?? (file.type || 'application/octet-stream');
    return { kind: 'image', blob: file, name: file.name, type };
}

export function textInput(text) {
    const lines = text.split('\n').length;
    return { kind: 'text', text, name: lines > 1 ? `Text of ${lines} lines` : 'Text' };
}

function firstFile(transfer) {
    return transfer?.files?.[0] ?? null;
}

function isEditable(target) {
    return target instanceof HTMLTextAreaElement;
}

/** Files may be dropped anywhere; without this the browser would leave the page to show them. */
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
        const file = firstFile(event.dataTransfer);
        const text = event.dataTransfer?.getData('text/plain') ?? '';
        if (file !== null)
            take.file(file);
        else if (text !== '')
            take.text(text);
    });
}

/** The text field handles a pasted text itself. */
function takePastes(take) {
    addEventListener('paste', (event) => {
        const file = firstFile(event.clipboardData);
        const text = event.clipboardData?.getData('text/plain') ?? '';
        if (file === null && (text === '' || isEditable(event.target)))
            return;
        event.preventDefault();
        if (file !== null)
            take.file(file);
        else
            take.text(text);
    });
}

/**
 * @param {{zone: Element, button: Element, chooser: HTMLInputElement}} parts
 * @param {{file: (file: File) => void, text: (text: string) => void}} take
 */
export function listen({ zone, button, chooser }, take) {
    takeDrops(zone, take);
    takePastes(take);
    button.addEventListener('click', () => chooser.click());
    chooser.addEventListener('change', () => {
        const file = chooser.files[0];
        chooser.value = ''; // so that the same file can be chosen again
        if (file !== undefined)
            take.file(file);
    });
}
