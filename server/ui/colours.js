/* The ramp of the heat maps: even steps of lightness in OKLab (Ottosson 2020), so that twice the
 * relevance looks twice as far along, from dark violet over red to light yellow; it also falls into
 * order in grey. */

const STEPS = 256;

/* Lightness, chroma and hue in degrees at the two ends; what lies between is linear. */
const FROM = { lightness: 0.28, chroma: 0.13, hue: 300 };
const TO = { lightness: 0.94, chroma: 0.12, hue: 460 };

function gamma(linear) {
    const value = Math.min(Math.max(linear, 0), 1);
    return value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055;
}

/** OKLab's own matrices, to sRGB bytes. */
function toRgb(lightness, a, b) {
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3;
    return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s]
        .map((channel) => Math.round(255 * gamma(channel)));
}

function between(key, t) {
    return FROM[key] + (TO[key] - FROM[key]) * t;
}

function stepAt(t) {
    const hue = between('hue', t) * Math.PI / 180;
    const chroma = between('chroma', t) + 0.09 * Math.sin(Math.PI * t);
    return toRgb(between('lightness', t), chroma * Math.cos(hue), chroma * Math.sin(hue));
}

/** [256][3] */
export const RAMP = Array.from({ length: STEPS }, (_, i) => stepAt(i / (STEPS - 1)));

/** Writes RGBA for t in 0..1: the less relevant, the more of the picture shows through. */
export function putColour(pixels, at, t) {
    const step = Math.round(Math.min(Math.max(t, 0), 1) * (STEPS - 1));
    [pixels[at], pixels[at + 1], pixels[at + 2]] = RAMP[step];
    pixels[at + 3] = step;
}
