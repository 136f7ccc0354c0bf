/* batch_progress.h - how far a run is, on standard error: a bar on a terminal, which overwrites
 * itself, else a line a minute; with the rate and the time that is left, if the end is known.
 *
 *     batch_progress_start(&progress, &at);
 *     batch_progress_show(&progress, &at);       after each chunk
 *     batch_progress_end(&progress);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_TOOLS_BATCH_BATCH_PROGRESS_H
#define ATTND_TOOLS_BATCH_BATCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct batch_place {
    uint64_t inputs;
    uint64_t done, total; /* of what the inputs amount to; total 0: unknown */
};

struct batch_progress {
    bool is_terminal;
    struct batch_place first;
    uint64_t start_ns, shown_ns;
};

void batch_progress_start(struct batch_progress *out, const struct batch_place *first);
void batch_progress_show(struct batch_progress *progress, const struct batch_place *at);
/* Leaves no bar behind. */
void batch_progress_end(const struct batch_progress *progress);

/* Writes "[####      ]  40 %, 120 inputs, 60.0 a second, 0:03 left" into out. seconds > 0 since
 * `first`. */
enum { BATCH_PROGRESS_BYTES = 160 };
void batch_progress_format(char out[BATCH_PROGRESS_BYTES], const struct batch_place *first,
                           const struct batch_place *at, double seconds);

#endif
