/* A refusal of what a person asked for. A key that may too little can be exchanged for another. */
import { el } from './dom.js';
import { currentKey, exchangeKey } from './key.js';
import { problemPanel } from './problem.js';

/**
 * @param {import('./api.js').Problem} problem
 * @param {() => void} again
 */
export function refusalPanel(problem, again) {
    const panel = problemPanel(problem, again);
    if (problem.status === 403 && currentKey() !== null)
        panel.append(el('button', { type: 'button', click: async () => {
            if (await exchangeKey(problem.detail))
                again();
        } }, 'Use another key…'));
    return panel;
}
