/* runner.h - one model in one dtype, open and ready to compute batches: all that the offline lines
 * and the co-process need of the engine.
 *
 *     runner_open(&runner, dir, "int8", threads, &err);
 *     double ms = runner_run(&runner, &inputs);
 *     runner_close(&runner);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_TESTS_BENCH_RUNNER_H
#define ATTND_TESTS_BENCH_RUNNER_H

#include "tests/bench/inputs.h"
#include "tests/bench/peak.h"

enum { RUNNER_TOKENS_MAX = 4096 }; /* of a batch */

extern const char *const runner_dtypes[PEAK_TYPES]; /* "f32", "bf16", "int8" */

struct runner {
    struct engine_model *model;
    struct engine_session *session;
    const struct engine_info *info;
};

/* ERR_UNSUPPORTED: the engine refuses the model or the dtype; the text has its reason. */
enum err_code runner_open(struct runner *out, const char *dir, const char *dtype, unsigned threads,
                          struct err *err);
void runner_close(struct runner *runner);

/* Fills inputs->logits; returns the milliseconds that it took. */
double runner_run(struct runner *runner, const struct inputs *inputs);

/* Multiplications and additions of the linear layers and of attention, for the whole batch. */
double runner_operations(const struct engine_info *info, const struct inputs *inputs);

/* max |a - b| / max |b| over all logits of two batches of the same shape. */
double runner_difference(const struct engine_info *info, const struct inputs *a,
                         const struct inputs *b);

#endif
