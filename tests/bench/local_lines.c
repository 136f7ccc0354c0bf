#include "tests/bench/local_lines.h"

#include "engine/model/bias/reach.h"
#include "engine/tensor/kernels.h"
#include "tests/bench/stopwatch.h"

#include <stdbool.h>
#include <stdlib.h>

/* A head of Longformer-base: windows of 512 tokens, and the first one seen by all. */
enum { HIDDEN = 768, WIDTH = 64, REACH = 256, LENGTH_MAX = 4096 };

struct run {
    const struct kernels *kernels;
    float *qkv, *out, *scratch, *table;
    struct attention_bias band;
    unsigned tokens;
};

static void attend_all(void *context)
{
    const struct run *run = context;
    for (size_t first = 0; first < run->tokens; first += ATTENTION_QUERIES)
        run->kernels->attention(&(struct attention_io){.out = run->out + first * HIDDEN,
                                                       .out_stride = HIDDEN,
                                                       .q = run->qkv + first * 3 * HIDDEN,
                                                       .k = run->qkv + HIDDEN,
                                                       .v = run->qkv + 2 * HIDDEN,
                                                       .q_stride = 3 * HIDDEN,
                                                       .kv_stride = 3 * HIDDEN,
                                                       .count = ATTENTION_QUERIES,
                                                       .n = run->tokens,
                                                       .d = WIDTH,
                                                       .scratch = run->scratch});
}

/* Attends within the window, without the row of the first token. */
static void attend_near(void *context)
{
    const struct run *run = context;
    for (unsigned group = 0; group < run->tokens; group += ATTENTION_QUERIES) {
        const unsigned skipped = group == 0, first = group + skipped;
        const struct key_span span = reach_span_beside(REACH, run->tokens, first);
        const float *key = run->qkv + span.first * 3 * HIDDEN + HIDDEN;
        struct attention_bias bias = attention_bias_at(&run->band, 0, first - span.first);
        bias.global_rows = span.first;
        run->kernels->attention(&(struct attention_io){.out = run->out + first * HIDDEN,
                                                       .out_stride = HIDDEN,
                                                       .q = run->qkv + first * 3 * HIDDEN,
                                                       .k = key,
                                                       .v = key + HIDDEN,
                                                       .q_stride = 3 * HIDDEN,
                                                       .kv_stride = 3 * HIDDEN,
                                                       .count = ATTENTION_QUERIES - skipped,
                                                       .n = span.count,
                                                       .d = WIDTH,
                                                       .bias = bias,
                                                       .scratch = run->scratch});
    }
}

static bool open_run(struct run *run)
{
    *run = (struct run){.kernels = kernels_best(),
                        .qkv = calloc((size_t)LENGTH_MAX * 3 * HIDDEN, sizeof *run->qkv),
                        .out = calloc((size_t)LENGTH_MAX * HIDDEN, sizeof *run->out),
                        .scratch = aligned_alloc(64, attention_scratch(WIDTH) * sizeof(float)),
                        .table = calloc(reach_bias_floats(REACH), sizeof *run->table)};
    if (run->qkv == NULL || run->out == NULL || run->scratch == NULL || run->table == NULL)
        return false;
    for (size_t i = 0; i < (size_t)LENGTH_MAX * 3 * HIDDEN; i++)
        run->qkv[i] = (float)(i * 7919 % 1000) / 500 - 1;
    run->band = reach_bias(run->table, REACH);
    return true;
}

enum err_code local_lines_print(FILE *file, struct err *err)
{
    static const unsigned lengths[] = {512, 1024, 2048, LENGTH_MAX};
    struct run run;
    if (!open_run(&run))
        err_no_memory(err, (size_t)LENGTH_MAX * 3 * HIDDEN * sizeof *run.qkv);
    for (size_t i = 0; err->code == ERR_OK && i < sizeof lengths / sizeof *lengths; i++) {
        run.tokens = lengths[i];
        double all = stopwatch_take(attend_all, &run, STOPWATCH_KERNEL).minimum_ms;
        double near = stopwatch_take(attend_near, &run, STOPWATCH_KERNEL).minimum_ms;
        fprintf(file, "%-24s n = %4u, d = %d %7.0f ns a token, to all tokens %7.0f\n",
                "attention, reach 256", run.tokens, WIDTH, 1e6 * near / run.tokens,
                1e6 * all / run.tokens);
    }
    free(run.qkv), free(run.out), free(run.scratch), free(run.table);
    return err->code;
}
