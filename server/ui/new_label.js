/* A label that the model lacks: a typing error must not become a class, so a person is asked. */
import { confirmed } from './confirm.js';

/** How many letters must be changed, put in or taken out to turn one word into the other
 * (Levenshtein 1966). */
export function distance(a, b) {
    let row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i++) {
        const next = [i];
        for (let j = 1; j <= b.length; j++)
            next.push(Math.min(next[j - 1] + 1, row[j] + 1,
                row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
        row = next;
    }
    return row[b.length];
}

/** The known label that was probably meant; undefined: none is near. */
export function nearest(label, known) {
    const typed = label.toLowerCase();
    const [best] = known.map((name) => [distance(typed, name.toLowerCase()), name])
        .sort(([a], [b]) => a - b);
    const most = label.length < 4 ? 1 : Math.max(2, Math.floor(label.length / 3));
    return best !== undefined && best[0] <= most ? best[1] : undefined;
}

/** @returns {Promise<boolean>} whether a label that is not among the known ones shall be added */
export function isWanted(label, known) {
    const meant = nearest(label, known);
    return confirmed({ title: `“${label}” is a new label. Add it?`,
        text: `The model does not know this label. ${meant === undefined ? ''
            : `Did you mean “${meant}”? `}A new label counts as a wrong answer of the model, and ` +
            'is learnt with the next fit.', action: 'Add the label' });
}
