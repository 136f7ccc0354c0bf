/* The Models view: reads every model with its versions, every five seconds while it is visible. */
import { Refusal, getModel, getModels } from './api.js';
import { el } from './dom.js';
import { clock } from './format.js';
import { ModelPanel } from './model_panel.js';
import { problemPanel } from './problem.js';

const EVERY_MS = 5000;

/* A model may be unloaded between the list and its own description. */
async function described(name, options) {
    try {
        return await getModel(name, options);
    } catch (error) {
        if (error instanceof Refusal && error.problem.status === 404)
            return null;
        throw error;
    }
}

export class ModelsView {
    /**
     * @param {HTMLElement} root
     * @param {{changed: () => void, tellServer: (ok: boolean) => void}} tell
     *     changed: other models or versions are served
     */
    constructor(root, { changed, tellServer }) {
        this.changed = changed;
        this.tellServer = tellServer;
        this.shown = false;
        this.timer = 0;
        this.last = null; // when figures came
        this.panels = new Map(); // by name
        this.lost = ''; // the problem that is shown
        this.when = el('p', { class: 'hint', id: 'models-when' }, 'No figures yet.');
        this.gone = el('div', { id: 'models-gone' });
        this.place = el('div', { class: 'models' });
        root.append(this.gone, this.when, this.place);
        document.addEventListener('visibilitychange', () => this.wake());
    }

    setShown(shown) {
        this.shown = shown;
        this.wake();
    }

    isVisible() {
        return this.shown && !document.hidden;
    }

    /** Reads at once if the view is visible. */
    wake() {
        clearTimeout(this.timer);
        if (this.isVisible())
            this.read();
        else
            this.reading?.abort();
    }

    /** @param {boolean} byHand  a person waits for it, and may be asked for a key */
    async read(byHand = false) {
        this.reading?.abort();
        clearTimeout(this.timer);
        const reading = this.reading = new AbortController();
        try {
            const models = await this.ask(reading.signal, byHand);
            if (reading.signal.aborted)
                return;
            this.take(models);
        } catch (error) {
            if (reading.signal.aborted)
                return;
            this.lose(error);
        }
        if (this.isVisible())
            this.timer = setTimeout(() => this.read(), EVERY_MS);
    }

    /** Every model whole, in the server's order. */
    async ask(signal, byHand) {
        const names = (await getModels({ signal, byHand })).map(({ name }) => name);
        const models = await Promise.all(names.map((name) => described(name, { signal,
            confusion: this.panels.get(name)?.wantsConfusion() ?? false })));
        return models.filter((model) => model !== null);
    }

    take(models) {
        this.last = new Date();
        this.when.textContent = `Figures of ${clock(this.last)}; they are read every ` +
            `${EVERY_MS / 1000} s.`;
        this.lost = '';
        this.gone.replaceChildren();
        this.arrange(models.map(({ name }) => name));
        for (const model of models)
            this.panels.get(model.name).draw(model);
    }

    /** A panel for each name; those that stay are not touched, for what is typed in them. */
    arrange(names) {
        const before = [...this.panels.keys()];
        if (before.length === names.length && before.every((name, i) => name === names[i]))
            return;
        const tell = { again: () => this.wake(), changed: () => this.tellChanged() };
        this.panels = new Map(names.map((name) =>
            [name, this.panels.get(name) ?? new ModelPanel(name, tell)]));
        this.place.replaceChildren(...[...this.panels.values()].map(({ element }) => element));
    }

    tellChanged() {
        this.changed();
        this.wake();
    }

    /** Told once for as long as it is the same. */
    lose(error) {
        if (!(error instanceof Refusal))
            throw error;
        const { problem } = error;
        const old = this.last === null ? '' : ` The figures below are of ${clock(this.last)}.`;
        this.when.textContent = `No new figures; asked for every ${EVERY_MS / 1000} s.${old}`;
        if (problem.status === 0)
            this.tellServer(false);
        const words = JSON.stringify(problem);
        if (words === this.lost)
            return;
        this.lost = words;
        this.gone.replaceChildren(problemPanel(problem, () => this.read(true)));
    }
}
