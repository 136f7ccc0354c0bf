/* One input and one model: the request, the answer, and the picture to show it on. */
import { predict, refuse } from './api.js';
import { el } from './dom.js';
import { bytes } from './format.js';
import { bodyBytes, requestOf } from './request.js';

/** An image that the browser can show too; null if it cannot. */
async function decode(blob) {
    const picture = el('img', { alt: 'The image that was sent', class: 'source-image' });
    picture.src = URL.createObjectURL(blob);
    try {
        await picture.decode();
        return picture;
    } catch {
        return null;
    } finally {
        URL.revokeObjectURL(picture.src);
    }
}

/** Better said before the upload than after it. */
export function checkSize(size, models) {
    const limit = models[0]?.body_bytes_max ?? Infinity;
    if (size > limit)
        throw refuse(413, 'Content Too Large',
            `This input has ${bytes(size)}; the server takes at most ${bytes(limit)}.`);
}

/**
 * @param {import('./api.js').Input} input
 * @param {import('./request.js').Options} options
 * @param {object[]} models  all that are served
 * @param {AbortSignal} signal
 * @param {(text: string) => void} [token]  told of each token of a text as it comes
 * @returns {Promise<object>} what is shown of it, see result.js; throws a Refusal or an AbortError
 */
export async function askOne(input, options, models, signal, token) {
    const request = await requestOf(input, options);
    checkSize(bodyBytes(request), models);
    const [came, picture] = await Promise.all([predict(request, signal, token),
        input.kind === 'image' ? decode(input.blob) : null]);
    return { input, request, picture, ...came };
}
