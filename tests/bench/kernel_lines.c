/* kernel_lines.c - see kernel_lines.h. A row-wise kernel is held against reading and writing its
 * numbers in place at the speed of the level where they live, and should reach half of it; gelu,
 * tanh and softmax compute a good deal for each number, so they show their numbers a second too.
 * Attention and the linear layers are held against the multiply-add peak.
 *
 * A linear layer has two figures: hot, the same weights again and again; and cold, the weights of
 * many layers in turn, more than the last cache holds, as a model of many layers uses them.
 */
#include "tests/bench/kernel_lines.h"

#include "engine/base/arena.h"
#include "engine/base/openblas.h"
#include "engine/base/thread_pool.h"
#include "engine/tensor/gemm/relative_scores.h"
#include "engine/tensor/kernels.h"
#include "engine/tensor/linear/linear.h"
#include "tests/bench/stopwatch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    HIDDEN = 768,
    HEADS = 12,
    WIDTH = HIDDEN / HEADS,
    SHARE_MIN = 50,
    COLD_MAX = 64,
    ROWS_MAX = 197
};

/* Aligned, filled with small seeded numbers; NULL if there is no memory. */
static float *numbers(size_t count)
{
    float *x = aligned_alloc(64, (count * sizeof *x + 63) / 64 * 64);
    uint32_t state = 1;
    for (size_t i = 0; x != NULL && i < count; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
    return x;
}

/* ---- row-wise kernels ---- */

struct rowwise {
    const struct kernels *kernels;
    size_t rows, width;
    float *x, *y; /* [rows, width] */
    const float *parameters;
    const float *residual; /* NULL: none */
    enum activation act;
};

static void run_layer_norm(void *context)
{
    struct rowwise *run = context;
    run->kernels->layer_norm(run->y, run->width, run->x, run->width, run->parameters,
                             run->parameters, run->rows, run->width, 1e-12f);
}

static void run_rms_norm(void *context)
{
    struct rowwise *run = context;
    run->kernels->rms_norm(run->y, run->width, run->x, run->width, run->parameters, run->rows,
                           run->width, 1e-6f);
}

static void run_softmax(void *context)
{
    struct rowwise *run = context;
    for (size_t r = 0; r < run->rows; r++)
        run->kernels->softmax(run->y + r * run->width, run->x + r * run->width, run->width);
}

/* Log-probabilities and what the search for the next token passes by. */
static void run_log_sum(void *context)
{
    struct rowwise *run = context;
    float max;
    for (size_t r = 0; r < run->rows; r++) {
        const float *x = run->x + r * run->width;
        run->y[r] = run->kernels->log_sum(&max, x, run->width);
        run->y[r] += (float)run->kernels->next_above(x, 0, run->width, max);
    }
}

static void run_epilogue(void *context)
{
    struct rowwise *run = context;
    struct epilogue epilogue = {.y = run->y,
                                .y_stride = run->width,
                                .sums = run->y,
                                .sums_stride = run->width,
                                .bias = run->parameters,
                                .residual = run->residual,
                                .residual_stride = run->width,
                                .rows = run->rows,
                                .columns = run->width,
                                .act = run->act};
    run->kernels->epilogue(&epilogue);
}

/* [u, v] -> act(u) v: half as many are written. */
static void run_gate(void *context)
{
    struct rowwise *run = context;
    for (size_t r = 0; r < run->rows; r++)
        run->kernels->gate(run->y + r * run->width, run->x + r * run->width, run->width / 2,
                           run->act);
}

/* All by one angle, so that the numbers keep their size. */
static void run_rotate(void *context)
{
    struct rowwise *run = context;
    float turn[WIDTH];
    for (size_t i = 0; i < WIDTH; i++)
        turn[i] = i < WIDTH / 2 ? 0.6f : 0.8f;
    for (size_t r = 0; r < run->rows; r++)
        run->kernels->rotate(run->y + r * run->width, turn, run->width / WIDTH, WIDTH, 1);
}

/* Quantizes rows after a norm, for an int8 product: it reads twice and writes a quarter. */
static void run_quantize(void *context)
{
    struct rowwise *run = context;
    for (size_t r = 0; r < run->rows; r++) {
        const float *x = run->x + r * run->width;
        uint8_t *q = (uint8_t *)run->y + r * run->width;
        float low, high;
        run->kernels->range(&low, &high, x, run->width);
        run->kernels->quantize(q, x, run->width, 253 / (high - low), 0);
    }
}

static const struct rowwise_line {
    const char *name;
    void (*run)(void *context);
    size_t width;
    unsigned matrices; /* touched in all; the last one is written */
    bool has_residual, in_place;
    enum activation act;
} rowwise_lines[] = {
    {"layer_norm", run_layer_norm, 768, 2, false, false, ACTIVATION_NONE},
    {"rms_norm", run_rms_norm, 768, 2, false, false, ACTIVATION_NONE},
    {"quantize", run_quantize, 768, 1, false, true, ACTIVATION_NONE},
    {"quantize", run_quantize, 3072, 1, false, true, ACTIVATION_NONE},
    {"softmax", run_softmax, 128, 2, false, false, ACTIVATION_NONE},
    {"softmax", run_softmax, 512, 2, false, false, ACTIVATION_NONE},
    {"log_sum", run_log_sum, 3072, 1, false, true, ACTIVATION_NONE},
    {"epilogue bias", run_epilogue, 768, 1, false, true, ACTIVATION_NONE},
    {"epilogue bias+residual", run_epilogue, 768, 2, true, true, ACTIVATION_NONE},
    {"epilogue gelu", run_epilogue, 3072, 1, false, true, ACTIVATION_GELU},
    {"epilogue gelu+residual", run_epilogue, 768, 2, true, true, ACTIVATION_GELU},
    {"epilogue gelu_tanh", run_epilogue, 3072, 1, false, true, ACTIVATION_GELU_TANH},
    {"epilogue relu", run_epilogue, 3072, 1, false, true, ACTIVATION_RELU},
    {"gate silu", run_gate, 3072, 2, false, false, ACTIVATION_SILU},
    {"gate gelu", run_gate, 3072, 2, false, false, ACTIVATION_GELU},
    {"rotate", run_rotate, 1536, 1, false, true, ACTIVATION_NONE},
    {"epilogue tanh", run_epilogue, 768, 1, false, true, ACTIVATION_TANH},
};

static void print_rowwise(const struct rowwise_line *line, struct rowwise run,
                          const struct machine *machine, FILE *file)
{
    size_t bytes = run.rows * run.width * sizeof(float);
    run.act = line->act;
    run.residual = line->has_residual ? run.x : NULL;
    double us = 1e3 * stopwatch_take(line->run, &run, STOPWATCH_KERNEL).minimum_ms;
    /* In place reads and writes y, and reads the residual; else x is read and y written. */
    size_t moved = bytes * (line->in_place ? line->matrices + 1 : line->matrices);
    enum machine_level level = machine_level_of(machine, bytes * line->matrices);
    double rate = (double)moved * 1e-3 / us, limit = machine->level[level].update;
    fprintf(file, "%-24s %4zu x %4zu  %9.2f us  %6.2f Gnumbers/s  %7.1f GB/s", line->name, run.rows,
            run.width, us, (double)(run.rows * run.width) * 1e-3 / us, rate);
    if (limit > 0)
        fprintf(file, "  %5.1f %% of %s  target >= %d %%: %s", 100 * rate / limit,
                machine_level_name(level), SHARE_MIN,
                100 * rate >= SHARE_MIN * limit ? "met" : "MISSED");
    fprintf(file, "\n");
}

static enum err_code print_rowwise_all(const struct machine *machine, FILE *file, struct err *err)
{
    enum { ROWS = 128, WIDTH_MAX = 3072 };
    float *x = numbers(ROWS * WIDTH_MAX), *y = numbers(ROWS * WIDTH_MAX);
    float *parameters = numbers(WIDTH_MAX);
    if (x == NULL || y == NULL || parameters == NULL)
        err_no_memory(err, ROWS * WIDTH_MAX * sizeof *x);
    for (size_t i = 0; err->code == ERR_OK && i < sizeof rowwise_lines / sizeof *rowwise_lines; i++)
        print_rowwise(&rowwise_lines[i],
                      (struct rowwise){.kernels = kernels_best(),
                                       .rows = ROWS,
                                       .width = rowwise_lines[i].width,
                                       .x = x,
                                       .y = y,
                                       .parameters = parameters},
                      machine, file);
    free(x), free(y), free(parameters);
    return err->code;
}

/* ---- attention ---- */

struct attention {
    const struct kernels *kernels;
    size_t n;
    const float *qkv; /* [n, 3 HIDDEN] */
    float *out;       /* [n, HIDDEN] */
    float *scratch;
    struct attention_bias bias; /* by difference; at NULL: none */
};

/* One head over one whole sequence, in blocks of queries as the encoder cuts it. */
static void run_attention(void *context)
{
    struct attention *run = context;
    for (size_t first = 0; first < run->n; first += ATTENTION_QUERIES) {
        size_t left = run->n - first;
        size_t count = left < ATTENTION_QUERIES ? left : ATTENTION_QUERIES;
        struct attention_bias bias = {.at = run->bias.at + first, .key_step = run->bias.key_step};
        float *out = run->out + first * HIDDEN;
        const float *q = run->qkv + first * 3 * HIDDEN, *k = run->qkv + HIDDEN, *v = k + HIDDEN;
        if (run->bias.at != NULL)
            run->kernels->attention(&(struct attention_io){.out = out,
                                                           .out_stride = HIDDEN,
                                                           .q = q,
                                                           .k = k,
                                                           .v = v,
                                                           .q_stride = 3 * HIDDEN,
                                                           .kv_stride = 3 * HIDDEN,
                                                           .count = count,
                                                           .n = run->n,
                                                           .d = WIDTH,
                                                           .bias = bias,
                                                           .scratch = run->scratch});
        else
            run->kernels->attention(&(struct attention_io){.out = out,
                                                           .out_stride = HIDDEN,
                                                           .q = q,
                                                           .k = k,
                                                           .v = v,
                                                           .q_stride = 3 * HIDDEN,
                                                           .kv_stride = 3 * HIDDEN,
                                                           .count = count,
                                                           .n = run->n,
                                                           .d = WIDTH,
                                                           .scratch = run->scratch});
    }
}

/* Two products of n x n numbers of width d. */
static void print_attention_line(const char *name, void (*work)(void *), void *run, size_t n,
                                 const struct machine *machine, FILE *file)
{
    double us = 1e3 * stopwatch_take(work, run, STOPWATCH_KERNEL).minimum_ms;
    double rate = 4.0 * (double)(n * n) * WIDTH * 1e-3 / us;
    fprintf(file, "%-24s n = %3zu, d = %d %6.2f us  %7.1f Gop/s  %5.1f %% of the f32 peak\n", name,
            n, WIDTH, us, rate, 100 * rate / machine->peak[PEAK_F32].one);
}

/* The scores that disentangled attention adds for the distances, for one head, too. */
struct distances {
    struct relative_scores scores;
    const float *qkv;
    float *matrix, *scratch;
};

static void run_distances(void *context)
{
    const struct distances *run = context;
    size_t n = run->scores.tokens_max, stride = 3 * HIDDEN * sizeof *run->qkv;
    for (size_t first = 0; first < n; first += ATTENTION_QUERIES)
        relative_scores_run(&run->scores, 0, run->qkv + first * 3 * HIDDEN, run->qkv + HIDDEN,
                            stride, first,
                            n - first < ATTENTION_QUERIES ? n - first : ATTENTION_QUERIES, n,
                            run->matrix, run->scratch);
}

static enum err_code print_distances(size_t n, const float *qkv, const struct machine *machine,
                                     FILE *file, struct err *err)
{
    const struct gemm *gemm = gemm_best(PRECISION_F32);
    float *table = numbers(relative_scores_floats(gemm, 1, WIDTH, n));
    float *matrix = numbers(n * ATTENTION_QUERIES), *scratch = numbers(relative_scores_scratch(n));
    if (table == NULL || matrix == NULL || scratch == NULL) {
        err_no_memory(err, n * ATTENTION_QUERIES * sizeof *matrix);
    } else {
        struct distances run = {.scores = {.gemm = gemm,
                                           .heads = 1,
                                           .d = WIDTH,
                                           .tokens_max = n,
                                           .tables = {table, table}},
                                .qkv = qkv,
                                .matrix = matrix,
                                .scratch = scratch};
        print_attention_line("  terms by distance", run_distances, &run, n, machine, file);
    }
    free(table), free(matrix), free(scratch);
    return err->code;
}

/* A step of a decoder: one query of all heads. `out` holds the scores behind the result. */
static void run_decode(void *context)
{
    const struct attention *run = context;
    run->kernels->attention_decode(&(struct decode_io){.out = run->out,
                                                       .q = run->qkv,
                                                       .k = run->qkv + HIDDEN,
                                                       .v = run->qkv + 2 * HIDDEN,
                                                       .kv_stride = 3 * HIDDEN,
                                                       .n = run->n,
                                                       .d = WIDTH,
                                                       .heads = HEADS,
                                                       .scores = run->out + HIDDEN,
                                                       .scores_step = run->n});
}

static void print_decode(struct attention *run, FILE *file)
{
    const double us = 1e3 * stopwatch_take(run_decode, run, STOPWATCH_KERNEL).minimum_ms;
    const double bytes = 2.0 * (double)run->n * HIDDEN * sizeof(float);
    fprintf(file, "%-24s n = %3zu, d = %d %6.2f us  %7.1f GB/s of keys and values\n",
            "attention of one query", run->n, WIDTH, us, bytes * 1e-3 / us);
}

static enum err_code print_attention(size_t n, const struct machine *machine, FILE *file,
                                     struct err *err)
{
    float *qkv = numbers(n * 3 * HIDDEN), *out = numbers((n + 1) * HIDDEN);
    float *scratch = numbers(attention_scratch(WIDTH)), *table = numbers(2 * n + SIMD_WIDTH);
    if (qkv == NULL || out == NULL || scratch == NULL || table == NULL) {
        err_no_memory(err, n * 3 * HIDDEN * sizeof *qkv);
    } else {
        struct attention run = {
            .kernels = kernels_best(), .n = n, .qkv = qkv, .out = out, .scratch = scratch};
        print_attention_line("attention, one head", run_attention, &run, n, machine, file);
        run.bias = (struct attention_bias){.at = table + n - 1, .key_step = -1};
        print_attention_line("  with a bias", run_attention, &run, n, machine, file);
        print_distances(n, qkv, machine, file, err);
        print_decode(&run, file);
    }
    free(qkv), free(out), free(scratch), free(table);
    return err->code;
}

/* ---- linear layers ---- */

/* `terms`: products of the peak's kind for one (gemm.h: fp32 in parts). */
static const struct product {
    const char *backend;
    enum precision precision;
    enum peak_type type;
    unsigned terms;
} products[] = {
    {"openblas", PRECISION_F32, PEAK_F32, 1},     {"native", PRECISION_F32, PEAK_F32, 1},
    {"native", PRECISION_BF16, PEAK_BF16, 1},     {"native", PRECISION_INT8, PEAK_INT8, 1},
    {"tiles", PRECISION_F32, PEAK_TILES_BF16, 6}, {"tiles", PRECISION_BF16, PEAK_TILES_BF16, 1},
    {"tiles", PRECISION_INT8, PEAK_TILES_INT8, 1}};

static const size_t shapes[][2] = {{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}};
static const size_t row_counts[] = {16, 128, 197};

static enum err_code open_linear(struct linear *out, const struct product *product, size_t in,
                                 size_t columns, struct err *err)
{
    const struct linear_backend *backend =
        linear_backend_find(product->backend, product->precision);
    if (backend == NULL)
        return err_set(err, ERR_UNSUPPORTED, "this CPU does not have it");
    float *weight = numbers(in * columns);
    if (weight == NULL)
        return err_no_memory(err, in * columns * sizeof *weight);
    if (!linear_alloc(out, backend, in, columns, err))
        linear_fill(out, 0, columns, weight);
    free(weight);
    return err->code;
}

struct product_run {
    struct linear layers[COLD_MAX];
    unsigned count, next; /* layers in turn */
    struct thread_pool *pool;
    size_t rows;
    float *numbers; /* [rows, in], dense */
    struct operand x;
    float *y;
};

static void run_product(void *context)
{
    struct product_run *run = context;
    const struct linear *linear = &run->layers[run->next];
    struct linear_io io = {.x = run->x,
                           .rows = run->rows,
                           .y = run->y,
                           .y_stride = operand_stride(linear->out, sizeof(float)) / sizeof(float)};
    linear_run(linear, kernels_best(), run->pool, &io);
    run->next = (run->next + 1) % run->count;
}

/* The numbers in the layer's precision. */
static enum err_code take_operand(struct product_run *run, struct arena *arena, struct err *err)
{
    const struct linear *linear = &run->layers[0];
    if (linear_operand(&run->x, arena, linear->backend, ROWS_MAX, linear->in, err))
        return err->code;
    for (size_t r = 0; r < ROWS_MAX; r++)
        operand_store(&run->x, kernels_best(), r, run->numbers + r * linear->in, linear->in);
    return ERR_OK;
}

static double product_rate(struct product_run *run, unsigned layers)
{
    run->count = layers;
    run->next = 0;
    double ms = stopwatch_take(run_product, run, STOPWATCH_KERNEL).minimum_ms;
    return 2e-6 * (double)(run->rows * run->layers[0].in * run->layers[0].out) / ms;
}

/* Layers that together exceed the last cache twice. */
static unsigned cold_layers(const struct machine *machine, enum precision precision, size_t weights)
{
    const size_t bytes = weights * precision_bytes(precision);
    size_t count = 2 * machine->level[MACHINE_L3].bytes / bytes + 1;
    return count < COLD_MAX ? (unsigned)count : COLD_MAX;
}

static void print_product(const struct product *product, struct product_run *run, unsigned layers,
                          const struct machine *machine, FILE *file)
{
    double peak = machine->peak[product->type].all / product->terms;
    for (size_t i = 0; i < sizeof row_counts / sizeof row_counts[0]; i++) {
        run->rows = row_counts[i];
        double hot = product_rate(run, 1), cold = product_rate(run, layers);
        fprintf(file, "linear %-9s %-4s  %4zu x %4zu x %4zu  hot %7.1f Gop/s  cold %7.1f",
                product->backend, precision_name(product->precision), run->rows, run->layers[0].out,
                run->layers[0].in, hot, cold);
        if (peak > 0)
            fprintf(file, "  %5.1f and %5.1f %% of peak", 100 * hot / peak, 100 * cold / peak);
        fprintf(file, "\n");
    }
}

/* ERR_UNSUPPORTED: this build or CPU does not have it. */
static enum err_code print_shape(const struct product *product, struct product_run *run,
                                 const size_t shape[2], const struct machine *machine, FILE *file,
                                 struct err *err)
{
    unsigned opened = 0, layers = cold_layers(machine, product->precision, shape[0] * shape[1]);
    memset(run->layers, 0, sizeof run->layers);
    while (opened < layers && !open_linear(&run->layers[opened], product, shape[1], shape[0], err))
        opened++;
    struct arena arena;
    arena_init(&arena);
    if (err->code == ERR_OK && !take_operand(run, &arena, err))
        print_product(product, run, layers, machine, file);
    arena_deinit(&arena);
    for (unsigned i = 0; i < layers; i++)
        linear_close(&run->layers[i]);
    return err->code;
}

static enum err_code print_products(struct product_run *run, const struct machine *machine,
                                    FILE *file, struct err *err)
{
    for (size_t p = 0; p < sizeof products / sizeof products[0]; p++) {
        struct err refusal = {0};
        fprintf(stderr, "kernels: linear %s %s\n", products[p].backend,
                precision_name(products[p].precision));
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0] && refusal.code == ERR_OK; s++)
            print_shape(&products[p], run, shapes[s], machine, file, &refusal);
        if (refusal.code == ERR_UNSUPPORTED)
            fprintf(file, "linear %-9s %-4s  refused: %s\n", products[p].backend,
                    precision_name(products[p].precision), refusal.text);
        else if (refusal.code != ERR_OK)
            return err_set(err, refusal.code, "%s", refusal.text);
    }
    return ERR_OK;
}

