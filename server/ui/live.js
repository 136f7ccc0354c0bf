/* The Live view: what /metrics says every two seconds, as long as somebody looks. */
import { Refusal, getMetrics } from './api.js';
import { chart } from './chart.js';
import { el, icon } from './dom.js';
import { bytes, clock, integer, milliseconds, percent, plural } from './format.js';
import { between, groupBy, histogram, parse, quantile, sum } from './metrics.js';

const EVERY_MS = 2000;
const SPAN_MS = 300000;
const RECORDS_MAX = 50;
const QUANTILES = [['p50', 0.5], ['p95', 0.95], ['p99', 0.99]];
const DECISIONS = ['auto', 'review', 'unknown'];

function perSecond(value) {
    return Number.isFinite(value) ? `${value >= 100 ? integer(value) : value.toFixed(1)}/s` : '–';
}

/** What one reading says by itself. */
function readingOf(text, time) {
    const samples = parse(text);
    return { time, samples,
        started: sum(samples, 'process_start_time_seconds'),
        predictions: sum(samples, 'attnd_predictions_total'),
        rejected: sum(samples, 'attnd_rejected_total'),
        cpu: sum(samples, 'process_cpu_seconds_total'),
        queue: sum(samples, 'attnd_queue_depth'),
        queueLimit: sum(samples, 'attnd_queue_limit'),
        inFlight: sum(samples, 'attnd_requests_in_flight'),
        latency: histogram(samples, 'attnd_request_duration_seconds', { route: '/predict' }) };
}

/** A point of the charts: what came between two readings. Times are milliseconds. */
function pointOf(earlier, later) {
    const seconds = (later.time - earlier.time) / 1000;
    const spent = between(earlier.latency, later.latency);
    const point = { time: later.time, queue: later.queue, inFlight: later.inFlight,
        rate: (later.predictions - earlier.predictions) / seconds,
        rejectedRate: (later.rejected - earlier.rejected) / seconds,
        cpu: (later.cpu - earlier.cpu) / seconds };
    for (const [name, share] of QUANTILES)
        point[name] = quantile(spent, share) * 1000;
    return point;
}

function tile(title, drawn, ...parts) {
    return el('section', { class: 'panel tile', 'aria-label': title }, el('h2', {}, title), ...parts,
        drawn?.element ?? null);
}

function figure(id, label) {
    const value = el('span', { class: 'big number', id }, '–');
    return { value, element: el('p', { class: 'figure' }, value, ' ', el('span', { class: 'hint' }, label)) };
}

function row(cells, header = 0) {
    return el('tr', {}, ...cells.map((cell, i) => i < header
        ? el('th', { scope: 'row' }, cell)
        : el('td', { class: 'number' }, cell)));
}

function table(id, caption, heads) {
    const body = el('tbody');
    const element = el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
        el('table', { class: 'data', id },
            el('caption', { class: 'hidden' }, caption),
            el('thead', {}, el('tr', {}, ...heads.map((head) => el('th', { scope: 'col' }, head)))),
            body));
    return { element, body };
}

const CHARTS = {
    rate: { title: 'Predictions a second', format: perSecond,
        series: [{ name: 'rate', style: 'first', value: (point) => point.rate }] },
    latency: { title: 'Latency', format: milliseconds,
        series: [{ name: 'p99', style: 'second', value: (point) => point.p99 },
            { name: 'p50', style: 'first', value: (point) => point.p50 }] },
    queue: { title: 'Inputs waiting', format: integer,
        series: [{ name: 'queue', style: 'first', value: (point) => point.queue }] },
    cpu: { title: 'Processor', format: (value) => value.toFixed(1),
        series: [{ name: 'cpu', style: 'first', value: (point) => point.cpu }] },
};

export class LiveView {
    /**
     * @param {HTMLElement} root
     * @param {(ok: boolean, text: string) => void} tellServer
     */
    constructor(root, tellServer) {
        this.tellServer = tellServer;
        this.shown = false;
        this.timer = 0;
        this.readings = [];
        this.points = [];
        this.models = [];
        this.records = [];
        this.lastAnswer = null;
        this.build(root);
        document.addEventListener('visibilitychange', () => this.wake());
    }

    build(root) {
        this.charts = Object.fromEntries(Object.entries(CHARTS).map(([name, options]) =>
            [name, chart({ ...options, spanMs: SPAN_MS })]));
        this.rate = figure('rate', 'predictions a second');
        this.total = el('p', { class: 'hint', id: 'total' });
        this.queue = figure('queue', 'inputs waiting');
        this.queueLimit = el('p', { class: 'hint', id: 'queue-limit' });
        this.cpu = figure('cpu', 'processors busy');
        this.process = el('p', { class: 'hint', id: 'process' });
        this.gone = el('div', { class: 'panel problem', id: 'gone', hidden: true });
        this.latency = table('latency', 'Latency of /predict', ['', 'p50', 'p95', 'p99', 'requests']);
        this.decisions = table('decisions', 'Decisions by class since the start',
            ['Model', 'Class', 'Automatic', 'Review', 'Unknown']);
        this.rejections = table('rejections', 'Errors by reason since the start', ['Reason', 'Count']);
        this.recent = table('recent', 'Recent predictions of this page',
            ['Time', 'Input', 'Model', 'Class', 'Score', 'Decision', 'Round trip']);
        this.served = table('served', 'Models served',
            ['Model', 'Kind', 'Family', 'Version', 'Precision', 'Classes', 'Layers', 'Parameters']);
        root.append(this.gone, this.tiles(), this.tables());
        this.showRecords();
    }

