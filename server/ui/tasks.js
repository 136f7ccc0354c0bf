/* What models of each task answer: in words, in one line, and what a person adds to a text. */
import { integer, percent, plural } from './format.js';
import { oneLine } from './words.js';

/* Kinds of spans that one line tells. */
const KINDS_TOLD = 3;

/** The task that an answer is of, by its members. */
export function taskOf(answer) {
    const own = { output: 'generate', spans: 'tag', answer: 'answer', sparse: 'sparse', embedding: 'embed',
        value: 'regress', values: 'regress' };
    const member = Object.keys(own).find((name) => answer[name] !== undefined);
    return member !== undefined ? own[member]
        : Array.isArray(answer.predictions?.[0]) ? 'fill' : 'classify';
}

/** Whether answers of the model can be shown; a vector's numbers tell a person nothing. */
export function isShown({ task }) {
    return task !== 'embed';
}

/** Whether the model gives one label, or numbers, for the whole input. */
export function isWhole({ task }) {
    return task === 'classify' || task === 'regress';
}

function spansLine(spans) {
    const counts = new Map();
    for (const { label } of spans)
        counts.set(label, (counts.get(label) ?? 0) + 1);
    const kinds = [...counts].sort(([, a], [, b]) => b - a);
    const told = kinds.slice(0, KINDS_TOLD).map(([label, count]) => `${integer(count)} ${label}`);
    const others = kinds.slice(KINDS_TOLD).reduce((sum, [, count]) => sum + count, 0);
    return kinds.length === 0 ? 'No span' : [...told, ...others > 0 ? [`${integer(others)} others`]
        : []].join(', ');
}

function numbersLine({ value, values }) {
    const number = (one) => String(Number(one.toPrecision(6)));
    return values === undefined ? number(value)
        : Object.entries(values).map(([name, one]) => `${name} ${number(one)}`).join(', ');
}

/* Places, not words of the text: lists of answers keep no text that was sent. */
const LINES = {
    tag: ({ spans }) => ({ label: spansLine(spans) }),
    answer: ({ answer }) => (answer === null || answer.start === answer.end
        ? { label: 'No answer', score: answer?.score ?? NaN }
        : { label: `Characters ${answer.start} to ${answer.end}`, score: answer.score }),
    fill: ({ predictions }) => ({ label: predictions.map(([best]) => best?.text ?? '–').join(', '),
        score: predictions.length === 1 ? predictions[0][0]?.score : NaN }),
    sparse: ({ sparse }) => ({ label: plural(sparse.length, 'term') }),
    embed: ({ dimensions }) => ({ label: `A vector of ${integer(dimensions)} numbers` }),
    generate: ({ output, broken_rule: rule }) => ({ label: output === null
        ? `No text obeys the rule ${rule}` : oneLine(output) || 'An empty text' }),
    regress: (answer) => ({ label: numbersLine(answer) }),
};

/** An answer with a label and a score for its line in lists, where it has none of its own. */
export function withLine(answer) {
    const line = LINES[taskOf(answer)]?.(answer);
    return line === undefined ? answer : { score: NaN, ...line, ...answer };
}

/** A score for a person: a share, or of a text the mean logarithm of its tokens' probabilities. */
export function scoreText({ output, score }) {
    return output === undefined || !Number.isFinite(score) ? percent(score)
        : score.toFixed(3).replace('-', '−');
}

/* A label of a multi-label model is given at this score. */
const GIVEN_AT = 0.5;

/** The labels of a multi-label answer, of which there may be none; null: it has one label. */
export function setOf({ predictions }, model) {
    return model?.scores !== 'sigmoid' || model.labels.length < 2 ? null
        : predictions.filter(({ score }) => score >= GIVEN_AT).map(({ label }) => label);
}

/** What an answer comes to, for who sees it now: of a question the words of the text, of several
 * labels all that are given. */
export function headlineOf({ answer, label, set }) {
    return answer ? oneLine(answer.text) || label
        : set ? set.join(', ') || 'No label' : label;
}

/** What a person is to know of the model before a text is sent; '' of one that gives labels. */
export function taskHint(model) {
    return {
        tag: 'Marks parts of the text.',
        answer: 'Answers a question with a part of the text.',
        generate: model?.kind === 'image' ? 'Writes what it reads on an image.'
            : 'Writes another text from the text.',
        fill: `Tells the words for each ${model?.mask_token ?? 'masked token'} of the text.`,
        sparse: 'Weighs the entries of its vocabulary.',
        embed: `Gives only a vector of ${integer(model?.dimensions)} numbers, which this page ` +
            'does not show. Search finds the past cases whose vectors are nearest.',
    }[model?.task] ?? '';
}

/** What keeps the model from an answer that can be shown; '': nothing. @param {string} [text]  of
 * one input, where it is at hand */
export function lackOf(model, question, text) {
    if (model === undefined)
        return '';
    if (!isShown(model))
        return `${model.name}: ${taskHint(model)}`;
    if (model.task === 'answer' && question.trim() === '')
        return `${model.name} answers a question: write one below the text.`;
    const mask = model.task === 'fill' ? model.mask_token : null;
    return text !== undefined && mask && !text.includes(mask)
        ? `${model.name} fills in words: write ${mask} where a word is missing.` : '';
}
