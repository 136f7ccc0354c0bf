/* The Review view: inputs that were sent to a person, in groups that are alike, so that many get
 * their label at once; and below it a new version of the model from the labels. */
import { Refusal } from './api.js';
import { announce, el } from './dom.js';
import { FitPanel } from './fit.js';
import { integer, plural } from './format.js';
import { refusalPanel } from './refusal.js';
import { getGroups, giveLabel, takeBack } from './review_api.js';
import { OpenGroup, groupCard } from './review_group.js';
import { Inputs } from './review_input.js';
import { listenToKeys } from './review_keys.js';
import { Labels } from './review_labels.js';
import { ReviewTexts } from './review_texts.js';
import { WrittenReview } from './review_written.js';
import { isWhole } from './tasks.js';

const DECISIONS = [['', 'Review and unknown'], ['review', 'Review'], ['unknown', 'Unknown'],
    ['auto', 'Automatic'], ['any', 'Any']];

function failuresText(failed) {
    return failed.length === 0 ? ''
        : ` ${plural(failed.length, 'input')} failed: ` +
            failed.map(({ item, why }) => `${item.id}: ${why}`).join('; ');
}

export class ReviewView {
    /**
     * @param {HTMLElement} root
     * @param {{tellServer: (ok: boolean) => void}} tell
     */
    constructor(root, { tellServer }) {
        this.tellServer = tellServer;
        this.models = [];
        this.shown = false;
        this.found = null;
        this.counts = new Map(); // of right labels
        this.groups = [];
        this.at = 0; // the group that is open
        this.opened = null;
        this.isSending = false;
        this.last = null; // {items, label}: the last labelling
        this.inputs = new Inputs();
        this.labels = new Labels((label, isNew) => this.give(label, isNew));
        this.fit = new FitPanel();
        this.texts = new ReviewTexts();
        this.written = new WrittenReview(this.inputs, (item, text) => {
            this.last = { items: [item], label: text === '' ? 'The empty text' : text };
            this.undoing.disabled = false;
        });
        this.build(root);
        listenToKeys({ isShown: () => this.shown, step: (by) => this.step(by),
            toggle: () => this.opened?.toggleCurrent(), undo: () => this.undo(),
            openNew: () => this.opened !== null && this.labels.openNew(),
            label: (key) => this.opened !== null && this.labels.take(key) });
    }

    build(root) {
        this.model = el('select', { id: 'review-model', change: () => this.read(true) });
        this.decision = el('select', { id: 'review-decision', change: () => this.read(true) },
            ...DECISIONS.map(([value, word]) => el('option', { value }, word)));
        this.undoing = el('button', { type: 'button', disabled: true, 'aria-keyshortcuts': 'u',
            click: () => this.undo() }, 'Take the last back');
        this.state = el('p', { class: 'hint', id: 'review-state' }, 'Nothing is read yet.');
        this.told = el('p', { class: 'review-told', id: 'review-told' });
        this.keys = el('p', { class: 'hint keys' }, el('kbd', {}, 'j'), ' ', el('kbd', {}, 'k'),
            ' next and previous group, ', el('kbd', {}, 'x'), ' leaves a member out, ',
            el('kbd', {}, '1'), ' to ', el('kbd', {}, '9'), ' and letters give a label, ',
            el('kbd', {}, 'n'), ' a new one, ', el('kbd', {}, 'u'), ' takes the last back');
        this.problem = el('div', { id: 'review-problem' });
        this.list = el('div', { class: 'groups', role: 'group', 'aria-label': 'Groups' });
        this.place = el('div', { class: 'opened-place' });
        this.work = el('div', { class: 'review-work', hidden: true }, this.list,
            el('div', { class: 'opened-side' }, el('section', { class: 'panel labels-panel',
                'aria-label': 'Right label' }, this.labels.element), this.place));
        root.append(el('section', { class: 'panel review-head', 'aria-label': 'What is shown' },
            el('div', { class: 'row' },
                el('label', { for: 'review-model' }, 'Model'), this.model,
                el('label', { for: 'review-decision' }, 'Decision'), this.decision,
                el('button', { type: 'button', click: () => this.read(true) }, 'Read again'),
                this.undoing),
            this.state, this.keys, this.told), this.problem, this.texts.element, this.written.element, this.work, this.fit.element);
    }

    setModels(models) {
        const before = this.model.value;
        this.models = models.filter((model) => model.task === 'generate' ||
            (isWhole(model) && model.zero_shot !== true));
        this.model.replaceChildren(...this.models.map(({ name }) =>
            el('option', { value: name }, name)));
        if (this.models.some(({ name }) => name === before))
            this.model.value = before;
        if (this.shown && this.found === null)
            this.read();
    }

    /** @param {import('./entry.js').Record} record */
    addRecord(record) {
        this.texts.add(record);
    }

    setShown(shown) {
        this.shown = shown;
        this.fit.setShown(shown);
        if (shown && this.found === null && this.models.length > 0)
            this.read();
    }

    chosen() {
        return this.models.find(({ name }) => name === this.model.value);
    }

    /* ---- reading ---- */

    /** @param {boolean} byHand  a person waits for it */
    async read(byHand = false) {
        const model = this.chosen();
        if (model === undefined)
            return;
        this.reading?.abort();
        const reading = this.reading = new AbortController();
        this.state.textContent = 'Reading…';
        const how = { signal: reading.signal, byHand };
        const writes = model.task === 'generate';
        try {
            const found = writes ? await this.written.read(model.name, this.decision.value, how)
                : await getGroups(model.name, this.decision.value, how);
            if (reading === this.reading)
                writes ? this.takeWritten(found) : this.take(found);
        } catch (error) {
            if (reading === this.reading && !reading.signal.aborted)
                this.lose(error);
        }
    }

