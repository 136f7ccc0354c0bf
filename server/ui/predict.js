/* The Predict view: takes an input, asks, shows what came. One request at a time: a new one cancels
 * the one before, and an answer that comes late is dropped. */
import { Refusal, getModels, refuse } from './api.js';
import { askOne, checkSize } from './ask.js';
import { BatchView } from './batch_view.js';
import { comparison } from './compare.js';
import { announce, byId, el } from './dom.js';
import { entryOf } from './entry.js';
import { inputOf, listen, textInput } from './input.js';
import { markForm } from './mark.js';
import { rightTextForm } from './right_text.js';
import { Options } from './options.js';
import { problemPanel } from './problem.js';
import { resultPanels } from './result.js';
import { sampleButtons } from './samples.js';
import { saveButtons } from './save.js';
import { Streamed } from './streamed.js';
import { isShown, isWhole, lackOf, setOf, taskHint } from './tasks.js';

function describe(kind) {
    return kind === 'image' ? 'an image' : 'a text';
}

/** On a narrow screen the result lies below the input, out of view. */
function bringIntoView(element) {
    if (element.getBoundingClientRect().top > innerHeight * 0.6)
        element.scrollIntoView();
}

export class PredictView {
    /**
     * @param {{record: (record: import('./entry.js').Record) => void,
     *     tellServer: (ok: boolean) => void, finish: (entry: object) => object,
     *     search: (input: import('./api.js').Input, model: string) => void,
     *     feedback: import('./feedback.js').Feedback}} page
     *     record: told of every answer, never of a text; tellServer: whether there was an answer;
     *     finish: completes an entry that is saved; search: looks for past cases near to an input
     */
    constructor(page) {
        this.page = page;
        this.input = null;
        this.image = null; // the last one, for when a model of images is chosen again
        this.running = null;
        this.opening = null; // the row that was asked for last
        this.result = byId('result');
        this.options = new Options({ model: () => this.modelChanged(), other: () => this.again() });
        this.batch = new BatchView(byId('batch'), this.options,
            { ...page, open: (row) => this.open(row) });
        this.wire();
    }

    get models() {
        return this.options.models;
    }

    wire() {
        listen({ zone: byId('drop'), button: byId('choose'), chooser: byId('file') },
            { files: (files) => this.takeFiles(files),
                text: (text) => this.take(textInput(text)),
                isMine: () => byId('search').hidden });
        byId('send').addEventListener('click', () => this.send());
        byId('text').addEventListener('input', () => this.showNext());
        byId('text').addEventListener('keydown', (event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                this.send();
        });
        byId('question').addEventListener('keydown', (event) => {
            if (event.key === 'Enter')
                this.send();
        });
    }

    /** Reads what is served; throws a Refusal. */
    async loadModels() {
        this.options.setModels(await getModels());
        const kinds = new Set(this.models.map((model) => model.kind));
        byId('text-field').hidden = !kinds.has('text');
        byId('drop-hint').textContent = !kinds.has('text') ? 'Drop or paste images'
            : !kinds.has('image') ? 'Drop or paste logs' : 'Drop or paste images or logs';
        const samples = sampleButtons(this.models, (input, name) => this.takeSample(input, name));
        byId('samples').replaceChildren(...samples);
        byId('samples-field').hidden = samples.length === 0;
        this.options.show(this.input?.kind);
    }

    /** What the button will send: the text if there is one, else the image that is there. */
    next() {
        const text = byId('text').value;
        if (text === '')
            return this.image;
        return this.input?.kind === 'text' && this.input.text === text ? this.input
            : textInput(text);
    }

    showNext() {
        const next = this.next();
        byId('next').textContent = next?.kind === 'image' ? `sends ${next.name} again` : '';
    }

    send() {
        const input = this.next();
        if (input !== null)
            this.take(input);
        else
            this.refuse('Nothing to predict', 'The text field is empty, and there is no image.');
    }

    /* A model of the other kind cannot read what is there: it gets what it can read, or it is said
     * before anything is sent. */
    modelChanged() {
        const model = this.options.chosen();
        const kind = this.input?.kind;
        this.options.show(model?.kind ?? kind);
        if (model === undefined || kind === undefined || model.kind === kind)
            return this.again();
        const other = model.kind === 'image' ? this.image
            : byId('text').value === '' ? null : textInput(byId('text').value);
        if (other !== null)
            return this.take(other);
        return this.refuse(`${model.name} needs ${describe(model.kind)}`,
            `${this.input.name} is ${describe(kind)}. Drop or choose ${describe(model.kind)}, or ` +
            'choose a model of the other kind.');
    }

    takeSample(input, name) {
        this.options.choose(name);
        this.take(input);
    }

    takeFiles(files) {
        if (files.length === 1)
            return this.takeFile(files[0]);
        this.running?.abort();
        this.running = null;
        this.input = this.image = null;
        this.showNext();
        this.result.removeAttribute('aria-busy');
        this.result.replaceChildren(el('p', { class: 'panel hint' },
            'A row opens its full result, with its explanation, here.'));
        return this.batch.take(files);
    }

    /** A row of the table, in full. */
    async open(row) {
        this.opening = row;
        try {
            const input = await inputOf(row.file);
            if (this.opening !== row)
                return;
            this.input = input;
            this.image = this.input.kind === 'image' ? this.input : null;
            this.showNext();
            this.options.show(this.input.kind);
            this.ask(this.input, row.results);
        } catch {
            this.refuse('Unreadable file', 'The browser could not read this file.');
        }
    }

