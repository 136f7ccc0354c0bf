#include "server/observe/drift_window.h"

#include <string.h>

static void drop_oldest(struct drift_window *window)
{
    const struct drift_entry *oldest = &window->entries[window->first];
    for (int kind = 0; kind < DRIFT_KINDS; kind++)
        window->counts[kind][oldest->bins[kind]]--;
    window->first = (window->first + 1) % window->size;
    window->count--;
}

void drift_window_forget(struct drift_window *window, uint32_t now_s)
{
    while (window->count > 0 && now_s - window->entries[window->first].time_s > DRIFT_AGE_S)
        drop_oldest(window);
}

void drift_window_put(struct drift_window *window, const uint8_t bins[DRIFT_KINDS], uint32_t now_s)
{
    drift_window_forget(window, now_s);
    if (window->count == window->size)
        drop_oldest(window);
    struct drift_entry *entry = &window->entries[(window->first + window->count) % window->size];
    entry->time_s = now_s;
    memcpy(entry->bins, bins, sizeof entry->bins);
    for (int kind = 0; kind < DRIFT_KINDS; kind++)
        window->counts[kind][bins[kind]]++;
    window->count++;
}
