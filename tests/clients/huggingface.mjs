/* @huggingface/inference against the address that is given: prints its answers as one JSON object for run.py. */
import { readFileSync } from 'node:fs';
import { InferenceClient } from '@huggingface/inference';

const [, , url, picture, ...lists] = process.argv;
const [texts, labels] = lists.map((list) => JSON.parse(list));
const at = (name) => new InferenceClient('').endpoint(`${url}/models/${name}`);
const pairs = (list) => list.map(({ label, score }) => [label, score]);
const image = new Blob([readFileSync(picture)], { type: 'image/png' });
const each = async (call) => Promise.all(texts.map(call));

console.log(JSON.stringify({
    labels: await each(async (inputs) => pairs(await at('classes').textClassification({ inputs }))),
    vectors: await each((inputs) => at('vectors').featureExtraction({ inputs })),
    entailment: await each(async (inputs) => pairs(await at('entails').zeroShotClassification({ inputs,
        parameters: { candidate_labels: labels } }))),
    similarity: await at('vectors').sentenceSimilarity({
        inputs: { source_sentence: texts[0], sentences: texts.slice(1) } }),
    image: pairs(await at('wafers').imageClassification({ data: image })),
    anyLabel: pairs(await at('any').zeroShotImageClassification({ inputs: image,
        parameters: { candidate_labels: labels } })),
}));