    async takeFile(file) {
        try {
            checkSize(file.size, this.models);
            this.take(await inputOf(file));
        } catch (error) {
            this.fail(error instanceof Refusal ? error
                : refuse(-1, 'Unreadable file', 'The browser could not read this file.'));
        }
    }

    /** A model of the other kind would refuse the input: the default is used instead. */
    take(input) {
        this.opening = null;
        this.batch.close();
        const chosen = this.options.chosen();
        if (chosen !== undefined && chosen.kind !== input.kind)
            this.options.choose('');
        if (input.kind === 'text' && byId('text').value !== input.text)
            byId('text').value = input.text;
        if (input.kind === 'image')
            this.image = input;
        this.input = input;
        this.showNext();
        this.options.show(input.kind);
        this.again();
    }

    again() {
        if (this.input !== null)
            this.ask(this.input);
    }

    /**
     * @param {import('./api.js').Input} input
     * @param {{answer?: object, index?: number}[]} [known]  its answers among several: what a
     *     person says of it is said of those, and they are not new
     */
    async ask(input, known = []) {
        const model = this.options.model(input.kind);
        const lack = lackOf(model, this.options.question(), input.text);
        if (lack !== '')
            return isShown(model) ? this.refuse('Nothing asked', lack)
                : this.pointToSearch(input, model);
        const beyond = this.options.writing.lack(model);
        if (beyond !== '')
            return this.refuse('Not within the limits', beyond);
        this.running?.abort();
        const running = this.running = new AbortController();
        const stream = this.options.writing.streams(model);
        const token = this.waitFor(running, stream);
        try {
            const shown = await Promise.all(this.options.of(input.kind).map((options) =>
                askOne(input, { ...options, stream }, this.models, running.signal, token)));
            if (running === this.running)
                this.show(shown, known);
        } catch (error) {
            if (!running.signal.aborted) // also what failed while it was shown
                this.fail(error);
            running.abort();
        }
    }

    /** The old result is dimmed, or makes room for tokens that come. */
    waitFor(running, stream) {
        if (!stream) {
            this.result.setAttribute('aria-busy', 'true');
            return undefined;
        }
        this.result.removeAttribute('aria-busy');
        const written = new Streamed(() => {
            this.running = null;
            running.abort();
        });
        this.result.replaceChildren(written.element);
        bringIntoView(this.result);
        return (text) => written.add(text);
    }

    /** What may be done with an answer: its right label said, and itself kept. */
    toolsFor(record) {
        const entry = entryOf(record);
        const model = this.options.named(entry.model);
        const labels = model?.labels ?? [entry.label];
        return (suffix) => el('div', { class: 'row tools' },
            record.answer.output !== undefined ? this.rightText(entry, suffix)
                : model !== undefined && !isWhole(model) ? null
                    : markForm({ entry, labels, feedback: this.page.feedback }, suffix),
            saveButtons('attnd-result', () => [this.page.finish(entry)]));
    }

    rightText(entry, suffix) {
        const { feedback } = this.page;
        const { output, rejected } = entry;
        return rightTextForm({ written: output,
            typed: feedback.labelOf(entry) ?? output ?? rejected?.output ?? '',
            send: (text) => feedback.mark(entry, { output: text }) }, suffix);
    }

    show(shown, known) {
        const records = shown.map(({ input: { name, kind, blob }, answer, roundTripMs }) => ({
            when: new Date(), name, kind, answer, roundTripMs, blob,
            ...known.find((one) => one.answer?.model.name === answer.model.name) }));
        const full = shown.map((one, i) => {
            const model = this.options.named(one.answer.model.name);
            const answer = { ...one.answer, set: setOf(one.answer, model) };
            return { ...one, answer, labels: model?.labels, mask: model?.mask_token,
                question: one.request.json?.question, tools: this.toolsFor(records[i]) };
        });
        this.running = null;
        this.result.removeAttribute('aria-busy');
        this.result.replaceChildren(...full.length === 2 ? comparison(full)
            : resultPanels(full[0]));
        bringIntoView(this.result);
        this.page.tellServer(true);
        records.filter(({ answer }) => shown.some((one) => one.answer === answer))
            .forEach(this.page.record);
    }

    /** A vector is for machines: what it is near to is for people. */
    pointToSearch(input, model) {
        this.running?.abort();
        this.running = null;
        this.result.removeAttribute('aria-busy');
        const title = `${model.name} gives only vectors`;
        this.result.replaceChildren(el('div', { class: 'panel only-vectors' }, el('h2', {}, title),
            el('p', {}, taskHint(model)), el('button', { type: 'button', id: 'to-search',
                click: () => this.page.search(input, model.name) }, 'Search with this input')));
        announce(title);
        bringIntoView(this.result);
    }

    /** Says what the page itself does not do, and sends nothing. */
    refuse(title, detail) {
        this.running?.abort();
        this.fail(refuse(-1, title, detail), null);
    }

    /** @param {(() => void)|null} again  what asks once more */
    fail(error, again = this.input === null ? null : () => this.again()) {
        this.running = null;
        this.result.removeAttribute('aria-busy');
        const refusal = error instanceof Refusal ? error
            : refuse(-1, 'Error in this page', String(error));
        this.result.replaceChildren(problemPanel(refusal.problem, again));
        bringIntoView(this.result);
        if (refusal.problem.status >= 0)
            this.page.tellServer(refusal.problem.status !== 0);
        if (!(error instanceof Refusal))
            console.error(error);
    }
}
