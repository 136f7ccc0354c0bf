/* An error as the server reports it, with a remedy. */
import { announce, el, icon } from './dom.js';

const ADVICE = {
    '-1': 'Nothing was sent.',
    0: 'See whether attnd is running and this machine reaches it, then try again.',
    400: 'attnd reads PNG, JPEG, BMP and plain text: convert the file. Was it one of these? Then ' +
        'a proxy in between may have changed it.',
    401: 'The server asks for a key: try again to enter one, or ask its operator for one.',
    403: 'The server does not allow this here: ask its operator for access.',
    404: 'The server may have been restarted with other models: reload this page.',
    408: 'The upload was too slow; try again on a better connection.',
    409: 'This cannot be done now; what is named above has to come first.',
    413: 'Send less: cut the log to the part that failed, make the image smaller, or ask for no ' +
        'explanation. The operator can raise the limit.',
    415: 'attnd reads PNG, JPEG, BMP and plain text: convert the file.',
    422: 'Change what is named above and send it again.',
    429: 'The server has more work than it takes on: wait a moment.',
    500: 'Something broke on the server; its log tells more.',
    503: 'The server is starting or stopping: wait a moment.',
    504: 'The server was too busy to answer in time; try again.',
};

function adviceFor(problem) {
    return ADVICE[problem.status] ?? 'Try again, or reload this page.';
}

/* Counts down in the button itself: it can be pressed all the same. */
function retryButton(problem, again) {
    const button = el('button', { type: 'button', click: again }, 'Try again');
    let left = problem.retryAfterS;
    const tick = () => {
        button.textContent = left > 0 ? `Try again (advised in ${left} s)` : 'Try again';
        if (left-- > 0 && (button.isConnected || left + 1 === problem.retryAfterS))
            setTimeout(tick, 1000);
    };
    tick();
    return button;
}

/**
 * @param {import('./api.js').Problem} problem
 * @param {(() => void)|null} again  null: there is nothing to try again
 */
export function problemPanel(problem, again) {
    const status = { '-1': 'page', 0: 'network' }[problem.status] ?? String(problem.status);
    announce(`Error: ${problem.title}. ${problem.detail}`);
    return el('div', { class: 'panel problem', role: 'group', 'aria-label': 'Error' },
        el('h2', {}, icon('error'), problem.title, el('span', { class: 'code' }, status)),
        el('p', { class: 'detail' }, problem.detail),
        el('p', { class: 'advice' }, adviceFor(problem)),
        again === null ? null : retryButton(problem, again));
}
