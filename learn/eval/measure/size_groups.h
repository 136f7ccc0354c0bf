/* size_groups.h - counts right answers of each class by the size of the input: an image's larger
 * side in pixels (for a wafer map the dies across), a text's tokens. A model that shrinks its
 * images, or reads only the beginning of a text, fails first at one end.
 *
 *     size_groups_open(&groups, &evaluation, classes, &err);
 *     size_groups_cell(&groups, g, label)->hits;
 *     size_groups_close(&groups);
 *
 * Groups end at powers of two and halfway between them (.. 24, 32, 48, 64, 96 ..), so that they are
 * the same for all data sets. If that needs more than SIZE_GROUPS_MAX groups, they end at powers of
 * two, of four and so on. Threads: plain data.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_SIZE_GROUPS_H
#define ATTND_LEARN_EVAL_MEASURE_SIZE_GROUPS_H

#include "engine/base/err.h"
#include "learn/eval/measure/evaluation.h"

#include <stddef.h>

enum { SIZE_GROUPS_MAX = 8 };

struct size_cell {
    size_t support, hits; /* inputs; inputs answered right */
};

struct size_group {
    size_t from, to; /* sizes, both included */
    struct size_cell all;
};

struct size_groups {
    unsigned count, label_count;               /* count 0: no size is known */
    struct size_group groups[SIZE_GROUPS_MAX]; /* ascending, without a gap */
    struct size_cell *cells;                   /* [SIZE_GROUPS_MAX, label_count] */
};

/* Inputs that failed are not counted. `classes` must come from dataset_match. ERR_NO_MEMORY. Close
 * it in any case. */
enum err_code size_groups_open(struct size_groups *out, const struct evaluation *evaluation,
                               const unsigned *classes, struct err *err);
void size_groups_close(struct size_groups *groups);

const struct size_cell *size_groups_cell(const struct size_groups *groups, unsigned group,
                                         unsigned label);

#endif
