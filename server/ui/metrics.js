/* Parses Prometheus' text exposition, and computes values of a few families over an interval. */

/** @typedef {{name: string, labels: Object<string, string>, value: number}} Sample */
/** @typedef {{bounds: number[], counts: number[], total: number}} Histogram
 *     counts: cumulative, [bounds]; the last bound is Infinity */

const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)/;

function unescape(value) {
    return value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
}

function numberOf(word) {
    return word === '+Inf' ? Infinity : word === '-Inf' ? -Infinity : Number(word);
}

/** @returns {Sample[]} */
export function parse(text) {
    const samples = [];
    for (const line of text.split('\n')) {
        const parts = line.startsWith('#') ? null : LINE.exec(line);
        if (parts === null)
            continue;
        const labels = {};
        for (const [, name, value] of (parts[2] ?? '').matchAll(LABEL))
            labels[name] = unescape(value);
        samples.push({ name: parts[1], labels, value: numberOf(parts[3]) });
    }
    return samples;
}

/** Samples of a family with these labels. */
export function select(samples, name, labels = {}) {
    return samples.filter((sample) => sample.name === name &&
        Object.entries(labels).every(([key, value]) => sample.labels[key] === value));
}

export function sum(samples, name, labels = {}) {
    return select(samples, name, labels).reduce((total, sample) => total + sample.value, 0);
}

/** All histograms of a family with these labels as one. @returns {Histogram} */
export function histogram(samples, name, labels = {}) {
    const byBound = new Map();
    for (const sample of select(samples, `${name}_bucket`, labels)) {
        const bound = numberOf(sample.labels.le);
        byBound.set(bound, (byBound.get(bound) ?? 0) + sample.value);
    }
    const bounds = [...byBound.keys()].sort((a, b) => a - b);
    const counts = bounds.map((bound) => byBound.get(bound));
    return { bounds, counts, total: counts.at(-1) ?? 0 };
}

/** What came between two readings. @returns {Histogram} */
export function between(earlier, later) {
    const counts = later.counts.map((count, i) => count - (earlier.counts[i] ?? 0));
    return { bounds: later.bounds, counts, total: counts.at(-1) ?? 0 };
}

/** As histogram_quantile does it: linear inside of a bucket. NaN if it is empty. */
export function quantile(histogram, share) {
    const { bounds, counts, total } = histogram;
    if (total <= 0)
        return NaN;
    const wanted = share * total;
    const at = counts.findIndex((count) => count >= wanted);
    if (bounds[at] === Infinity)
        return bounds[at - 1] ?? NaN;
    const low = at > 0 ? bounds[at - 1] : 0;
    const before = at > 0 ? counts[at - 1] : 0;
    const inside = counts[at] - before;
    return inside > 0 ? low + (bounds[at] - low) * (wanted - before) / inside : bounds[at];
}

/** Values of a family added up by some of its labels: [[label values], value] in falling order. */
export function groupBy(samples, name, keys) {
    const groups = new Map();
    for (const sample of select(samples, name)) {
        const values = keys.map((key) => sample.labels[key] ?? '');
        const id = JSON.stringify(values);
        groups.set(id, { values, value: (groups.get(id)?.value ?? 0) + sample.value });
    }
    return [...groups.values()].sort((a, b) => b.value - a.value);
}
