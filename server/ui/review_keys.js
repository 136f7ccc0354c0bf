/* Keys of the Review view, wherever the focus is but where somebody types or chooses. */

const TYPING = 'input, textarea, select, dialog, [role="tablist"] *, .words-box *';

/**
 * @param {{isShown: () => boolean, step: (by: number) => void, toggle: () => void,
 *     undo: () => void, openNew: () => void, label: (key: string) => boolean}} does
 */
export function listenToKeys(does) {
    const others = { j: () => does.step(1), k: () => does.step(-1), ArrowDown: () => does.step(1),
        ArrowUp: () => does.step(-1), x: () => does.toggle(), u: () => does.undo(),
        n: () => does.openNew() };
    document.addEventListener('keydown', (event) => {
        if (!does.isShown() || event.ctrlKey || event.altKey || event.metaKey ||
            event.repeat || event.target.closest?.(TYPING))
            return;
        const act = others[event.key];
        if (act !== undefined)
            act();
        else if (!does.label(event.key))
            return;
        event.preventDefault();
    });
}
