/* A text while it is being written: its tokens as they come, and a button that ends it. */
import { copyButton } from './copy.js';
import { announce, el } from './dom.js';
import { visible } from './words.js';

export class Streamed {
    /** @param {() => void} stop */
    constructor(stop) {
        this.text = '';
        this.output = el('p', { class: 'output long', id: 'streamed', dir: 'auto' });
        this.state = el('span', { class: 'hint', id: 'stream-state' }, 'The text is being written.');
        this.button = el('button', { type: 'button', id: 'stop', click: () => {
            stop();
            this.end();
        } }, 'Stop');
        this.element = el('div', { class: 'panel verdict' }, this.output,
            el('div', { class: 'row' }, this.button, this.state));
    }

    add(text) {
        this.text += text;
        this.output.append(visible(text));
    }

    /** What came, stays. */
    end() {
        this.state.textContent = 'Stopped. This is the text as far as it was written.';
        this.button.replaceWith(copyButton(this.text, this.output));
        announce('Stopped');
    }
}
