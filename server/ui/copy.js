/* A button that copies a text. */
import { announce, el } from './dom.js';

/* How long the button says that it has copied. */
const TOLD_MS = 2000;

/** Copying needs a secure context in some browsers; a selection that is copied works in all. */
async function copy(text, element, button) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        getSelection().selectAllChildren(element);
        document.execCommand('copy');
    }
    button.textContent = 'Copied';
    announce('Copied');
    setTimeout(() => {
        button.textContent = 'Copy';
    }, TOLD_MS);
}

/**
 * @param {string} text
 * @param {Element} element  that shows it
 * @returns {HTMLButtonElement}
 */
export function copyButton(text, element) {
    const button = el('button', { type: 'button', class: 'small',
        click: () => copy(text, element, button) }, 'Copy');
    return button;
}