    /** @param {string} told  what is listed */
    takeWritten(told) {
        this.found = {};
        this.problem.replaceChildren();
        this.groups = [];
        this.close();
        this.work.hidden = true;
        this.fit.element.hidden = this.keys.hidden = true;
        this.state.textContent = told;
    }

    take(found) {
        this.found = found;
        this.keys.hidden = false;
        this.written.close();
        this.problem.replaceChildren();
        this.groups = found.groups.filter(({ items }) => items.length > 0);
        this.counts = new Map(found.labels.map(({ label, count }) => [label, count]));
        this.showLabels();
        this.state.textContent = this.stateText(found);
        this.drawList();
        this.open(0);
    }

    showLabels() {
        const { name, labels } = this.chosen();
        this.labels.draw(labels, [...this.counts.keys()]);
        this.fit.setLabels(name, this.counts);
    }

    stateText({ inputs, groups_total: total, forgotten }) {
        const more = total > this.groups.length
            ? ` The largest ${integer(this.groups.length)} are shown.` : '';
        const lost = forgotten === 0 ? '' : ` ${plural(forgotten, 'input')} more can be given no ` +
            'label: their predictions are no longer remembered.';
        return inputs === 0 ? `Nothing waits for a label.${lost}`
            : `${plural(inputs, 'input')} without a label, in ${plural(total, 'group')}.` +
                `${more}${lost}`;
    }

    /* What keeps no inputs is no fault: it says which options make it so. */
    lose(error) {
        if (!(error instanceof Refusal))
            throw error;
        const { problem } = error;
        this.close();
        this.written.close();
        this.work.hidden = true;
        this.state.textContent = problem.status === 404 ? `Nothing is shown: ${problem.detail}.`
            : 'Nothing could be read.';
        this.problem.replaceChildren(...problem.status === 404 ? []
            : [refusalPanel(problem, () => this.read(true))]);
        if (problem.status === 0)
            this.tellServer(false);
    }

    /* ---- groups ---- */

    drawList() {
        this.cards = this.groups.map((group, i) =>
            groupCard(group, this.inputs, () => this.open(i)));
        this.list.replaceChildren(...this.cards);
        this.work.hidden = this.groups.length === 0;
    }

    close() {
        this.opened?.close();
        this.opened = null;
        this.place.replaceChildren();
    }

    open(at) {
        this.close();
        this.at = Math.min(Math.max(at, 0), Math.max(this.groups.length - 1, 0));
        this.cards.forEach((card, i) => card.setAttribute('aria-pressed', String(i === this.at)));
        if (this.groups.length === 0)
            return;
        this.opened = new OpenGroup(this.groups[this.at], this.inputs, this.chosen());
        this.place.replaceChildren(this.opened.element);
        this.cards[this.at].scrollIntoView({ block: 'nearest' });
    }

    step(by) {
        const to = this.at + by;
        if (to < 0 || to >= this.groups.length)
            return;
        this.open(to);
        this.cards[to].focus({ preventScroll: true });
    }

    /* ---- labelling ---- */

    tell(text) {
        this.told.textContent = text;
        announce(text);
    }

    /** One at a time; the next group is open when the answer is there. */
    async give(label, isNew) {
        const group = this.opened?.group;
        const items = this.opened?.chosen() ?? [];
        if (this.isSending || items.length === 0)
            return;
        this.isSending = true;
        this.told.textContent = `Giving ${label} …`;
        try {
            const { done, failed } = await giveLabel(items, { label, isNew,
                most: this.chosen()?.inputs_max });
            this.problem.replaceChildren();
            if (done.length > 0)
                this.last = { items: done, label };
            this.tell(`${plural(done.length, 'input')} labelled ${label}.` +
                failuresText(failed));
            this.labelled(group, done, label);
        } catch (error) {
            this.refuse(error, () => this.give(label, isNew));
        } finally {
            this.isSending = false;
            this.undoing.disabled = this.last === null;
        }
    }

    /* What has its label goes; what is left of the group stays open, else the next is. */
    labelled(group, done, label) {
        if (done.length > 0)
            this.counts.set(label, (this.counts.get(label) ?? 0) + done.length);
        this.showLabels();
        const items = group.items.filter((item) => !done.includes(item));
        const isWhole = items.length === 0;
        if (isWhole && group.size > done.length)
            return void this.read();
        this.found.inputs -= done.length;
        this.found.groups_total -= isWhole ? 1 : 0;
        this.groups = this.groups.flatMap((one) => (one !== group ? [one]
            : isWhole ? [] : [this.shrunk(group, items, done.length)]));
        if (this.groups.length === 0 && this.found.groups_total > 0)
            return void this.read();
        this.state.textContent = this.stateText(this.found);
        this.drawList();
        this.open(this.at);
    }

    shrunk(group, items, gone) {
        const decisions = Object.fromEntries(Object.keys(group.decisions).map((name) =>
            [name, items.filter(({ decision }) => decision === name).length]));
        return { ...group, items, decisions, size: group.size - gone };
    }

    async undo() {
        if (this.isSending || this.last === null)
            return;
        this.isSending = true;
        const { items, label } = this.last;
        try {
            const failed = await takeBack(items);
            this.last = null;
            this.undoing.disabled = true;
            const count = items.length - failed.length;
            this.tell(`${label} is taken back from ${plural(count, 'input')}.` +
                failuresText(failed));
            await this.read(true);
        } finally {
            this.isSending = false;
        }
    }

    refuse(error, again) {
        if (!(error instanceof Refusal))
            throw error;
        this.told.textContent = '';
        this.problem.replaceChildren(refusalPanel(error.problem, again));
    }
}
