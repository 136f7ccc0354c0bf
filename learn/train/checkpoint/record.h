/* record.h - what a finished run leaves beside its checkpoint about itself: its options, by which
 * the same command is recognised and another one is told in what it differs, and digests of the
 * inputs that were learnt, by which calibrating on them is noticed.
 *
 * One safetensors file, training-run.safetensors: metadata with the version of this form and the
 * options as "key=value" lines, and the digests (digest.h), ascending, as U64. Of more than
 * RECORD_INPUTS_MAX the smallest are kept: digests are spread evenly, so these are a fair sample,
 * and "of those below the largest that is kept, so many are known" still holds. Digests and not a
 * list of names, since a file that is copied, renamed or put into another list is still the same
 * input. Threads: pure functions.
 */
#ifndef ATTND_LEARN_TRAIN_CHECKPOINT_RECORD_H
#define ATTND_LEARN_TRAIN_CHECKPOINT_RECORD_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_INPUTS_MAX = 1 << 17 }; /* 1 MiB */

struct record {
    char *lines;     /* UTF-8 */
    uint64_t *known; /* [count] ascending, all different */
    size_t count;
    bool is_sample; /* not all inputs learnt are in it */
};

/* Into the directory. The digests may come in any order and more than once; they are sorted. */
enum err_code record_write(const char *dir, const char *lines, uint64_t *digests, size_t count,
                           struct err *err);

/* *found is false, and *out empty, if there is none. ERR_UNSUPPORTED: not of this form, or damaged.
 * To be closed in any case. */
enum err_code record_read(const char *dir, bool *found, struct record *out, struct err *err);
void record_close(struct record *record);

/* There is then none. */
enum err_code record_remove(const char *dir, struct err *err);

/* Whether an input was learnt; of a sample false also where it was and is not in it. */
bool record_knows(const struct record *record, uint64_t digest);

/* How many of `count` inputs were learnt; of a sample an estimate. */
size_t record_count_known(const struct record *record, const uint64_t *digests, size_t count);

#endif
