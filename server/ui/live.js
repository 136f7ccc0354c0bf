/* The Live view: reads /metrics every two seconds while the view is visible. */
import { Refusal, getMetrics } from './api.js';
import { chart } from './chart.js';
import { el, icon } from './dom.js';
import { bytes, clock, integer, milliseconds, percent, plural } from './format.js';
import { groupBy, quantile, sum } from './metrics.js';
import { QUANTILES, gapAt, pointOf, readingOf } from './reading.js';
import { num, row, table } from './table.js';
import { shortVerdict } from './verdict.js';

const EVERY_MS = 2000;
const SPAN_MS = 300000;
const RECORDS_MAX = 50;
const DECISIONS = ['auto', 'review', 'unknown'];

function perSecond(value) {
    if (!Number.isFinite(value))
        return '–';
    return `${value >= 100 ? integer(value) : value.toFixed(1)}/s`;
}

const CHARTS = {
    rate: { title: 'Predictions a second', format: perSecond, least: 1,
        series: [{ name: 'rate', style: 'first', value: (point) => point.rate }] },
    latency: { title: 'Latency', format: milliseconds, least: 1,
        series: [{ name: 'p50', style: 'first', value: (point) => point.p50 },
            { name: 'p99', style: 'second', value: (point) => point.p99 }] },
    queue: { title: 'Inputs waiting', format: integer, least: 10,
        series: [{ name: 'queue', style: 'first', value: (point) => point.queue }] },
    cpu: { title: 'Processors busy', format: (value) => value.toFixed(1), least: 1,
        series: [{ name: 'cpu', style: 'first', value: (point) => point.cpu }] },
};

function tile(title, ...parts) {
    return el('section', { class: 'panel tile', 'aria-label': title }, el('h2', {}, title),
        ...parts);
}

/** A large number and what it counts. */
function figure(id, label) {
    const value = el('span', { class: 'big number', id }, '–');
    const element = el('p', {}, value, ' ', el('span', { class: 'hint' }, label));
    return { value, element };
}

function hint(id) {
    return el('p', { class: 'hint', id });
}

export class LiveView {
    /**
     * @param {HTMLElement} root
     * @param {(ok: boolean, text: string) => void} tellServer
     */
    constructor(root, tellServer) {
        this.tellServer = tellServer;
        this.shown = false;
        this.timer = 0;
        this.last = null; // the reading before
        this.lastAnswer = null;
        this.points = [];
        this.models = [];
        this.records = [];
        this.build(root);
        document.addEventListener('visibilitychange', () => this.wake());
    }

    build(root) {
        this.charts = Object.fromEntries(Object.entries(CHARTS).map(([name, options]) =>
            [name, chart({ ...options, spanMs: SPAN_MS })]));
        this.rate = figure('rate', 'predictions a second');
        this.total = hint('total');
        this.queue = figure('queue', 'inputs waiting');
        this.queueLimit = hint('queue-limit');
        this.cpu = figure('cpu', 'processors busy');
        this.process = hint('process');
        this.gone = el('div', { class: 'panel problem', id: 'gone', hidden: true });
        this.buildTables();
        root.append(this.gone, this.tiles(), this.tables());
        this.showRecords();
    }

    buildTables() {
        this.latency = table('latency', 'Latency of /predict', ['', num('p50'), num('p95'),
            num('p99')]);
        this.decisions = table('decisions', 'Decisions by class since the start',
            ['Model', 'Class', num('Automatic'), num('Review'), num('Unknown')]);
        this.rejections = table('rejections', 'Errors by reason since the start',
            ['Reason', num('Count')]);
        this.recent = table('recent', 'Recent predictions of this page', ['Time', 'Input',
            'Class', num('Score'), 'Decision', num('Round trip')]);
        this.served = table('served', 'Models served', ['Model', 'Kind', 'Precision',
            num('Classes'), num('Layers'), num('Parameters')]);
    }

    tiles() {
        const { rate, latency, queue, cpu } = this.charts;
        return el('div', { class: 'tiles' },
            tile('Throughput', this.rate.element, this.total, rate.element),
            tile('Latency', this.latency.element, latency.element),
            tile('Queue', this.queue.element, this.queueLimit, queue.element),
            tile('Process', this.cpu.element, this.process, cpu.element));
    }

    tables() {
        return el('div', { class: 'tables' },
            tile('Decisions by class', this.decisions.element),
            tile('Recent predictions', el('p', { class: 'hint' },
                'Of this page only, in its memory until it is reloaded. No log text is kept.'),
            this.recent.element),
            tile('Models', this.served.element),
            tile('Errors', this.rejections.element));
    }

