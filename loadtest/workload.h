/* workload.h - all requests, complete with their heads, made once before the run.
 *
 * Sources take turns by their weights (the smooth weighted round robin of nginx: 3:1 goes a a b a,
 * not a a a b); a source with several items (a JSON-lines file) goes through them in turn.
 *
 *     struct workload *workload;
 *     workload_open(&workload, &options, &err);
 *     const struct workload_item *item = workload_next(workload);
 *     workload_close(workload);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LOADTEST_WORKLOAD_H
#define ATTND_LOADTEST_WORKLOAD_H

#include "engine/base/err.h"
#include "loadtest/options.h"
#include "tools/client/buffer.h"

#include <stdbool.h>

enum { WORKLOAD_ITEMS_MAX = 1000000, WORKLOAD_FILE_BYTES_MAX = 256 * 1024 * 1024 };

struct workload_item {
    struct buffer request; /* head and body */
    unsigned index;        /* in the order of the inputs; expectations are matched by it */
    bool judged;           /* a 200 must carry an answer; false for --get */
};

struct workload;

/* ERR_IO, ERR_MALFORMED or ERR_UNUSABLE for a file that cannot be used. Yours to close. */
enum err_code workload_open(struct workload **out, const struct options *options, struct err *err);
void workload_close(struct workload *workload);

unsigned workload_items(const struct workload *workload);
const struct workload_item *workload_next(struct workload *workload);

#endif
