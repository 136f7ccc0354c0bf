/* A kept input as it is shown: a small picture, or how a log begins. Each is fetched once, when it
 * is first seen. */
import { Refusal } from './api.js';
import { el } from './dom.js';
import { getKept } from './review_api.js';
import { PAIR_BORDER, visible } from './words.js';

const START_CHARACTERS = 220;

/* A kept pair of texts is the JSON that asked for it. */
const PAIR = 'application/json';

/* Inputs whose bytes are kept in the page, the latest seen. */
const KEPT_MAX = 400;

function keyOf({ id, index }) {
    return `${index}/${id}`;
}

export class Inputs {
    constructor() {
        this.blobs = new Map(); // by key: a promise of the bytes
    }

    /** @returns {Promise<Blob>} */
    blob(item) {
        const key = keyOf(item);
        const known = this.blobs.get(key) ?? getKept(item);
        this.blobs.delete(key);
        this.blobs.set(key, known);
        known.catch(() => this.blobs.delete(key)); // to be asked for again
        if (this.blobs.size > KEPT_MAX)
            this.blobs.delete(this.blobs.keys().next().value);
        return known;
    }

    /** @returns {Promise<import('./api.js').Input>} */
    async input(item) {
        const blob = await this.blob(item);
        if (item.media_type.startsWith('image/'))
            return { kind: 'image', blob, name: item.id, type: item.media_type };
        const text = await blob.text();
        if (item.media_type !== PAIR)
            return { kind: 'text', text, name: item.id };
        const both = JSON.parse(text);
        return { kind: 'text', text: both.text, pair: both.text_pair, name: item.id };
    }

    /**
     * @param {{id: string, index: number, media_type: string}} item
     * @param {number} side  of a picture, in pixels
     */
    face(item, side) {
        const isImage = item.media_type.startsWith('image/');
        const face = isImage ? el('img', { class: 'thumb', alt: '', width: side, height: side })
            : el('span', { class: 'log-start', dir: 'ltr' });
        this.fill(face, item, isImage);
        return face;
    }

    async fill(face, item, isImage) {
        try {
            const blob = await this.blob(item);
            if (!isImage) {
                const { text, pair } = item.media_type === PAIR ? await this.input(item)
                    : { text: await blob.slice(0, 4 * START_CHARACTERS).text() };
                const most = pair === undefined ? START_CHARACTERS : START_CHARACTERS / 2;
                face.textContent = visible([text, ...pair === undefined ? [] : [pair]]
                    .map((one) => one.slice(0, most)).join(PAIR_BORDER));
                return;
            }
            const url = URL.createObjectURL(new Blob([blob], { type: item.media_type }));
            face.addEventListener('load', () => URL.revokeObjectURL(url));
            face.addEventListener('error', () => face.classList.add('none'));
            face.src = url;
        } catch (error) {
            if (!(error instanceof Refusal))
                throw error;
            face.classList.add('none');
            face.title = error.problem.detail;
        }
    }
}
