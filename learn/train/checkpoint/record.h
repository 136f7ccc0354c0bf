/* record.h - the record that a finished run leaves beside its checkpoint. It holds the run's
 * options, to recognise the same command and to tell another command in what it differs, and
 * digests of the inputs that were learnt, to notice if somebody calibrates on them.
 *
 * The record is one safetensors file, training-run.safetensors: metadata with the version of this
 * format and the options as "key=value" lines, and the digests (digest.h), ascending, as U64. If
 * there are more than RECORD_INPUTS_MAX digests, the smallest are kept. Digests are uniformly
 * distributed, so these are a fair sample: among digests not above the largest kept one, all that
 * were learnt are known. The file has digests and not names, since a file that is copied, renamed
 * or put into another list is still the same input. Threads: pure functions.
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
    bool is_sample; /* it does not have all inputs that were learnt */
};

/* Writes the record into the directory. The digests may be in any order and repeated; they are
 * sorted in place. */
enum err_code record_write(const char *dir, const char *lines, uint64_t *digests, size_t count,
                           struct err *err);

/* If there is no record, *found is false and *out empty. ERR_UNSUPPORTED: the file has another
 * format or is damaged. Close it in any case. */
enum err_code record_read(const char *dir, bool *found, struct record *out, struct err *err);
void record_close(struct record *record);

/* Removes the directory's record, if there is one. */
enum err_code record_remove(const char *dir, struct err *err);

/* True if the input was learnt. In a sample also false for learnt inputs that are not in it. */
bool record_knows(const struct record *record, uint64_t digest);

/* How many of `count` inputs were learnt; an estimate if the record is a sample. */
size_t record_count_known(const struct record *record, const uint64_t *digests, size_t count);

#endif
