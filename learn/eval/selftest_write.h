/* selftest_write.h - makes the self-test of a checkpoint (engine/selftest.h) out of evaluated
 * inputs: some that the model answers right, of as many labels as there are, with their scores.
 *
 *     unsigned written;
 *     selftest_write(&assessment, 8, &written, &err);       DIR/attnd-selftest.json
 *     printf("%u cases\n", written);
 *
 * Labels take turns, and of each label the inputs come in the order of the data. Left out are
 * inputs that were truncated or too large, and wafers of STDF files, which are no pictures. The
 * scores must be those of f32.
 *
 * Threads: one at a time in a directory.
 */
#ifndef ATTND_LEARN_EVAL_SELFTEST_WRITE_H
#define ATTND_LEARN_EVAL_SELFTEST_WRITE_H

#include "learn/eval/assessment.h"

/* Replaces the directory's file, whole or not at all, by `count` cases or as many as there are.
 * ERR_UNUSABLE: there is none, or the run was not in f32; ERR_IO; ERR_NO_MEMORY. */
enum err_code selftest_write(const struct assessment *assessment, unsigned count, unsigned *written,
                             struct err *err);

#endif
