/* Views of one address: #live shows the view of this name. Arrow keys move between the tabs, as
 * WAI-ARIA's pattern for tabs has it. */

/**
 * @param {HTMLElement[]} tabs  each names its panel in aria-controls
 * @param {(id: string) => void} shown
 */
export function tabs(tabs, shown) {
    const select = (tab) => {
        for (const other of tabs) {
            const on = other === tab;
            other.setAttribute('aria-selected', String(on));
            other.tabIndex = on ? 0 : -1;
            document.getElementById(other.getAttribute('aria-controls')).hidden = !on;
        }
        shown(tab.getAttribute('aria-controls'));
    };
    const open = (tab) => {
        history.replaceState(null, '', `#${tab.getAttribute('aria-controls')}`);
        select(tab);
    };
    const byHash = () =>
        tabs.find((tab) => `#${tab.getAttribute('aria-controls')}` === location.hash);
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    tabs.forEach((tab, i) => {
        tab.addEventListener('click', () => open(tab));
        tab.addEventListener('keydown', (event) => {
            const to = event.key === 'Home' ? 0 : event.key === 'End' ? tabs.length - 1
                : event.key in steps ? (i + steps[event.key] + tabs.length) % tabs.length : -1;
            if (to < 0)
                return;
            event.preventDefault();
            open(tabs[to]);
            tabs[to].focus();
        });
    });
    addEventListener('hashchange', () => select(byHash() ?? tabs[0]));
    select(byHash() ?? tabs[0]);
}
