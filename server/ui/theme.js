/* The colour theme, set before the first paint: a classic script, for a module would come too late
 * and the page would flash. Beside it the page stores nothing but the labels
 * that were marked as right (feedback.js). */
'use strict';

(() => {
    const KEY = 'attnd-theme';
    const dark = matchMedia('(prefers-color-scheme: dark)');

    /** Storage can be switched off; then the choice lasts as long as the page. */
    function stored() {
        try {
            return localStorage.getItem(KEY);
        } catch {
            return null;
        }
    }

    let choice = stored() ?? 'system';

    function apply() {
        const chosen = choice === 'light' || choice === 'dark';
        const theme = chosen ? choice : dark.matches ? 'dark' : 'light';
        document.documentElement.dataset.theme = theme;
    }

    function choose(value) {
        choice = value;
        try {
            localStorage.setItem(KEY, value);
        } catch {
            // Not kept: see stored().
        }
        apply();
    }

    apply();
    dark.addEventListener('change', apply);
    addEventListener('DOMContentLoaded', () => {
        const select = document.getElementById('theme');
        select.value = choice === 'light' || choice === 'dark' ? choice : 'system';
        select.addEventListener('change', () => choose(select.value));
    });
})();
