/* drift_window.h - the last predictions of a model, counted by the bins of its reference
 * (engine/decide/drift_reference.h): at most so many, none older than DRIFT_AGE_S.
 *
 *     struct drift_window *window = calloc(1, drift_window_bytes(200));
 *     window->size = 200;
 *     drift_window_put(window, bins, now_s);
 *     drift_window_forget(window, now_s);                        what is too old
 *     if (window->count >= DRIFT_LEAST)
 *         moved = psi_excess(window->counts[kind], &reference->psi[kind]);
 *
 * Why 200 (the option drift_window): a stream that turns is half of the window after a hundred
 * inputs, and each of ten bins still expects twenty. With 1000 a hundred inputs are a tenth, which
 * moves PSI by 0.07 if all of them fall into one decile. But that is for inputs that come one by
 * one: wafers of a lot resemble each other, and 200 of them are twelve lots. Measured with
 * wafer-vit on the 25937 validation maps of WM-811K, share of windows with a label's PSI above 0.25
 * though nothing has turned:
 *
 *     window                      200     400    1000
 *     in any order                  0       0       0
 *     1534 lots in any order     0.30    0.10       0
 *
 * Why a day: a stop of the line ends what was before it, and all shifts are in it. Fewer than
 * DRIFT_LEAST predictions have no figure: statistics.h corrects the mean, and the spread is twice
 * as wide with 100 as with 200.
 *
 * Threads: one at a time. No allocation; 8 bytes a prediction.
 */
#ifndef ATTND_SERVER_OBSERVE_DRIFT_WINDOW_H
#define ATTND_SERVER_OBSERVE_DRIFT_WINDOW_H

#include "engine/decide/drift_reference.h"

#include <stddef.h>

enum { DRIFT_LEAST = 100, DRIFT_AGE_S = 24 * 60 * 60 };

struct drift_entry {
    uint32_t time_s;
    uint8_t bins[DRIFT_KINDS];
};

struct drift_window {
    unsigned size;         /* at least 1 */
    unsigned first, count; /* of the entries, a ring; the oldest is the first */
    uint32_t counts[DRIFT_KINDS][DRIFT_BINS_MAX];
    struct drift_entry entries[]; /* [size] times do not fall */
};

static inline size_t drift_window_bytes(unsigned size)
{
    return sizeof(struct drift_window) + size * sizeof(struct drift_entry);
}

/* bins: one of each kind, below DRIFT_BINS_MAX; now_s: monotonic. */
void drift_window_put(struct drift_window *window, const uint8_t bins[DRIFT_KINDS], uint32_t now_s);
void drift_window_forget(struct drift_window *window, uint32_t now_s);

#endif
