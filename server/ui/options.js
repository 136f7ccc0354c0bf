/* What is asked, and of whom: the model, a second one beside it, the explanation and its layer, and
 * where the input comes from. */
import { contextFields } from './context.js';
import { byId, el } from './dom.js';
import { showClasses } from './classes.js';
import { isShown, isWhole, taskHint } from './tasks.js';
import { WritingFields } from './writing_fields.js';

export class Options {
    /**
     * @param {{model: () => void, other: () => void}} changed  told when another model is chosen,
     *     and when anything else is that changes the answer
     */
    constructor(changed) {
        this.models = [];
        this.kind = undefined; // of the input at hand
        this.context = contextFields(byId('context'));
        this.writing = new WritingFields(byId('writing'), () => changed.other());
        byId('model').addEventListener('change', () => changed.model());
        byId('second').addEventListener('change', () => changed.other());
        byId('method').addEventListener('change', () => {
            byId('layer').value = '0'; // a layer means another thing to another method
            this.show(this.kind);
            changed.other();
        });
        byId('layer').addEventListener('change', () => changed.other());
        for (const id of ['candidate-labels', 'may-be-empty', 'aggregation'])
            byId(id).addEventListener('change', () => changed.other());
    }

    setModels(models) {
        const before = byId('model').value;
        this.models = models;
        byId('model').replaceChildren(el('option', { value: '' }, 'Default for the input'),
            ...models.map((model) => el('option', { value: model.name },
                `${model.name} (${model.kind}${isShown(model) ? '' : ', only vectors'})`)));
        this.choose(models.some((model) => model.name === before) ? before : '');
    }

    choose(name) {
        byId('model').value = name;
    }

    named(name) {
        return this.models.find((model) => model.name === name);
    }

    /** The model that is chosen by name; undefined: each kind's default. */
    chosen() {
        return this.named(byId('model').value);
    }

    /** The model that will answer an input of this kind; undefined before it is known. The page's
     * default is the first whose answers it can show, not the server's. */
    model(kind) {
        const chosen = this.chosen();
        const fit = this.models.filter((model) => model.kind === kind);
        return chosen?.kind === kind ? chosen : fit.find(isShown) ?? fit[0];
    }

    /* Needless where the server takes the same model. */
    nameOf(model, kind) {
        const first = this.models.find(({ reads }) => reads.includes(kind));
        return model === undefined || (this.chosen() === undefined && model === first) ? ''
            : model.name;
    }

    /** The method by name, also the model's own choice; undefined before that is known. */
    method(kind) {
        const name = byId('method').value;
        return name === 'true' ? (this.chosen() ?? this.model(kind))?.explain_default : name;
    }

    /** Everything that depends on the model that will answer. */
    show(kind) {
        this.kind = kind;
        const model = this.chosen() ?? this.model(kind);
        this.fillMethods(model);
        this.fillLayers(model, this.method(kind));
        this.fillSecond(model);
        this.showCandidates(model);
        this.showTask(model);
        this.writing.show(model);
        const known = (model === undefined ? this.models : [model])
            .filter(({ labels, task }) => labels.length > 0 && task !== 'answer');
        showClasses(byId('known'), known);
    }

    /* A model that writes has one method. */
    fillMethods(model) {
        const select = byId('method');
        for (const option of select.options)
            option.hidden = option.disabled = model?.task === 'generate' &&
                option.value !== 'true' && option.value !== 'false';
        if (select.selectedOptions[0].disabled)
            select.value = 'true';
    }

    /* Rollout goes through the first n layers, attention is that of layer n. */
    fillLayers(model, method) {
        const select = byId('layer');
        const layers = model?.layers ?? 0;
        byId('method').disabled = model?.explain_default === null;
        byId('method').options[0].textContent = model === undefined ? 'Default'
            : model.explain_default === null ? '–' : `Default (${model.explain_default})`;
        const takes = model?.explain_default !== null &&
            (method === 'rollout' || method === 'attention');
        const before = select.value;
        const word = method === 'rollout' ? 'First' : 'Layer';
        const rows = Array.from({ length: takes ? layers : 0 }, (_, i) =>
            el('option', { value: i + 1 }, `${word} ${i + 1}`));
        select.replaceChildren(el('option', { value: 0 },
            !takes ? '–' : method === 'rollout' ? 'All' : 'Last'), ...rows);
        select.value = [...select.options].some((option) => option.value === before) ? before : '0';
        select.disabled = !takes || layers === 0;
    }

    /* What a model of its task is asked beside the text. */
    showTask(model) {
        const tags = model?.task === 'tag';
        byId('question-field').hidden = model?.task !== 'answer';
        byId('aggregation').hidden = byId('aggregation-label').hidden = !tags;
        byId('task-hint').textContent = taskHint(model);
    }

    /** The question to the text, as it is written. */
    question() {
        return byId('question').value;
    }

    /* A zero-shot model answers in any labels; its own, if it has some, when none are written. */
    showCandidates(model) {
        byId('candidates').hidden = model?.zero_shot !== true;
        byId('candidate-labels').placeholder = model?.labels.join('\n') ?? '';
    }

    /* Those for a model; it may be one that takes none. */
    candidates(model) {
        const lines = model?.zero_shot === true ? byId('candidate-labels').value.split('\n') : [];
        return [...new Set(lines.map((line) => line.trim()).filter((line) => line !== ''))];
    }

    /* Others of the same kind that also give labels; without any there is nothing to choose. */
    fillSecond(model) {
        const select = byId('second');
        const before = select.value;
        const fit = model === undefined || !isWhole(model) ? []
            : this.models.filter((other) => other !== model && other.kind === model.kind &&
                isWhole(other));
        select.replaceChildren(el('option', { value: '' }, fit.length === 0 ? '–' : 'None'),
            ...fit.map(({ name }) => el('option', { value: name }, name)));
        select.value = fit.some(({ name }) => name === before) ? before : '';
        select.disabled = fit.length === 0;
    }

    /**
     * One for each model that is asked: the second one stands beside the first.
     *
     * @returns {import('./request.js').Options[]}
     */
    of(kind) {
        const model = this.model(kind);
        const one = (asked, name) => ({ model: name, task: asked?.task,
            method: asked?.explain_default === null ? 'false' : byId('method').value,
            layer: Number(byId('layer').value), context: this.context(),
            labels: this.candidates(asked), question: this.question(),
            mayBeEmpty: byId('may-be-empty').checked, aggregation: byId('aggregation').value,
            writing: this.writing.values(asked) });
        const first = one(model, this.nameOf(model, kind));
        const second = this.named(byId('second').value);
        return second === undefined || second.kind !== kind || second === model ? [first]
            : [first, one(second, second.name)];
    }
}
