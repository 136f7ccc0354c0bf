/* Kept inputs of a model that writes, one below the other: the picture or text, what was written,
 * why a person is to look at it, and the right text. */
import { Refusal } from './api.js';
import { el } from './dom.js';
import { percent } from './format.js';
import { getWritten, giveText } from './review_api.js';
import { judgedText, rightTextForm } from './right_text.js';
import { chip, reason } from './verdict.js';
import { visible } from './words.js';

const FACE_SIDE = 96;

/* A mark is wide and low: its picture is not squeezed into a square. */
function faceOf(item, inputs) {
    const face = inputs.face(item, FACE_SIDE);
    face.removeAttribute('width');
    return face;
}

function writtenLine({ output, rejected }) {
    const text = output ?? rejected;
    return el('p', { class: 'review-output', dir: 'auto' },
        output === null ? el('span', { class: 'hint' }, rejected === undefined
            ? 'No text obeys the rules' : 'No text obeys the rules; rejected: ') : null,
        text === undefined ? null : text === '' ? el('span', { class: 'hint' }, 'An empty text')
            : visible(text));
}

export class WrittenReview {
    /**
     * @param {import('./review_input.js').Inputs} inputs
     * @param {(item: object, text: string) => void} given  a right text was taken
     */
    constructor(inputs, given) {
        this.inputs = inputs;
        this.given = given;
        this.element = el('section', { class: 'review-written', hidden: true,
            'aria-label': 'Texts without a right one' });
    }

    close() {
        this.element.hidden = true;
        this.element.replaceChildren();
    }

    /** @returns {Promise<string>} what is shown, as a sentence; throws a Refusal */
    async read(model, decision, how) {
        const { open, given, isMore } = await getWritten(model, decision, how);
        this.element.replaceChildren(...open.map((item, i) => this.row(item, `-review-${i}`)));
        this.element.hidden = open.length === 0;
        const texts = (count) => `${count} ${count === 1 ? 'text' : 'texts'}`;
        return open.length === 0 && given === 0 ? 'Nothing waits for a right text.'
            : `${texts(open.length)} without a right one, ${given} with one.` +
                `${isMore ? ' Older ones come when these are done.' : ''}`;
    }

    row(item, suffix) {
        const send = async (text) => {
            try {
                const result = await giveText(item, text);
                row.classList.add('done');
                this.given(item, text);
                return `Sent: ${judgedText(result)}`;
            } catch (error) {
                if (!(error instanceof Refusal))
                    throw error;
                return `Not taken: ${error.problem.detail}.`;
            }
        };
        const row = el('article', { class: 'panel review-text', 'aria-label': item.id },
            faceOf(item, this.inputs),
            el('div', {}, writtenLine(item),
                el('p', { class: 'hint' }, chip(item), ` ${item.confidence === undefined ? ''
                    : `confidence ${percent(item.confidence)} · `}${reason(item)} ${item.id}`),
                rightTextForm({ written: item.output, typed: item.output ?? item.rejected ?? '',
                    send }, suffix)));
        return row;
    }
}
