/* The curl command that sends the same request. It must be safe in a shell and in a terminal that
 * it is pasted into, and readable: what is not printable is escaped, as a JSON string or a file
 * name allows. A key is not in it: whoever pastes it has $KEY set. */
import { currentKey } from './key.js';

/* Controls, what reorders text or has no width, separators, and code points that mean nothing. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]/gu;

/** One word of a POSIX shell: nothing is special inside of single quotes but their end. */
export function shellQuote(text) {
    return `'${text.replaceAll('\'', '\'\\\'\'')}'`;
}

function escapeUnits(text) {
    let out = '';
    for (let i = 0; i < text.length; i++)
        out += `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`;
    return out;
}

/** JSON of printable characters only. */
export function visibleJson(value) {
    return JSON.stringify(value).replace(UNSEEN, escapeUnits);
}

/** A file's path for the shell. A name that cannot be shown is not repeated, and "-" would be stdin
 * or an option. */
function pathOf(name) {
    const plain = name !== '' && name.search(UNSEEN) < 0 ? name : 'FILE';
    return `${plain.startsWith('-') ? './' : ''}${plain}`;
}

/* A longer argument fails on Linux (MAX_ARG_STRLEN is 128 KiB). */
const ARGUMENT_MAX = 100000;

function bodyWords(request) {
    if (request.file !== null)
        return { words: `--data-binary ${shellQuote(`@${pathOf(request.file)}`)}`, tail: '' };
    const json = visibleJson(request.json);
    if (new TextEncoder().encode(json).length <= ARGUMENT_MAX)
        return { words: `--data-raw ${shellQuote(json)}`, tail: '' };
    return { words: '--data-binary @-', tail: ` <<'END_OF_JSON'\n${json}\nEND_OF_JSON` };
}

/**
 * @param {import('./request.js').Request} request
 * @returns {string} a command for a POSIX shell
 */
export function curlOf(request) {
    const { words, tail } = bodyWords(request);
    const key = currentKey() === null ? '' : '     -H "Authorization: Bearer $KEY" \\\n';
    return `curl -sS ${shellQuote(request.url)} \\\n${key}` +
        `     -H ${shellQuote(`Content-Type: ${request.type}`)} \\\n     ${words}${tail}`;
}
