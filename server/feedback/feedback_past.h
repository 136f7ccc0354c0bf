/* feedback_past.h - reads predictions and right labels from before this start in the audit log.
 *
 *     struct feedback_past past = {.dir = dir, .until = seq, .predictions_max = 100000,
 *                                  .visit = take, .context = feedback};
 *     feedback_past_read(&past, &err);
 *
 * Only the newest files are read that hold the last predictions_max predictions, twice: to count,
 * and to visit. 100000 predictions in 53 MB take 0.85 s (x86-64, files in memory). The chain is not
 * followed: attnd-audit does that. Threads: a reading belongs to one; `stop` may be set by any.
 */
#ifndef ATTND_SERVER_FEEDBACK_FEEDBACK_PAST_H
#define ATTND_SERVER_FEEDBACK_FEEDBACK_PAST_H

#include "server/feedback/feedback_line.h"

#include <stdatomic.h>

struct feedback_past {
    const char *dir;
    uint64_t until;           /* lines with greater numbers are of this process */
    unsigned predictions_max; /* at least 1 */
    /* Each line of interest, in order; number: of a prediction, from 1, the last of all being
     * predictions_max; 0: an older one, whose id may be that of a label before it. */
    void (*visit)(void *context, const struct feedback_line *line, uint64_t number);
    void *context;
    const atomic_bool *stop; /* NULL: never */

    /* Lines that were visited. */
    uint64_t predictions, labels;
};

/* ERR_IO, ERR_NO_MEMORY; ERR_NOT_READY: stopped. */
enum err_code feedback_past_read(struct feedback_past *past, struct err *err);

#endif
