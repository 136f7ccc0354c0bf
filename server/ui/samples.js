/* Inputs to try. All are made for this page: tests/browser/make_samples.mjs draws the wafers. */
import { el } from './dom.js';
import { inputOf } from './input.js';

/* `label` is what the sample shows: models that have it are tried first. */
const SAMPLES = [
    { file: 'wafer_edge_ring.png', title: 'Edge ring', kind: 'image', label: 'Edge-Ring' },
    { file: 'wafer_center.png', title: 'Center', kind: 'image', label: 'Center' },
    { file: 'wafer_scratch.png', title: 'Scratch', kind: 'image', label: 'Scratch' },
    { file: 'kernel_oops.txt', title: 'Kernel crash', kind: 'text', label: 'fault_null_deref' },
    { file: 'test_floor.txt', title: 'Test-floor log', kind: 'text', label: 'leakage' },
];

/** The first model of the sample's kind that has its label. */
function modelFor(sample, models) {
    return models.find(({ kind, labels }) => kind === sample.kind &&
        labels.includes(sample.label));
}

/** Samples of the served kinds whose label a model has; if a kind has none, all of that kind. */
export function samplesFor(models) {
    const known = SAMPLES.filter((sample) => modelFor(sample, models) !== undefined);
    const kinds = new Set(models.map((model) => model.kind));
    const served = SAMPLES.filter((sample) => kinds.has(sample.kind));
    return served.filter((sample) => known.includes(sample) ||
        !known.some((other) => other.kind === sample.kind));
}

/** @returns {Promise<import('./api.js').Input>} */
async function load(sample) {
    const response = await fetch(`ui/${sample.file}`);
    if (!response.ok)
        throw new Error(`sample ${sample.file}: HTTP ${response.status}`);
    const blob = await response.blob();
    return inputOf(new File([blob], sample.file, { type: blob.type }));
}

function face(sample) {
    const picture = sample.kind === 'image'
        ? el('img', { src: `ui/${sample.file}`, alt: '', width: 40, height: 40 }) : null;
    return el('button', { type: 'button', class: `sample ${sample.kind}` }, picture,
        el('span', {}, sample.title));
}

/**
 * @param {object[]} models
 * @param {(input: import('./api.js').Input, model: string) => void} take
 * @returns {Element[]}
 */
export function sampleButtons(models, take) {
    return samplesFor(models).map((sample) => {
        const button = face(sample);
        button.addEventListener('click', async () =>
            take(await load(sample), modelFor(sample, models)?.name ?? ''));
        return button;
    });
}
