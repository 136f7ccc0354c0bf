/* Making elements. Labels, file names and logs are untrusted: text only ever becomes a text node,
 * and nothing in this page parses HTML. */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @param {Element} element
 * @param {Object<string, any>} attributes  functions listen ("click"), true is a bare attribute,
 *     null and false are left out
 * @param {(Node|string|null)[]} children
 */
function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === 'function')
            element.addEventListener(name, value);
        else if (value !== null && value !== undefined && value !== false)
            element.setAttribute(name, value === true ? '' : String(value));
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
}

/** @returns {HTMLElement} */
export function el(tag, attributes = {}, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

/** @returns {SVGElement} */
export function svg(tag, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** The element with this id, which must be there. */
export function byId(id) {
    return document.getElementById(id);
}

const ICONS = {
    auto: 'M3 8.5 6.5 12 13 4.5',
    review: 'M8 3v6M8 11.6v1.6',
    unknown: 'M5.4 5.8a2.6 2.6 0 1 1 3.9 2.2C8.4 8.6 8 9 8 10M8 11.9v1.5',
    error: 'M4 4l8 8M12 4l-8 8',
};

/** A decorative icon: the text beside it has the same meaning. */
export function icon(name) {
    return svg('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' },
        svg('path', { d: ICONS[name] }));
}

/** Announces a text to a screen reader. */
export function announce(text) {
    byId('announce').textContent = text;
}
