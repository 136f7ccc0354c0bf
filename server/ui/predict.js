/* The Predict view: takes an input, asks, shows what came. One request at a time: a new one cancels
 * the one before, and an answer that comes late is dropped. */
import { Refusal, getModels, predict, refuse, requestOf } from './api.js';
import { byId, el } from './dom.js';
import { bytes } from './format.js';
import { inputOf, listen, textInput } from './input.js';
import { problemPanel } from './problem.js';
import { resultPanels } from './result.js';
import { sampleButtons } from './samples.js';

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

function sizeOf(input) {
    return input.kind === 'image' ? input.blob.size : new TextEncoder().encode(input.text).length;
}

/** Checked before the upload, not after it. */
function checkSize(input, models) {
    const limit = models[0]?.body_bytes_max ?? Infinity;
    const size = sizeOf(input);
    if (size > limit)
        throw refuse(413, 'Content Too Large',
            `This input has ${bytes(size)}; the server takes at most ${bytes(limit)}.`);
}

/** On a narrow screen the result lies below the input, out of view. */
function bringIntoView(element) {
    if (element.getBoundingClientRect().top > innerHeight * 0.6)
        element.scrollIntoView();
}

export class PredictView {
    /**
     * @param {(record: object) => void} record  called with every answer; never with a text
     * @param {(ok: boolean) => void} tellServer  whether there was an answer
     */
    constructor(record, tellServer) {
        this.record = record;
        this.tellServer = tellServer;
        this.models = [];
        this.input = null;
        this.running = null;
        this.result = byId('result');
        this.wire();
    }

    wire() {
        listen({ zone: byId('drop'), button: byId('choose'), chooser: byId('file') },
            { file: (file) => this.takeFile(file), text: (text) => this.take(textInput(text)) });
        byId('send').addEventListener('click', () => this.send());
        byId('text').addEventListener('keydown', (event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                this.send();
        });
        byId('model').addEventListener('change', () => this.modelChanged());
        byId('method').addEventListener('change', () => this.methodChanged());
        byId('layer').addEventListener('change', () => this.again());
    }

    /** Reads what is served; throws a Refusal. */
    async loadModels() {
        this.models = await getModels();
        const kinds = new Set(this.models.map((model) => model.kind));
        byId('model').replaceChildren(el('option', { value: '' }, 'Default for the input'),
            ...this.models.map((model) => el('option', { value: model.name },
                `${model.name} (${model.kind})`)));
        byId('text-field').hidden = !kinds.has('text');
        byId('drop-hint').textContent = !kinds.has('text') ? 'Drop or paste an image'
            : !kinds.has('image') ? 'Drop or paste a log' : 'Drop or paste an image or a log';
        const samples = sampleButtons(this.models, (input, name) => this.takeSample(input, name));
        byId('samples').replaceChildren(...samples);
        byId('samples-field').hidden = samples.length === 0;
        this.fillLayers();
    }

    /** The model that will answer; undefined before it is known. */
    model() {
        const name = byId('model').value;
        const kind = this.input?.kind;
        return this.models.find((model) => name === '' ? model.kind === kind : model.name === name);
    }

    /** The method by name, also the model's own choice; undefined before that is known. */
    method() {
        const name = byId('method').value;
        return name === 'true' ? this.model()?.explain_default : name;
    }

    /* Rollout goes through the first n layers, attention is that of layer n. */
    fillLayers() {
        const select = byId('layer');
        const method = this.method();
        const layers = this.model()?.layers ?? 0;
        byId('method').options[0].textContent = this.model() === undefined ? 'Default'
            : `Default (${this.model().explain_default})`;
        const takes = method === 'rollout' || method === 'attention';
        const before = select.value;
        const word = method === 'rollout' ? 'First' : 'Layer';
        const rows = Array.from({ length: takes ? layers : 0 }, (_, i) =>
            el('option', { value: i + 1 }, `${word} ${i + 1}`));
        select.replaceChildren(el('option', { value: 0 },
            !takes ? '–' : method === 'rollout' ? 'All' : 'Last'), ...rows);
        select.value = [...select.options].some((option) => option.value === before) ? before : '0';
        select.disabled = !takes || layers === 0;
    }

    modelChanged() {
        this.fillLayers();
        this.again();
    }

    /* A layer has another meaning in another method. */
    methodChanged() {
        byId('layer').value = '0';
        this.fillLayers();
        this.again();
    }

    takeSample(input, name) {
        byId('model').value = name;
        this.take(input);
    }

    async takeFile(file) {
        try {
            checkSize({ kind: 'image', blob: file }, this.models);
            this.take(await inputOf(file));
        } catch (error) {
            this.fail(error instanceof Refusal ? error
                : refuse(-1, 'Unreadable file', 'The browser could not read this file.'));
        }
    }

    /** A model of the other kind would refuse the input: the default is used instead. */
    take(input) {
        this.input = input;
        const chosen = this.models.find((model) => model.name === byId('model').value);
        if (chosen !== undefined && chosen.kind !== input.kind)
            byId('model').value = '';
        if (input.kind === 'text' && byId('text').value !== input.text)
            byId('text').value = input.text;
        this.fillLayers();
        this.again();
    }

    send() {
        const text = byId('text').value;
        const same = this.input?.kind === 'text' && this.input.text === text;
        this.take(same ? this.input : textInput(text));
    }

    options() {
        return { model: byId('model').value, method: byId('method').value,
            layer: Number(byId('layer').value) };
    }

    again() {
        if (this.input !== null)
            this.ask(this.input);
    }

    /** @param {import('./api.js').Input} input */
    async ask(input) {
        this.running?.abort();
        const running = this.running = new AbortController();
        this.result.setAttribute('aria-busy', 'true');
        try {
            checkSize(input, this.models);
            const request = requestOf(input, this.options());
            const [came, picture] = await Promise.all([predict(request, running.signal),
                input.kind === 'image' ? decode(input.blob) : null]);
            if (running === this.running)
                this.show({ input, request, picture, ...came });
        } catch (error) {
            if (running === this.running)
                this.fail(error);
        }
    }

    show(shown) {
        this.running = null;
        this.result.removeAttribute('aria-busy');
        this.result.replaceChildren(...resultPanels(shown));
        bringIntoView(this.result);
        this.tellServer(true);
        const { input, answer, roundTripMs } = shown;
        this.record({ when: new Date(), roundTripMs, answer,
            name: input.kind === 'image' ? input.name : `text, ${input.text.length} characters` });
    }

    fail(error) {
        this.running = null;
        this.result.removeAttribute('aria-busy');
        const refusal = error instanceof Refusal ? error
            : refuse(-1, 'Error in this page', String(error));
        this.result.replaceChildren(problemPanel(refusal.problem, () => this.again()));
        bringIntoView(this.result);
        this.tellServer(refusal.problem.status !== 0);
        if (!(error instanceof Refusal))
            console.error(error);
    }
}
