/* batch_progress.h - the text that tells how far a run of attnd-batch is: a bar, the rate and the
 * time that is left, if the end is known. Threads: no state.
 */
#ifndef ATTND_TOOLS_BATCH_BATCH_PROGRESS_H
#define ATTND_TOOLS_BATCH_BATCH_PROGRESS_H

#include <stdint.h>

struct batch_place {
    uint64_t inputs;
    uint64_t done, total; /* bytes; total 0: unknown */
};

/* Writes "[####      ]  40 %, 120 inputs, 60.0 a second, 0:03 left" into out. seconds > 0 since
 * `first`. */
enum { BATCH_PROGRESS_BYTES = 160 };
void batch_progress_format(char out[BATCH_PROGRESS_BYTES], const struct batch_place *first,
                           const struct batch_place *at, double seconds);

#endif
