/* The key that the server may ask for. It is kept in the session storage of this tab alone, which
 * the browser drops with the tab, and goes to no other place than the requests' header. */
import { announce, el } from './dom.js';

const NAME = 'attnd-key';

let asking = null;
let declined = false;

/** @returns {string|null} */
export function currentKey() {
    return sessionStorage.getItem(NAME);
}

/** The header of a request with the key; none without one. */
export function authorization(key) {
    return key === null ? {} : { Authorization: `Bearer ${key}` };
}

function keyForm(detail, done) {
    const input = el('input', { id: 'key', type: 'password', autocomplete: 'off',
        spellcheck: 'false', required: true });
    const form = el('form', { class: 'panel', id: 'key-form', 'aria-labelledby': 'key-title',
        submit: (event) => {
            event.preventDefault();
            done(input.value.trim());
        } },
    el('h2', { id: 'key-title' }, 'This server asks for a key'),
    el('p', { class: 'hint' }, `The server says: ${detail}. The key stays in this tab, until it is ` +
        'closed.'),
    el('div', { class: 'row' },
        el('label', { for: 'key' }, 'Key'), input,
        el('button', { type: 'submit', class: 'primary' }, 'Use this key'),
        el('button', { type: 'button', click: () => done('') }, 'Not now')));
    document.querySelector('main').prepend(form);
    input.focus();
    announce('This server asks for a key');
    return form;
}

/**
 * Whether there is another key than the one that was refused, which may mean asking for one. There
 * is one form for all who wait; once it was declined, only what a person does asks again.
 *
 * @param {string|null} refused
 * @param {string} detail  why, by the server
 * @param {boolean} byHand
 * @returns {Promise<boolean>}
 */
export function anotherKey(refused, detail, byHand) {
    if (currentKey() !== refused)
        return Promise.resolve(true);
    if (declined && !byHand)
        return Promise.resolve(false);
    sessionStorage.removeItem(NAME);
    asking ??= new Promise((resolve) => {
        const form = keyForm(detail, (key) => {
            form.remove();
            asking = null;
            declined = key === '';
            if (!declined)
                sessionStorage.setItem(NAME, key);
            resolve(!declined);
        });
    });
    return asking;
}

/** Asks for a key that may more than the one at hand, which stays if there is none. */
export async function exchangeKey(detail) {
    const before = currentKey();
    const has = await anotherKey(before, detail, true);
    if (!has && before !== null) {
        sessionStorage.setItem(NAME, before);
        declined = false;
    }
    return has;
}
