/* How many inputs go together: as the server allows, and few enough that progress is seen, a cancel
 * loses little, and nothing large lies in the browser's memory. */

const INPUTS_MAX = 16;
const BYTES_MAX = 8 << 20;

/* What stands around the inputs of a request, and around each. */
const ENVELOPE_BYTES = 2048;
const INPUT_BYTES = 32;

/**
 * @typedef {{inputs: number, bytes: number, imagePixels: number, requestPixels: number}} Limits
 */

/** @param {object|undefined} model  as GET /models describes it @returns {Limits} */
export function limitsOf(model) {
    return { inputs: model?.inputs_max ?? Infinity, bytes: model?.body_bytes_max ?? Infinity,
        imagePixels: model?.image_pixels_max ?? Infinity,
        requestPixels: model?.request_pixels_max ?? Infinity };
}

/** Bytes of a file inside of JSON: as base64, or at worst with every byte of a text escaped. */
function bytesInside({ kind, size }) {
    return INPUT_BYTES + (kind === 'image' ? 4 * Math.ceil(size / 3) : 2 * size);
}

/* An image that does not tell its size may have as many pixels as is allowed. */
function pixelsInside(row, limits) {
    return row.kind !== 'image' ? 0 : row.pixels > 0 ? row.pixels : limits.imagePixels;
}

/**
 * Rows of one kind -> groups, in order. A row that is too large for company is alone in its group.
 *
 * @template {{kind: string, size: number, pixels: number}} Row
 * @param {Row[]} rows
 * @param {Limits} limits
 * @returns {Row[][]}
 */
export function pack(rows, limits) {
    const inputsMax = Math.min(INPUTS_MAX, limits.inputs);
    const bytesMax = Math.min(BYTES_MAX, limits.bytes) - ENVELOPE_BYTES;
    const groups = [];
    let bytes = Infinity, pixels = 0;
    for (const row of rows) {
        bytes += bytesInside(row);
        pixels += pixelsInside(row, limits);
        if (bytes > bytesMax || pixels > limits.requestPixels ||
            groups.at(-1).length >= inputsMax) {
            groups.push([]);
            bytes = bytesInside(row);
            pixels = pixelsInside(row, limits);
        }
        groups.at(-1).push(row);
    }
    return groups;
}
