/* The History view: the answers of this tab, and the labels that were marked as the right ones. */
import { el } from './dom.js';
import { contextText } from './context.js';
import { entryOf, linesOf } from './entry.js';
import { rightOf } from './feedback.js';
import { clock, integer, plural } from './format.js';
import { save, saveButtons } from './save.js';
import { num, row, table } from './table.js';
import { scoreText } from './tasks.js';
import { shortVerdict } from './verdict.js';

const ENTRIES_MAX = 5000;
const ROWS_SHOWN = 200;

export class HistoryView {
    /**
     * @param {HTMLElement} root
     * @param {import('./feedback.js').Feedback} feedback
     */
    constructor(root, feedback) {
        this.feedback = feedback;
        this.entries = []; // the newest first
        this.shown = false;
        this.due = false;
        this.count = el('p', { class: 'hint', id: 'history-count' });
        this.answers = table('history-rows', 'Answers of this tab', ['Time', 'Input', 'Verdict',
            num('Score'), 'Decision', 'Model', 'Context', 'Right label']);
        this.marked = el('p', { class: 'hint', id: 'labels-count' });
        this.labels = table('labels-rows', 'Right labels', ['Input', 'Predicted', 'Right label',
            'Model', 'Sent']);
        root.append(this.answersPanel(), this.labelsPanel());
    }

    answersPanel() {
        return el('section', { class: 'panel tile', 'aria-label': 'Answers of this tab' },
            el('h2', {}, 'Answers of this tab'), this.count,
            saveButtons('attnd-history', () => this.all()), this.answers.element);
    }

    labelsPanel() {
        const button = (text, click) =>
            el('button', { type: 'button', class: 'small', click }, text);
        return el('section', { class: 'panel tile', 'aria-label': 'Right labels' },
            el('h2', {}, 'Right labels'), this.marked,
            el('div', { class: 'row save' },
                button('Download JSONL', () => save('attnd-labels.jsonl', 'application/jsonl',
                    linesOf(this.feedback.marks))),
                button('Clear', () => this.feedback.clear())),
            this.labels.element);
    }

    /** @param {import('./entry.js').Record} record */
    add(record) {
        this.entries = [entryOf(record), ...this.entries].slice(0, ENTRIES_MAX);
        this.update();
    }

    /** An entry with what a person has said of it. */
    finish(entry) {
        return { ...entry, right_label: this.feedback.labelOf(entry) };
    }

    /** In the order in which they came. */
    all() {
        return this.entries.map((entry) => this.finish(entry)).reverse();
    }

    setShown(shown) {
        this.shown = shown;
        this.update();
    }

    /** Drawn when it is seen, and once for many answers that come together. */
    update() {
        if (!this.shown || this.due)
            return;
        this.due = true;
        setTimeout(() => {
            this.due = false;
            this.draw();
        });
    }

    draw() {
        const more = this.entries.length - ROWS_SHOWN;
        this.count.textContent = `${plural(this.entries.length, 'answer')}, in the memory of ` +
            `this page until it is reloaded; no text that was sent is kept.${more > 0
                ? ` The last ${ROWS_SHOWN} are shown, all are saved.` : ''}`;
        this.answers.fill(this.entries.slice(0, ROWS_SHOWN).map((entry) =>
            row(clock(new Date(entry.time)), entry.input, shortVerdict(entry),
                num(scoreText(entry)), entry.decision ?? '–', entry.model,
                contextText(entry.context), this.feedback.labelOf(entry) ?? '')));
        this.drawLabels();
    }

    drawLabels() {
        const { marks } = this.feedback;
        const sent = marks.filter((mark) => mark.sent).length;
        this.marked.textContent = `${plural(marks.length, 'label')}, kept in this browser with ` +
            'the names of the inputs until they are cleared; ' +
            `${integer(sent)} sent to the server.`;
        this.labels.fill([...marks].reverse().slice(0, ROWS_SHOWN).map((mark) =>
            row(String(mark.input), String(mark.predicted ?? 'No text'), rightOf(mark),
                String(mark.model),
                mark.sent === true ? 'yes' : 'no')));
    }
}
