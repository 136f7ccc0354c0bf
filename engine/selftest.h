/* selftest.h - golden inputs that a checkpoint carries with the scores that it must give them: the
 * file attnd-selftest.json of its directory. A model that fails it is not the one that was trained,
 * or not on this machine.
 *
 *     struct selftest *selftest;
 *     if (selftest_open(&selftest, dir, &err)) ...          NULL, and no error, if there is none
 *     if (selftest != NULL && selftest_run(selftest, model, session, &err)) ...
 *     selftest_count(selftest);                             cases, all of which passed
 *     selftest_close(selftest);
 *
 *     {"format": 1, "tolerance": 0.001, "tolerance_bf16": 0.02, "tolerance_int8": 0.1,
 *      "cases": [{"text": "..." (and "text_pair") or "image": "<base64>" or "image_file": "name",
 *                 "scores": {"Scratch": 0.97, ...}, "label": "Scratch"}]}
 *
 * `tolerance` (default SELFTEST_TOLERANCE) bounds the distance of each score in f32; those of the
 * other dtypes, whose products are less exact, have defaults of their own, never below it. A case
 * has `scores` of some labels or of all, the `label` that must win, or both. A label wins if no
 * other one scores higher by more than the tolerance, so that a tie that only rounding decides is
 * none. Scores are those that the checkpoint was fitted for: a class_prior may change without it.
 * Unknown members are refused.
 *
 * Threads: a selftest is immutable once open; a run uses the session's.
 */
#ifndef ATTND_ENGINE_SELFTEST_H
#define ATTND_ENGINE_SELFTEST_H

#include "engine/base/err.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stddef.h>

#define SELFTEST_FILE "attnd-selftest.json"
#define SELFTEST_TOLERANCE 0.001

enum {
    SELFTEST_FORMAT = 1,
    SELFTEST_CASES_MAX = 64,
    SELFTEST_FILE_BYTES_MAX = 4 * 1024 * 1024,
    SELFTEST_IMAGE_BYTES_MAX = 4 * 1024 * 1024, /* of an image_file */
    SELFTEST_PIXELS_MAX = 4 * 1024 * 1024,
    SELFTEST_TOKENS_MAX = 512 * 1024 /* of JSON: each case may score thousands of labels */
};

struct selftest;

/* The cases of a checkpoint directory, yours to close; *out is NULL if it has no such file. Errors
 * begin with the file's name and the JSON path: ERR_MALFORMED, ERR_UNUSABLE, ERR_TOO_LARGE; ERR_IO
 * if the file cannot be read; ERR_NO_MEMORY. */
enum err_code selftest_open(struct selftest **out, const char *dir, struct err *err);
void selftest_close(struct selftest *selftest); /* NULL is allowed */

unsigned selftest_count(const struct selftest *selftest); /* of cases */
/* Returns the largest difference that is allowed between a score and the expected one, for an
 * engine_info's dtype. */
double selftest_tolerance(const struct selftest *selftest, const char *dtype);

/* Upper bound of what a run takes beside the session, for the budget of who runs it. */
size_t selftest_bytes(const struct selftest *selftest, const struct engine_model *model);

/* Each case alone through the session. ERR_UNUSABLE: a case does not give what it must; the text
 * says which case, what was expected and what was found. ERR_NO_MEMORY; ERR_IO. */
enum err_code selftest_run(const struct selftest *selftest, const struct engine_model *model,
                           struct engine_session *session, struct err *err);

#endif
