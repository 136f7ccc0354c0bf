/* The weights of an alignment as a matrix: a row for each token that was written, a column for each
 * word of the source. Names stay in sight while the cells scroll below them. */
import { RAMP } from './colours.js';
import { el } from './dom.js';
import { integer, percent } from './format.js';
import { legend } from './heat_map.js';

/* Sides of a cell in CSS pixels: a name of 11 pixels fits into it. */
const CELL = 16;

/* Rows and columns that are drawn. */
const SIDE_MAX = 300;

/** One pixel a cell; the browser enlarges it. */
function paint(canvas, weights, most) {
    const context = canvas.getContext('2d');
    const image = context.createImageData(canvas.width, canvas.height);
    weights.forEach((row, i) => row.slice(0, canvas.width).forEach((weight, j) => {
        const step = Math.round(Math.min(Math.max(weight / most, 0), 1) * (RAMP.length - 1));
        image.data.set([...RAMP[step], 255], 4 * (i * canvas.width + j));
    }));
    context.putImageData(image, 0, 0);
}

function namesOf(kind, names) {
    return el('div', { class: `matrix-${kind}`, 'aria-hidden': 'true' },
        ...names.map((name) => el('span', { title: name }, name)));
}

/** A frame around a row or a column of cells. */
function frameOf(kind) {
    return el('div', { class: `matrix-frame ${kind}`, hidden: true });
}

function showFrame(frame, index, side) {
    frame.hidden = index < 0;
    frame.style[side] = `${index * CELL}px`;
}

/* Cells tell where the pointer is. */
function listen(canvas, pointed) {
    canvas.addEventListener('pointermove', (event) => {
        const { left, top } = canvas.getBoundingClientRect();
        const token = Math.floor((event.clientY - top) / CELL);
        const source = Math.floor((event.clientX - left) / CELL);
        if (token >= 0 && token < canvas.height && source >= 0 && source < canvas.width)
            pointed.at(token, source);
    });
    canvas.addEventListener('pointerleave', () => pointed.at(-1, -1));
}

/**
 * @param {{tokens: string[], names: string[], weights: number[][]}} alignment  names: of the
 *     sources; weights: [tokens][sources]
 * @param {object} pointed  see alignment.js
 * @param {Element} table  the same in words
 * @returns {Element}
 */
export function matrixPanel({ tokens, names, weights }, pointed, table) {
    const shown = { tokens: tokens.slice(0, SIDE_MAX), names: names.slice(0, SIDE_MAX),
        weights: weights.slice(0, SIDE_MAX) };
    const most = weights.flat().reduce((a, b) => Math.max(a, b), Number.MIN_VALUE);
    const canvas = el('canvas', { width: shown.names.length, height: shown.tokens.length,
        id: 'matrix', role: 'img', 'aria-label': `Weights of ${integer(tokens.length)} tokens by ` +
            `${integer(names.length)} words` });
    canvas.style.width = `${shown.names.length * CELL}px`;
    canvas.style.height = `${shown.tokens.length * CELL}px`;
    paint(canvas, shown.weights, most);
    listen(canvas, pointed);
    const [rows, columns] = [namesOf('rows', shown.tokens), namesOf('columns', shown.names)];
    const [rowFrame, columnFrame] = [frameOf('row'), frameOf('column')];
    pointed.follow(({ token, source }) => {
        [...rows.children].forEach((one, i) => one.classList.toggle('at', i === token));
        [...columns.children].forEach((one, j) => one.classList.toggle('at', j === source));
        showFrame(rowFrame, token < shown.tokens.length ? token : -1, 'top');
        showFrame(columnFrame, source < shown.names.length ? source : -1, 'left');
    });
    const isCut = tokens.length > SIDE_MAX || names.length > SIDE_MAX;
    return el('section', { class: 'panel text', 'aria-label': 'Matrix of the alignment' },
        el('h3', {}, 'Tokens (rows) by words of the source (columns)'),
        el('div', { class: 'scroll matrix', tabindex: 0, role: 'region',
            'aria-label': 'Matrix, to scroll' },
        el('div', { class: 'matrix-grid' }, el('div', { class: 'matrix-corner' }), columns, rows,
            el('div', { class: 'matrix-cells' }, canvas, rowFrame, columnFrame))),
        legend(el('span', {}, `${percent(most)} of a token’s attention`)),
        isCut ? el('p', { class: 'hint' }, `The first ${SIDE_MAX} of each side are drawn.`) : null,
        table);
}
