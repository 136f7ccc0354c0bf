/* The History view: the answers of this tab. */
import { el } from './dom.js';
import { contextText } from './context.js';
import { entryOf } from './entry.js';
import { clock, percent, plural } from './format.js';
import { saveButtons } from './save.js';
import { num, row, table } from './table.js';
import { shortVerdict } from './verdict.js';

const ENTRIES_MAX = 5000;
const ROWS_SHOWN = 200;

export class HistoryView {
    /** @param {HTMLElement} root */
    constructor(root) {
        this.entries = []; // the newest first
        this.shown = false;
        this.due = false;
        this.count = el('p', { class: 'hint', id: 'history-count' });
        this.answers = table('history-rows', 'Answers of this tab', ['Time', 'Input', 'Verdict',
            num('Score'), 'Decision', 'Model', 'Context']);
        root.append(this.answersPanel());
    }

    answersPanel() {
        return el('section', { class: 'panel tile', 'aria-label': 'Answers of this tab' },
            el('h2', {}, 'Answers of this tab'), this.count,
            saveButtons('attnd-history', () => this.all()), this.answers.element);
    }

    /** @param {import('./entry.js').Record} record */
    add(record) {
        this.entries = [entryOf(record), ...this.entries].slice(0, ENTRIES_MAX);
        this.update();
    }

    /** In the order in which they came. */
    all() {
        return [...this.entries].reverse();
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
            `this page until it is reloaded; no text is kept.${more > 0
                ? ` The last ${ROWS_SHOWN} are shown, all are saved.` : ''}`;
        this.answers.fill(this.entries.slice(0, ROWS_SHOWN).map((entry) =>
            row(clock(new Date(entry.time)), entry.input, shortVerdict(entry),
                num(percent(entry.score)), entry.decision, entry.model,
                contextText(entry.context))));
    }
}
