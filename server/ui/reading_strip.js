/* A reading below its picture: each character stands where the model looked when it wrote it, as
 * near as their order and their width allow, and a line leads to the very place. */
import { el, svg } from './dom.js';
import { shadeOf, visible, walk } from './words.js';

/* Of a longer text the characters would be too small to read. */
export const STRIP_CHARACTERS_MAX = 64;

/* Widths of a character, as shares of the strip's and of its own height. */
const SIZE_SHARE = 0.045;
const ASPECT = 0.72;

/**
 * Places in order, `gap` apart or more and within 0 to width, that are nearest to the wanted ones
 * (least squares: places less i gaps must not fall, which pools adjacent violators).
 *
 * @param {number[]} wanted
 * @returns {number[]}
 */
export function placesInOrder(wanted, gap, width) {
    const blocks = [];
    for (const [i, place] of wanted.entries()) {
        blocks.push({ mean: place - i * gap, count: 1 });
        while (blocks.length > 1 && blocks.at(-2).mean > blocks.at(-1).mean) {
            const { mean, count } = blocks.pop();
            const before = blocks.at(-1);
            before.mean = (before.mean * before.count + mean * count) / (before.count + count);
            before.count += count;
        }
    }
    const most = width - (wanted.length - 1) * gap;
    return blocks.flatMap(({ mean, count }) => Array(count).fill(mean))
        .map((place, i) => Math.min(Math.max(place, 0), most) + i * gap);
}

/** The mean place across the picture of a token's weights, in pixels of the picture. */
function middleOf({ weights }, { grid: [, columns], region: [left, , across] }) {
    const sum = weights.reduce((a, b) => a + b, 0);
    const mean = weights.reduce((a, weight, i) => a + weight * (i % columns + 0.5), 0);
    return sum > 0 ? left + mean / sum * across / columns : left + across / 2;
}

/* At the end of a mark (SEMI M12 and M13). */
export const CHECK_CHARACTERS = 2;

/**
 * Whether the check characters hold, as the answer to a request for a checksum says: a text is
 * answered only if they do.
 *
 * @param {{request: import('./request.js').Request, answer: object}} shown
 * @returns {'holds'|'fails'|null} null: nobody asked, or another rule was broken
 */
export function checkOf({ request, answer }) {
    const asked = request.json?.checksum ?? new URL(request.url).searchParams.get('checksum');
    return asked === null ? null : answer.output !== null ? 'holds'
        : answer.broken_rule === 'checksum' ? 'fails' : null;
}

/**
 * @param {object} shown  see result.js
 * @param {number[][]} shares  [tokens][patches] of each token's largest weight
 * @param {object} pointed  see alignment.js
 * @returns {Element}
 */
export function readingStrip(shown, shares, pointed) {
    const { picture, answer: { alignment, explanation } } = shown;
    const width = picture.naturalWidth;
    const characters = alignment.flatMap((token, i) => [...token.text]
        .filter((one) => one.trim() !== '')
        .map((one) => ({ one, token: i, wanted: middleOf(token, explanation) })));
    const size = Math.min(width * SIZE_SHARE, width / Math.max(characters.length, 1) / ASPECT);
    const gap = size * ASPECT;
    const places = placesInOrder(characters.map(({ wanted }) => wanted - gap / 2), gap,
        width - gap);
    const check = checkOf(shown);
    const elements = characters.map(({ one, wanted }, i) => {
        const isCheck = check !== null && i >= characters.length - CHECK_CHARACTERS;
        const x = places[i] + gap / 2;
        const sign = !isCheck ? null : svg('text', { class: `sign ${check}`, x, y: 4.6 * size,
            'font-size': 0.8 * size }, '✓');
        return svg('g', { tabindex: -1 },
            svg('line', { x1: Math.min(Math.max(wanted, 0), width), y1: 0, x2: x, y2: 2.4 * size }),
            svg('rect', { x: x - gap / 2, y: 2.5 * size, width: gap, height: 1.3 * size }),
            svg('text', { class: isCheck ? `check ${check}` : null, x, y: 3.5 * size,
                'font-size': size }, visible(one)), sign);
    });
    const body = svg('svg', { class: 'strip-of-text', id: 'tokens', role: 'group',
        viewBox: `0 0 ${width} ${(check === null ? 4 : 5) * size}`,
        'aria-label': 'Written text, character by character' }, ...elements);
    body.style.maxWidth = `${picture.parentElement.style.maxWidth}`;
    walk(body, elements, (index) => pointed.at(index < 0 ? -1 : characters[index].token, -1));
    pointed.follow(({ token, source }) => elements.forEach((element, k) => {
        const share = source < 0 ? 0 : shares[characters[k].token][source];
        element.setAttribute('class', `character fills-${shadeOf(share, 1)}` +
            `${characters[k].token === token ? ' at' : ''}`);
    }));
    return body;
}
