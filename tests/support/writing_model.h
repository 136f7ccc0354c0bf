/* writing_model.h - a small checkpoint that writes texts, put together from tests/data/golden and
 * tests/data/recoding.
 *
 *     writing_model_open(&dir, "marian-0");
 *     ... dir.path ...
 *     tempdir_close(&dir);
 *
 * Any failure fails the test.
 */
#ifndef ATTND_TESTS_SUPPORT_WRITING_MODEL_H
#define ATTND_TESTS_SUPPORT_WRITING_MODEL_H

#include "tests/support/tempdir.h"

/* Makes a directory with copies of all files of the checkpoint, and its cases.json. */
void writing_model_open(struct tempdir *dir, const char *name);
/* The same in a directory that is there. */
void writing_model_copy(const struct tempdir *dir, const char *name);

#endif
