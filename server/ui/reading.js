/* One reading of the metrics, and what came between two. */
import { between, histogram, parse, quantile, sum } from './metrics.js';

export const QUANTILES = [['p50', 0.5], ['p95', 0.95], ['p99', 0.99]];

/** @param {number} time  milliseconds */
export function readingOf(text, time) {
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

/** A point of the charts: rates a second and quantiles in milliseconds between two readings. */
export function pointOf(earlier, later) {
    const seconds = (later.time - earlier.time) / 1000;
    const rate = (key) => (later[key] - earlier[key]) / seconds;
    const spent = between(earlier.latency, later.latency);
    const quantiles = QUANTILES.map(([name, share]) => [name, quantile(spent, share) * 1000]);
    return { time: later.time, queue: later.queue, rate: rate('predictions'),
        rejectedRate: rate('rejected'), cpu: rate('cpu'), ...Object.fromEntries(quantiles) };
}

/** A point where nothing is known. */
export function gapAt(time) {
    return { time, queue: NaN, rate: NaN, rejectedRate: NaN, cpu: NaN, p50: NaN, p95: NaN,
        p99: NaN };
}
