/* Numbers for people. */

const DIGITS = { maximumFractionDigits: 1, minimumFractionDigits: 1 };

/** 0.97341 -> "97.3 %"; what would round to an extreme that it is not keeps more digits, and what
 * is no share, the value of a regression, stays as it is. */
export function percent(share) {
    if (!(share >= 0 && share <= 1))
        return Number.isFinite(share) ? share.toPrecision(4) : '–';
    const value = share * 100;
    const digits = (value >= 99.95 && value < 100) || (value > 0 && value < 0.05) ? 3 : 1;
    return `${value.toFixed(digits)} %`;
}

export function milliseconds(ms) {
    if (!Number.isFinite(ms))
        return '–';
    if (ms >= 10000)
        return `${(ms / 1000).toFixed(1)} s`;
    return `${ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`;
}

export function bytes(count) {
    const units = ['bytes', 'KiB', 'MiB', 'GiB'];
    let unit = 0;
    while (count >= 1024 && unit < units.length - 1) {
        count /= 1024;
        unit++;
    }
    return `${count.toLocaleString('en', unit === 0 ? {} : DIGITS)} ${units[unit]}`;
}

export function integer(count) {
    return Math.round(count).toLocaleString('en');
}

/** "1 input", "2 inputs", "9 classes" */
export function plural(count, noun) {
    const ending = count === 1 ? '' : noun.endsWith('s') ? 'es' : 's';
    return `${integer(count)} ${noun}${ending}`;
}

/** 14:03:07 */
export function clock(date) {
    return [date.getHours(), date.getMinutes(), date.getSeconds()]
        .map((part) => String(part).padStart(2, '0')).join(':');
}
