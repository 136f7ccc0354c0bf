/* selftest_write.h - makes the self-test of a checkpoint (engine/selftest.h) from evaluated inputs:
 * some that the model answers right, of as many labels as possible, with their scores.
 *
 *     unsigned written;
 *     selftest_write(&assessment, 8, &written, &err);       DIR/attnd-selftest.json
 *     printf("%u cases\n", written);
 *
 * Labels take turns; the inputs of a label are in the order of the data. Inputs that were truncated
 * or are too large are left out, and so are wafers of STDF files, which are no pictures. The scores
 * must be those of f32.
 *
 * Threads: one at a time in a directory.
 */
#ifndef ATTND_LEARN_EVAL_SELFTEST_WRITE_H
#define ATTND_LEARN_EVAL_SELFTEST_WRITE_H

#include "learn/eval/assessment.h"

/* Replaces the directory's file as a whole, with `count` cases or as many as there are.
 * ERR_UNUSABLE: there is no case, or the run was not in f32; ERR_IO; ERR_NO_MEMORY. */
enum err_code selftest_write(const struct assessment *assessment, unsigned count, unsigned *written,
                             struct err *err);

#endif
