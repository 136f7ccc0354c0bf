/* Wafer maps drawn by rule, as WM-811K has them: 0 outside, 127 a die that passes, 255 one that
 * fails, now and then anywhere, and patterns without a sharp edge: with one, wafer-vit calls them
 * unknown. The same seed draws the same wafer. */
import { greyPng } from './png.mjs';

const OUTSIDE = 0, PASS = 127, FAIL = 255;

export const SIDE = 40;

/** Numbers in 0..1 (mulberry32). */
function random(seed) {
    return () => {
        seed = (seed + 0x6D2B79F5) | 0;
        let t = Math.imul(seed ^ (seed >>> 15), seed | 1);
        t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

/** Distance of a point from a line between two points. */
function fromLine(x, y, [x0, y0], [x1, y1]) {
    const length = (x1 - x0) ** 2 + (y1 - y0) ** 2;
    const along = Math.min(1, Math.max(0, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length));
    return Math.hypot(x - x0 - along * (x1 - x0), y - y0 - along * (y1 - y0));
}

/** Rises from 0 to 1 about `at`, most of it within four times `width`. */
function rise(r, at, width) {
    return 1 / (1 + Math.exp((at - r) / width));
}

/** The probability that a die fails, at x, y in -1..1 and the distance r from the centre. */
export const PATTERNS = {
    none: () => 0,
    center: (x, y, r) => 0.9 * rise(-r, -0.33, 0.06),
    edge_ring: (x, y, r) => 0.9 * rise(r, 0.88, 0.04),
    scratch: (x, y) => (fromLine(x, y, [-0.5, -0.6], [0.35, 0.3]) < 0.028 ? 0.95 : 0),
    /* A blob in the upper left quarter and nowhere else. */
    upper_left: (x, y) => (Math.hypot(x + 0.42, y + 0.42) < 0.24 ? 0.9 : 0),
    donut: (x, y, r) => (r > 0.3 && r < 0.6 ? 0.7 : 0),
    lower_right: (x, y) => (Math.hypot(x - 0.42, y - 0.42) < 0.24 ? 0.9 : 0),
};

/**
 * @param {keyof PATTERNS} pattern
 * @param {number} side  dies across
 * @returns {Buffer} a PNG of side x side pixels
 */
export function waferPng(pattern, side = SIDE, seed = 1, noise = 0.08) {
    const next = random(seed);
    const grey = new Uint8Array(side * side);
    for (let i = 0; i < grey.length; i++) {
        const x = (2 * (i % side) + 1) / side - 1;
        const y = (2 * Math.floor(i / side) + 1) / side - 1;
        const r = Math.hypot(x, y);
        const likely = Math.max(noise, PATTERNS[pattern](x, y, r));
        grey[i] = r > 1 ? OUTSIDE : next() < likely ? FAIL : PASS;
    }
    return greyPng(grey, side, side);
}