    tiles() {
        return el('div', { class: 'tiles' },
            tile('Throughput', this.charts.rate, this.rate.element, this.total),
            tile('Latency', this.charts.latency, this.latency.element),
            tile('Queue', this.charts.queue, this.queue.element, this.queueLimit),
            tile('Process', this.charts.cpu, this.cpu.element, this.process));
    }

    tables() {
        return el('div', { class: 'tables' },
            tile('Decisions by class', null, this.decisions.element),
            tile('Errors', null, this.rejections.element),
            tile('Recent predictions', null, el('p', { class: 'hint' },
                'Of this page only, kept in its memory until it is reloaded. No log text is kept.'),
            this.recent.element),
            tile('Models', null, this.served.element));
    }

    setModels(models) {
        this.models = models;
        this.served.body.replaceChildren(...models.map((model) => row([model.name, model.kind,
            model.family, model.version ?? '–', model.dtype, integer(model.labels.length),
            integer(model.layers), integer(model.parameters)], 1)));
    }

    addRecord(record) {
        this.records = [record, ...this.records].slice(0, RECORDS_MAX);
        this.showRecords();
    }

    showRecords() {
        const rows = this.records.map(({ when, name, answer, roundTripMs }) =>
            row([clock(when), name, answer.model.name, answer.label, percent(answer.score),
                answer.decision, milliseconds(roundTripMs)], 1));
        this.recent.body.replaceChildren(...(rows.length > 0 ? rows : [row(['none yet'], 1)]));
    }

    setShown(shown) {
        this.shown = shown;
        this.wake();
    }

    /** Reads at once if somebody looks and nobody is reading yet. */
    wake() {
        clearTimeout(this.timer);
        if (this.shown && !document.hidden)
            this.read();
    }

    async read() {
        this.reading?.abort();
        const reading = this.reading = new AbortController();
        try {
            const text = await getMetrics(reading.signal);
            this.take(readingOf(text, performance.now()));
        } catch (error) {
            if (reading !== this.reading)
                return;
            this.lost(error);
        }
        clearTimeout(this.timer);
        if (this.shown && !document.hidden)
            this.timer = setTimeout(() => this.read(), EVERY_MS);
    }

    /** Counters that began anew tell nothing about the interval before. */
    take(reading) {
        const before = this.readings.at(-1);
        if (before !== undefined && before.started !== reading.started) {
            this.readings = [];
            this.points = [];
        } else if (before !== undefined) {
            this.points.push(pointOf(before, reading));
        }
        this.readings = [reading];
        this.points = this.points.filter((point) => reading.time - point.time <= SPAN_MS);
        this.lastAnswer = new Date();
        this.gone.hidden = true;
        this.tellServer(true, this.models.length > 0 ? plural(this.models.length, 'model') : 'answers');
        this.show(reading, this.points.at(-1));
    }

    lost(error) {
        const since = this.lastAnswer === null ? '' : ` since ${clock(this.lastAnswer)}`;
        const detail = error instanceof Refusal ? error.problem.detail : String(error);
        this.gone.hidden = false;
        this.gone.replaceChildren(el('h2', {}, icon('error'), `No metrics${since}`),
            el('p', {}, `${detail} Asked again every ${EVERY_MS / 1000} s; the figures below are old.`));
        this.tellServer(false, 'No answer from the server');
        const gap = { time: performance.now(), rate: NaN, queue: NaN, cpu: NaN, p50: NaN, p99: NaN };
        this.points.push(gap);
    }

    show(reading, point) {
        for (const drawn of Object.values(this.charts))
            drawn.draw(this.points, reading.time);
        this.rate.value.textContent = perSecond(point?.rate);
        this.total.textContent = `${integer(reading.predictions)} since the start; errors ` +
            perSecond(point?.rejectedRate);
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
        const recent = QUANTILES.map(([name]) => milliseconds(point?.[name]));
        const ever = QUANTILES.map(([, share]) => milliseconds(quantile(reading.latency, share) * 1000));
        this.latency.body.replaceChildren(
            row(['last 2 s', ...recent, ''], 1),
            row(['since start', ...ever, integer(reading.latency.total)], 1));
    }

    showDecisions(reading) {
        const counts = groupBy(reading.samples, 'attnd_predictions_total', ['model', 'label', 'decision']);
        const of = (model, label, decision) => counts.find(({ values }) =>
            values[0] === model && values[1] === label && values[2] === decision)?.value ?? 0;
        const classes = groupBy(reading.samples, 'attnd_predictions_total', ['model', 'label'])
            .filter(({ value }) => value > 0);
        const rows = classes.map(({ values: [model, label] }) => row([model, label,
            ...DECISIONS.map((decision) => integer(of(model, label, decision)))], 2));
        this.decisions.body.replaceChildren(...(rows.length > 0 ? rows : [row(['none yet'], 1)]));
    }

    showRejections(reading) {
        const reasons = groupBy(reading.samples, 'attnd_rejected_total', ['reason'])
            .filter(({ value }) => value > 0);
        const rows = reasons.map(({ values, value }) => row([values[0], integer(value)], 1));
        this.rejections.body.replaceChildren(...(rows.length > 0 ? rows : [row(['none'], 1)]));
    }
}