static enum err_code print_linears(const struct machine *machine, FILE *file, struct err *err)
{
    enum { SIDE_MAX = 3072 };
    struct product_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return err_no_memory(err, sizeof *run);
    run->numbers = numbers(ROWS_MAX * SIDE_MAX);
    run->y = numbers(ROWS_MAX * operand_stride(SIDE_MAX, 1));
    if (run->numbers == NULL || run->y == NULL)
        err_no_memory(err, ROWS_MAX * SIDE_MAX * sizeof *run->y);
    else if (!thread_pool_open(&run->pool, machine->threads, err)) {
        print_products(run, machine, file, err);
        thread_pool_close(run->pool);
    }
    free(run->numbers), free(run->y), free(run);
    return err->code;
}

enum err_code kernel_lines_print(const struct machine *machine, FILE *file, struct err *err)
{
    static const size_t lengths[] = {16, 128, 197, 512};
    fprintf(file,
            "## Kernels (%s; linear layers on %u threads, the others on one; OpenBLAS core %s)\n",
            kernels_best()->name, machine->threads, openblas_core());
    fprintf(stderr, "kernels: row-wise and attention\n");
    if (print_rowwise_all(machine, file, err))
        return err->code;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (print_attention(lengths[i], machine, file, err))
            return err->code;
    if (print_linears(machine, file, err))
        return err->code;
    fprintf(file, "\n");
    return ERR_OK;
}
