/* @huggingface/inference against the address that is given: prints its answers as one JSON object for run.py. */
import { readFileSync } from 'node:fs';
import { InferenceClient } from '@huggingface/inference';
import { InferenceClient as ClientBefore } from 'inference-3';

const [, , url, picture, ...rest] = process.argv;
const [texts, labels] = rest.slice(0, 2).map((list) => JSON.parse(list));
const recorded = (name) => JSON.parse(readFileSync(`${rest[2]}/${name}/cases.json`)).cases;
const at = (name) => new InferenceClient('').endpoint(`${url}/models/${name}`);
const pairs = (list) => list.map(({ label, score }) => [label, score]);
const image = new Blob([readFileSync(picture)], { type: 'image/png' });
const each = async (call) => Promise.all(texts.map(call));

const each_of = async (list, call) => Promise.all(list.map(call));
const spans = async (aggregation_strategy) => each_of(recorded('tags/ner-bert-0'), ({ text }) =>
    at('ner-bert-0').tokenClassification({ inputs: text, parameters: { aggregation_strategy } }));

const written = (name) => recorded(`golden/${name}`).filter(({ text }) => text !== '');
const greedy = { generate_parameters: { max_new_tokens: 16, num_beams: 1 } };

/* textGenerationStream of version 3 asks the address itself, of version 4 OpenAI's route; streamingRequest asks the address. */
const model = 'greedy-t5-0', parameters = { max_new_tokens: 16, details: true };
const before = new ClientBefore('').endpoint(`${url}/models/${model}`);
const streamed = async (ask) => each_of(written('t5-0'), async ({ text }) => {
    const events = [];
    for await (const event of ask(text))
        events.push(event);
    return events;
});

console.log(JSON.stringify({
    streamed: await streamed((inputs) => at(model).streamingRequest({ inputs, parameters })),
    streamedBefore: await streamed((inputs) => before.textGenerationStream({ model, inputs, parameters })),
    labels: await each(async (inputs) => pairs(await at('classes').textClassification({ inputs }))),
    vectors: await each((inputs) => at('vectors').featureExtraction({ inputs })),
    entailment: await each(async (inputs) => pairs(await at('entails').zeroShotClassification({ inputs,
        parameters: { candidate_labels: labels } }))),
    similarity: await at('vectors').sentenceSimilarity({
        inputs: { source_sentence: texts[0], sentences: texts.slice(1) } }),
    image: pairs(await at('wafers').imageClassification({ data: image })),
    spans: { simple: await spans('simple'), first: await spans('first'), max: await spans('max'),
        average: await spans('average') },
    answers: await each_of(recorded('answers/qa-bert-0'), ({ question, context, parameters }) =>
        at('qa-bert-0').questionAnswering({ inputs: { question, context }, parameters })),
    words: await each_of(recorded('vocabulary/mlm-bert-0').filter(({ masks }) => masks.length === 1), ({ text }) =>
        at('mlm-bert-0').fillMask({ inputs: text })),
    written: {
        'marian-0': await each_of(written('marian-0'), ({ text }) =>
            at('marian-0').translation({ inputs: text, parameters: greedy })),
        'pegasus-0': await each_of(written('pegasus-0'), ({ text }) =>
            at('pegasus-0').summarization({ inputs: text, parameters: greedy })),
    },
    anyLabel: pairs(await at('any').zeroShotImageClassification({ inputs: image,
        parameters: { candidate_labels: labels } })),
}));
