/* The Fit panel: how many labels there are, a new version of the model from them, and what it came
 * to. Whether the new version becomes the primary is decided in the Models view. */
import { Refusal } from './api.js';
import { announce, el } from './dom.js';
import { fitReport } from './fit_report.js';
import { integer, plural } from './format.js';
import { refusalPanel } from './refusal.js';
import { cancelFit, getFit, startFit } from './review_api.js';
import { num, row, table } from './table.js';

const EVERY_MS = 1000;
const RUNNING = ['queued', 'running'];

const WORDS = { queued: 'waits for another fit', running: 'runs', succeeded: 'has succeeded',
    refused: 'was refused', failed: 'has failed', cancelled: 'was cancelled' };

function stateText({ fit, state, step, version, detail }) {
    const at = state === 'running' && step ? `: ${step}` : '';
    const made = state === 'succeeded' ? `: version ${version} is loaded as a shadow` : '';
    return `Fit ${fit} ${WORDS[state] ?? state}${at}${made}${detail ? `: ${detail}` : ''}.`;
}

export class FitPanel {
    constructor() {
        this.name = '';
        this.fit = null; // the last one that was asked for
        this.timer = 0;
        this.shown = false;
        this.counts = table('fit-labels', 'Labels by class', ['Label', num('Inputs')]);
        this.starting = el('button', { type: 'button', class: 'primary',
            click: () => this.carryOut(() => startFit(this.name)) }, 'Fit');
        this.cancelling = el('button', { type: 'button', hidden: true,
            click: () => this.carryOut(() => this.cancel()) }, 'Cancel');
        this.bar = el('progress', { 'aria-label': 'Progress of the fit', hidden: true });
        this.state = el('p', { class: 'review-told', id: 'fit-state' });
        this.problem = el('div');
        this.report = el('div', { class: 'fit-report' });
        this.element = el('section', { class: 'panel fit', id: 'fit', hidden: true,
            'aria-labelledby': 'fit-title' }, el('h2', { id: 'fit-title' }, 'Fit'),
        el('p', { class: 'hint' }, 'A new version of the model learns the labels, is ' +
            'judged on inputs that it did not learn from, and goes along as a shadow: nobody ' +
            'gets its answers.'),
        this.counts.element, el('div', { class: 'row' }, this.starting, this.bar, this.cancelling),
        this.state, this.problem, this.report);
        document.addEventListener('visibilitychange', () => this.follow());
    }

    /** @param {Map<string, number>} labels  how many inputs have each */
    setLabels(name, labels) {
        if (name !== this.name) {
            this.name = name;
            this.fit = null;
            this.draw();
        }
        const counts = [...labels].sort(([, a], [, b]) => b - a);
        this.counts.fill(counts.map(([label, count]) => row(label, num(integer(count)))));
        const all = counts.reduce((sum, [, count]) => sum + count, 0);
        this.starting.textContent = all === 0 ? 'Fit' : `Fit ${plural(all, 'label')}`;
        this.element.hidden = false;
    }

    setShown(shown) {
        this.shown = shown;
        this.follow();
    }

    isRunning() {
        return this.fit !== null && RUNNING.includes(this.fit.state);
    }

    /** Asks for the fit's state while it runs and is looked at. */
    follow() {
        clearTimeout(this.timer);
        if (this.shown && !document.hidden && this.isRunning())
            this.timer = setTimeout(() => this.carryOut(() => getFit(this.fit.fit)), EVERY_MS);
    }

    async cancel() {
        await cancelFit(this.fit.fit);
        return getFit(this.fit.fit);
    }

    /** @param {() => Promise<object>} ask  what answers with a fit */
    async carryOut(ask) {
        const name = this.name;
        clearTimeout(this.timer);
        try {
            const fit = await ask();
            if (name !== this.name)
                return;
            this.fit = { state: 'queued', ...fit };
            this.problem.replaceChildren();
            this.draw();
        } catch (error) {
            if (!(error instanceof Refusal))
                throw error;
            this.problem.replaceChildren(refusalPanel(error.problem, () => this.carryOut(ask)));
        }
        this.follow();
    }

    draw() {
        const running = this.isRunning();
        this.starting.disabled = running;
        this.bar.hidden = this.cancelling.hidden = !running;
        if (running && this.fit.total > 0) {
            this.bar.max = this.fit.total;
            this.bar.value = this.fit.done;
        } else
            this.bar.removeAttribute('value');
        const text = this.fit === null ? '' : stateText(this.fit);
        if (text !== this.state.textContent) {
            this.state.textContent = text;
            announce(text);
        }
        this.report.replaceChildren(...this.fit === null || running ? []
            : [...fitReport(this.fit), ...this.fit.state === 'succeeded' ? [el('p', {},
                el('a', { href: '#models' }, `The versions of ${this.name}`),
                ': agreement, accuracy, Promote and Roll back.')] : []]);
    }
}
