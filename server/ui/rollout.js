/* What changes the versions of a model: forms under "Manage versions", a question before what takes effect
 * on many answers, and what the server said of it. Whether the key may do it, only asking tells. */
import { Refusal, changeModels } from './api.js';
import { confirmed } from './confirm.js';
import { announce, el } from './dom.js';
import { intervalText } from './interval.js';
import { refusalPanel } from './refusal.js';
import { field, percentField, shareIn } from './rollout_field.js';

const DTYPES = ['f32', 'bf16', 'int8', 'auto'];

function button(text, click) {
    return el('button', { type: 'button', click }, text);
}

function form(label, submit, ...parts) {
    return el('form', { class: 'row', 'aria-label': label, submit: (event) => {
        event.preventDefault();
        submit();
    } }, ...parts);
}

/* What the forms depend on. */
function partsOf(versions) {
    return JSON.stringify(versions.map(({ version, role, share, shadow }) =>
        [version, role, share, shadow]));
}

export class Rollout {
    /**
     * @param {string} name  of the model
     * @param {() => void} changed
     */
    constructor(name, changed) {
        this.name = name;
        this.changed = changed;
        this.versions = [];
        this.picked = null; // the version that a person chose
        this.isRunning = false;
        this.buildFields();
        this.element = el('details', { class: 'rollout' }, el('summary', {}, 'Manage versions'),
            this.chosenForms(), this.loadForm(), this.told, this.problem);
    }

    buildFields() {
        this.version = el('select', { change: () => {
            this.picked = this.version.value;
            this.showChosen();
        } });
        this.split = percentField();
        this.shadow = percentField();
        this.promoting = button('Promote…', () => this.promote());
        this.unloading = button('Unload…', () => this.unload());
        this.rollingBack = button('Roll back…', () => this.rollBack());
        this.load = { name: el('input', { required: true, value: this.name }),
            dir: el('input', { required: true, autocomplete: 'off', spellcheck: 'false' }),
            dtype: el('select', {}, ...DTYPES.map((dtype) => el('option', {}, dtype))),
            split: percentField(), shadow: percentField() };
        this.told = el('p', { class: 'told' });
        this.problem = el('div', { class: 'refused' });
    }

    chosenForms() {
        this.sharesSet = el('button', { type: 'submit' }, 'Set shares');
        return el('div', { class: 'row', role: 'group', 'aria-label': `Versions of ${this.name}` },
            el('h3', {}, 'A version that is loaded'), field('Version', this.version),
            this.promoting, this.unloading, this.rollingBack,
            form('Shares of the version', () => this.setShares(),
                field('Share of requests, %', this.split),
                field('Copies as a shadow, %', this.shadow), this.sharesSet));
    }

    loadForm() {
        const { name, dir, dtype, split, shadow } = this.load;
        return form('Load another version', () => this.loadVersion(),
            el('h3', {}, 'Another version, or another model'), field('Name', name),
            field('Directory below models_root', dir), field('Precision', dtype),
            field('Share of requests, %', split), field('Copies as a shadow, %', shadow),
            el('button', { type: 'submit' }, 'Load'));
    }

    /** What a person has typed stays, unless the versions or their shares are others. */
    setVersions(versions) {
        const isSame = partsOf(versions) === partsOf(this.versions);
        this.versions = versions;
        if (isSame)
            return;
        this.version.replaceChildren(...versions.map(({ version, role }) =>
            el('option', { value: version }, `${version} (${role})`)));
        this.version.value = (versions.find(({ version }) => version === this.picked) ??
            versions.find(({ role }) => role !== 'primary') ?? versions[0])?.version;
        this.rollingBack.hidden = !versions.some(({ role }) => role === 'retiring');
        this.showChosen();
    }

    chosen() {
        return this.versions.find(({ version }) => version === this.version.value);
    }

    showChosen() {
        const { role, share = 0, shadow = 0 } = this.chosen() ?? {};
        const isPrimary = role === 'primary';
        this.split.value = isPrimary ? '' : String(Number((100 * share).toFixed(4)));
        this.shadow.value = isPrimary ? '' : String(Number((100 * shadow).toFixed(4)));
        for (const control of [this.promoting, this.split, this.shadow, this.sharesSet])
            control.disabled = isPrimary;
        this.unloading.disabled = isPrimary && this.versions.length > 1;
    }

    /* ---- the changes ---- */

    setShares() {
        const version = this.version.value;
        this.carryOut(`The shares of version ${version} are set.`, 'PATCH', [this.name, version],
            { split: shareIn(this.split) ?? 0, shadow: shareIn(this.shadow) ?? 0 });
    }

    loadVersion() {
        const { name, dir, dtype, split, shadow } = this.load;
        this.carryOut((reply) => `Version ${reply.version} of ${reply.name} is loaded.`, 'POST', [],
            { name: name.value, dir: dir.value, dtype: dtype.value, split: shareIn(split),
                shadow: shareIn(shadow) });
    }

    async promote() {
        const { version, accuracy } = this.chosen();
        const force = el('input', { type: 'checkbox' });
        const reason = el('input', { autocomplete: 'off' });
        force.addEventListener('change', () => {
            reason.required = force.checked;
        });
        const known = accuracy ? `Of its labelled inputs it was right in ${intervalText(accuracy)}.`
            : 'Nothing of it has a label yet.';
        const isMeant = await confirmed({ title: `Promote version ${version} of ${this.name}?`,
            text: `It becomes the primary; the one before stays open for one rollback. ${known}`,
            action: 'Promote', fields: [el('label', { class: 'check' }, force,
                'Also with fewer labels than a promotion needs'),
            field('Reason, for the audit log', reason)] });
        if (isMeant)
            await this.carryOut(`Version ${version} is the primary.`, 'POST',
                [this.name, version, 'promote'], { force: force.checked,
                    ...reason.value === '' ? {} : { reason: reason.value } });
    }

    async rollBack() {
        const { version } = this.versions.find(({ role }) => role === 'retiring');
        if (await confirmed({ title: `Roll ${this.name} back?`, action: 'Roll back',
            text: `Version ${version} becomes the primary again; the present one stays, without ` +
                'a share.' }))
            await this.carryOut((reply) => `Version ${reply.versions[0].version} is the primary ` +
                'again.', 'POST', [this.name, 'rollback']);
    }

    async unload() {
        const version = this.version.value;
        const last = this.versions.length > 1 ? '' : ` It is the last one: ${this.name} will be ` +
            'unknown.';
        if (await confirmed({ title: `Unload version ${version} of ${this.name}?`,
            action: 'Unload', text: 'It gets no more requests, and is closed when it has ' +
                `answered those that it has.${last}` }))
            await this.carryOut(`Version ${version} is unloaded.`, 'DELETE', [this.name, version]);
    }

    /**
     * One change at a time, and then new figures.
     *
     * @param {string|((reply: object) => string)} done  what is told of success
     */
    async carryOut(done, method, path, body) {
        if (this.isRunning)
            return;
        this.isRunning = true;
        this.problem.replaceChildren();
        this.told.textContent = 'The server is at it…';
        try {
            const reply = await changeModels(method, path, body);
            this.tell(typeof done === 'string' ? done : done(reply));
        } catch (error) {
            if (!(error instanceof Refusal))
                throw error;
            this.refuse(error.problem, () => this.carryOut(done, method, path, body));
        } finally {
            this.isRunning = false;
        }
        this.changed();
    }

    tell(text) {
        this.told.textContent = text;
        announce(text);
    }

    refuse(problem, again) {
        this.told.textContent = '';
        this.problem.replaceChildren(refusalPanel(problem, again));
    }
}
