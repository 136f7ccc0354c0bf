/* Asks before something is changed: a dialog of the page itself, which says what will happen, and
 * may want something typed. Escape and Cancel change nothing. */
import { el } from './dom.js';

/**
 * @param {{title: string, text: string, action: string, fields?: Element[]}} what
 *     action: the word on the button that goes on; without fields Cancel has the focus
 * @returns {Promise<boolean>}
 */
export function confirmed({ title, text, action, fields = [] }) {
    return new Promise((resolve) => {
        let answer = false;
        const form = el('form', { submit: (event) => {
            event.preventDefault();
            answer = true;
            dialog.close();
        } },
        el('h2', { id: 'confirm-title' }, title), el('p', { id: 'confirm-text' }, text), ...fields,
        el('div', { class: 'row' },
            el('button', { type: 'submit', class: 'primary' }, action),
            el('button', { type: 'button', autofocus: fields.length === 0,
                click: () => dialog.close() }, 'Cancel')));
        const dialog = el('dialog', { class: 'panel', id: 'confirm',
            'aria-labelledby': 'confirm-title', 'aria-describedby': 'confirm-text',
            close: () => {
                dialog.remove();
                resolve(answer);
            } }, form);
        document.body.append(dialog);
        dialog.showModal();
    });
}