    setModels(models) {
        this.models = models;
        this.served.fill(models.map((model) => row(model.name, model.kind, model.dtype,
            num(integer(model.labels.length)), num(integer(model.layers)),
            num(integer(model.parameters)))));
    }

    /** @param {import('./entry.js').Record} record */
    addRecord(record) {
        this.records = [record, ...this.records].slice(0, RECORDS_MAX);
        this.showRecords();
    }

    showRecords() {
        this.recent.fill(this.records.map(({ when, name, answer, roundTripMs }) =>
            row(clock(when), name, shortVerdict(answer), num(percent(answer.score)),
                answer.decision ?? '–', num(milliseconds(roundTripMs)))));
    }

    setShown(shown) {
        this.shown = shown;
        this.wake();
    }

    /** Reads at once if the view is visible. */
    wake() {
        clearTimeout(this.timer);
        if (this.shown && !document.hidden)
            this.read();
    }

    async read() {
        this.reading?.abort();
        const reading = this.reading = new AbortController();
        try {
            this.take(readingOf(await getMetrics(reading.signal), performance.now()));
        } catch (error) {
            if (reading.signal.aborted)
                return;
            this.lost(error);
        }
        clearTimeout(this.timer);
        if (this.shown && !document.hidden)
            this.timer = setTimeout(() => this.read(), EVERY_MS);
    }

    /** Counters that were reset have no difference to the reading before. */
    take(reading) {
        const same = this.last !== null && this.last.started === reading.started;
        this.points = same ? [...this.points, pointOf(this.last, reading)] : [];
        this.points = this.points.filter((point) => reading.time - point.time <= SPAN_MS);
        this.last = reading;
        this.lastAnswer = new Date();
        this.gone.hidden = true;
        this.tellServer(true);
        this.show(reading, this.points.at(-1));
    }

    lost(error) {
        const since = this.lastAnswer === null ? '' : ` since ${clock(this.lastAnswer)}`;
        const detail = error instanceof Refusal ? error.problem.detail : String(error);
        this.gone.hidden = false;
        this.gone.replaceChildren(el('h2', {}, icon('error'), `No metrics${since}`),
            el('p', {}, `${detail} It is asked again every ${EVERY_MS / 1000} s; ` +
                'the figures below are old.'));
        this.tellServer(false);
        this.points.push(gapAt(performance.now()));
    }

    show(reading, point) {
        for (const drawn of Object.values(this.charts))
            drawn.draw(this.points, reading.time);
        this.rate.value.textContent = perSecond(point?.rate);
        this.total.textContent = `${integer(reading.predictions)} since the start; ` +
            `errors ${perSecond(point?.rejectedRate)}`;
        this.queue.value.textContent = integer(reading.queue);
        this.queueLimit.textContent = `of ${integer(reading.queueLimit)} that may wait; ` +
            `${plural(reading.inFlight, 'request')} in flight`;
        this.showProcess(reading, point);
        this.showLatency(reading, point);
        this.showDecisions(reading);
        this.showRejections(reading);
    }

    showProcess(reading, point) {
        const memory = sum(reading.samples, 'process_resident_memory_bytes');
        const started = new Date(reading.started * 1000);
        this.cpu.value.textContent = point === undefined ? '–' : point.cpu.toFixed(2);
        this.process.textContent = `${bytes(memory)} resident; up since ` +
            `${started.toLocaleDateString('en-CA')} ${clock(started)}`;
    }

    showLatency(reading, point) {
        const ever = QUANTILES.map(([, share]) => quantile(reading.latency, share) * 1000);
        const recent = QUANTILES.map(([name]) => point?.[name]);
        this.latency.fill([['last 2 s', recent], ['since start', ever]].map(([name, values]) =>
            row(name, ...values.map((ms) => num(milliseconds(ms))))));
    }

    showDecisions(reading) {
        const family = 'attnd_predictions_total';
        const counts = groupBy(reading.samples, family, ['model', 'label', 'decision']);
        const count = (...values) => counts.find((group) =>
            group.values.every((value, i) => value === values[i]))?.value ?? 0;
        const classes = groupBy(reading.samples, family, ['model', 'label'])
            .filter(({ value }) => value > 0);
        this.decisions.fill(classes.map(({ values: [model, label] }) => row(model, label,
            ...DECISIONS.map((decision) => num(integer(count(model, label, decision)))))));
    }

    showRejections(reading) {
        const reasons = groupBy(reading.samples, 'attnd_rejected_total', ['reason'])
            .filter(({ value }) => value > 0);
        this.rejections.fill(reasons.map(({ values, value }) => row(...values,
            num(integer(value)))));
    }
}
