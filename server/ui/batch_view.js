/* Several inputs at once: a table with a row for each, which fills while the server answers. */
import { rowOf, runBatch } from './batch.js';
import { rowElement, showRow } from './batch_row.js';
import { announce, el } from './dom.js';
import { entryOf } from './entry.js';
import { integer, plural } from './format.js';
import { saveButtons } from './save.js';

/* More would make the page slow. */
const ROWS_MAX = 1000;

const WORDS = { auto: 'automatic', review: 'review', unknown: 'unknown' };

function button(text, click) {
    return el('button', { type: 'button', class: 'small', click }, text);
}

export class BatchView {
    /**
     * @param {HTMLElement} root
     * @param {import('./options.js').Options} options
     * @param {{record: (record: object) => void, open: (row: object) => void,
     *     tellServer: (ok: boolean) => void, finish: (entry: object) => object}} page
     *     open: shows a row's result in full; finish: completes an entry that is saved
     */
    constructor(root, options, page) {
        this.root = root;
        this.options = options;
        this.page = page;
        this.rows = [];
        this.running = null;
        this.status = el('p', { class: 'hint', id: 'batch-status' });
        this.left = el('p', { class: 'note', id: 'batch-left', hidden: true });
        this.bar = el('progress', { id: 'batch-progress', 'aria-label': 'Answered', hidden: true });
        this.cancel = button('Cancel', () => this.stop());
        this.rest = button('Send the rest', () => this.run());
        this.anew = button('Send all again', () => this.again());
    }

    /** @param {File[]} files */
    async take(files) {
        this.close();
        const running = this.running = new AbortController();
        this.root.hidden = false;
        this.left.hidden = files.length <= ROWS_MAX;
        this.left.textContent = `The first ${integer(ROWS_MAX)} of ` +
            `${plural(files.length, 'file')} are taken; choose the others afterwards.`;
        this.draw(Math.min(files.length, ROWS_MAX));
        const rows = [];
        for (const file of files.slice(0, ROWS_MAX)) {
            rows.push(await rowOf(file));
            if (running.signal.aborted)
                return;
        }
        this.rows = rows;
        await this.run();
    }

    draw(count) {
        this.body = el('tbody');
        this.heads = el('tr');
        this.root.replaceChildren(el('h2', {}, plural(count, 'input')), this.left,
            el('div', { class: 'row' }, this.bar, this.status, this.cancel, this.rest, this.anew,
                saveButtons('attnd-results', () => this.entries())),
            el('div', { class: 'scroll tall', tabindex: 0, role: 'region',
                'aria-label': 'Results of several inputs' },
            el('table', { class: 'data batch', id: 'batch-rows' },
                el('thead', {}, this.heads), this.body)));
        this.tell('');
    }

    /** The columns, and each row as far as it is known. */
    fill() {
        const second = ['image', 'text'].map((kind) => this.options.of(kind)[1])
            .find((options) => options !== undefined);
        this.second = second !== undefined;
        const heads = ['Input', 'Verdict', 'Score', 'Decision', 'Why',
            ...this.second ? [`By ${second.model}`] : []];
        this.heads.replaceChildren(...heads.map((head) =>
            el('th', { scope: 'col', class: head === 'Score' ? 'number' : null }, head)));
        for (const row of this.rows) {
            row.element ??= rowElement(row, () => this.open(row));
            showRow(row, this.second);
        }
        this.body.replaceChildren(...this.rows.map((row) => row.element));
    }

    open(row) {
        for (const { element } of this.rows)
            element.classList.toggle('open', element === row.element);
        this.page.open(row);
    }

    again() {
        this.stop();
        this.rows.forEach((row) => {
            row.results = [];
        });
        this.run();
    }

    lacks({ kind, results }) {
        return results.length < this.options.of(kind).length ||
            results.some((result) => result?.answer === undefined);
    }

    /** Sends what has no answer yet. */
    async run() {
        const running = this.running = new AbortController();
        const how = { signal: running.signal,
            done: (rows, which) => this.done(rows, which),
            waiting: (seconds) => this.tell(seconds > 0
                ? `The server is busy: goes on in ${plural(seconds, 'second')}. ` : '') };
        this.rows.filter((row) => this.lacks(row)).forEach((row) => {
            row.results = [];
        });
        this.fill();
        this.tell('');
        try {
            this.end(running, await runBatch(this.rows, this.options, how));
        } catch (error) {
            if (running.signal.aborted)
                return;
            this.end(running, { status: -1, detail: `Error in this page: ${error}` });
            console.error(error);
        }
    }

    end(running, problem) {
        if (running !== this.running)
            return;
        this.running = null;
        this.page.tellServer(problem?.status !== 0);
        this.tell(problem === null ? '' : `Stopped: ${problem.detail} `);
        announce(this.status.textContent);
    }

    done(rows, which) {
        for (const row of rows) {
            const { answer, roundTripMs, index } = row.results[which] ?? {};
            row.when = new Date();
            showRow(row, this.second);
            if (answer !== undefined)
                this.page.record({ when: row.when, name: row.name, kind: row.kind, answer,
                    roundTripMs, index, blob: row.kind === 'image' ? row.file : undefined });
        }
        this.tell('');
    }

    /** @param {string} first  what matters most now */
    tell(first) {
        const answered = this.rows.filter((row) => row.results.length > 0);
        const firsts = answered.map((row) => row.results[0]);
        const counts = Object.entries(WORDS).map(([decision, word]) =>
            [firsts.filter(({ answer }) => answer?.decision === decision).length, word]);
        counts.push([firsts.filter(({ problem }) => problem !== undefined).length, 'failed']);
        const parts = counts.filter(([count]) => count > 0)
            .map(([count, word]) => `${integer(count)} ${word}`);
        const busy = this.running !== null;
        this.status.textContent = `${first}${integer(answered.length)} of ` +
            `${integer(this.rows.length)} answered` +
            `${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
        this.bar.max = Math.max(1, this.rows.length);
        this.bar.value = answered.length;
        this.bar.hidden = this.cancel.hidden = !busy;
        this.anew.hidden = busy;
        this.rest.textContent = answered.length < this.rows.length ? 'Send the rest'
            : 'Send the failed again';
        this.rest.hidden = busy || !this.rows.some((row) => this.lacks(row));
    }

    /** What runs, ends; what came, stays. */
    stop() {
        this.running?.abort();
        this.running = null;
        this.tell('Cancelled. ');
    }

    /** Makes room for another input. */
    close() {
        this.running?.abort();
        this.running = null;
        this.rows.forEach((row) => row.url && URL.revokeObjectURL(row.url));
        this.rows = [];
        this.root.hidden = true;
        this.root.replaceChildren();
    }

    entries() {
        return this.rows.flatMap((row) => row.results.map((result) => this.page.finish(
            entryOf({ when: row.when, name: row.name, kind: row.kind, ...result }))));
    }
}
