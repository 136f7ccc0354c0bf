/* backward_lines.c - see backward_lines.h. Every kernel over a matrix of few rows, which stays in
 * the second-level cache, and over one of a training step's 2048 rows.
 *
 * The bound is reading and writing numbers in place at the speed of their level, or reading them
 * where nothing but sums is written. Results go to a matrix of their own, where the machine also
 * reads what is about to be overwritten; that is not counted as moved. */
#include "tests/bench/backward_lines.h"

#include "engine/tensor/backward/backward.h"
#include "tests/bench/stopwatch.h"

#include <stdint.h>
#include <stdlib.h>

enum { ROWS_MAX = 2048, WIDTH_MAX = 3072, MATRICES = 4, SHARE_MIN = 50 };

struct run {
    const struct backward *backward;
    size_t rows, width;
    float *a, *b, *c, *d; /* [rows, width] each */
    float *gamma, *sum;   /* [width] each */
    float *stats;         /* [rows, 2] */
    enum activation act;
};

static void run_layer_norm(void *context)
{
    struct run *r = context;
    r->backward->layer_norm(r->c, r->width, r->stats, r->a, r->width, r->b, r->width, r->gamma,
                            NULL, 0, r->rows, r->width, 1e-12f);
}

static void run_layer_norm_residual(void *context)
{
    struct run *r = context;
    r->backward->layer_norm(r->c, r->width, r->stats, r->a, r->width, r->b, r->width, r->gamma,
                            r->d, r->width, r->rows, r->width, 1e-12f);
}

static void run_layer_norm_columns(void *context)
{
    struct run *r = context;
    r->backward->layer_norm_columns(r->gamma, r->sum, r->a, r->width, r->b, r->width, r->stats,
                                    r->rows, 0, r->width);
}

static void run_column_sums(void *context)
{
    struct run *r = context;
    r->backward->column_sums(r->sum, r->a, r->width, r->rows, 0, r->width);
}

static void run_activate(void *context)
{
    struct run *r = context;
    r->backward->activate(r->c, r->a, r->rows * r->width, r->act);
}

static void run_activation(void *context)
{
    struct run *r = context;
    r->backward->activation(r->c, r->a, r->b, r->rows * r->width, r->act);
}

static void run_gate(void *context)
{
    struct run *r = context;
    for (size_t i = 0; i < r->rows * r->width; i += r->width)
        r->backward->gate(r->c + i, r->a + i, r->b + i, r->width / 2, r->act);
}

static void run_softmax(void *context)
{
    struct run *r = context;
    for (size_t i = 0; i < r->rows * r->width; i += r->width)
        r->backward->softmax(r->c + i, r->a + i, r->b + i, r->width, 0.125f);
}

static void run_dropout(void *context)
{
    struct run *r = context;
    r->backward->dropout(r->c, r->a, r->rows * r->width, 1, 0, 0.1f);
}

static void run_square_sum(void *context)
{
    enum { NUMBERS_MAX = 1 << 20 };
    struct run *r = context;
    size_t n = r->rows * r->width;
    double total = 0;
    for (size_t i = 0; i < n; i += NUMBERS_MAX)
        total += r->backward->square_sum(r->a + i, n - i < NUMBERS_MAX ? n - i : NUMBERS_MAX);
    r->sum[0] = (float)total;
}

static void run_adamw(void *context)
{
    static const struct adamw adamw = {1e-9f, 0.9f, 0.999f, 1e-8f, 0.01f, 1, 1, 1};
    struct run *r = context;
    r->backward->adamw(r->a, r->b, r->c, r->d, r->rows * r->width, &adamw);
}

static void run_moving_average(void *context)
{
    struct run *r = context;
    r->backward->moving_average(r->a, r->b, r->rows * r->width, 0.999f);
}

static const struct line {
    const char *name;
    void (*run)(void *context);
    size_t width;
    unsigned touched, moved; /* matrices in all; matrices read and matrices written */
    bool sums;               /* nothing else is written */
    enum activation act;
} lines[] = {
    {"layer_norm", run_layer_norm, 768, 3, 3, false, ACTIVATION_NONE},
    {"layer_norm+residual", run_layer_norm_residual, 768, 4, 4, false, ACTIVATION_NONE},
    {"layer_norm_columns", run_layer_norm_columns, 768, 2, 2, true, ACTIVATION_NONE},
    {"column_sums", run_column_sums, 768, 1, 1, true, ACTIVATION_NONE},
    {"column_sums", run_column_sums, 3072, 1, 1, true, ACTIVATION_NONE},
    {"activate gelu", run_activate, 3072, 2, 2, false, ACTIVATION_GELU},
    {"activation gelu", run_activation, 3072, 3, 3, false, ACTIVATION_GELU},
    {"activation gelu_tanh", run_activation, 3072, 3, 3, false, ACTIVATION_GELU_TANH},
    {"activation relu", run_activation, 3072, 3, 3, false, ACTIVATION_RELU},
    {"activation tanh", run_activation, 768, 3, 3, false, ACTIVATION_TANH},
    {"gate silu", run_gate, 3072, 3, 3, false, ACTIVATION_SILU},
    {"softmax", run_softmax, 128, 3, 3, false, ACTIVATION_NONE},
    {"softmax", run_softmax, 512, 3, 3, false, ACTIVATION_NONE},
    {"dropout", run_dropout, 768, 2, 2, false, ACTIVATION_NONE},
    {"square_sum", run_square_sum, 768, 1, 1, true, ACTIVATION_NONE},
    {"adamw", run_adamw, 768, 4, 7, false, ACTIVATION_NONE},
    {"moving_average", run_moving_average, 768, 2, 3, false, ACTIVATION_NONE},
};

static void fill(float *x, size_t count, uint32_t state)
{
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) / 16777216.0f; /* not negative: a variance is among them */
    }
}

static void print_line(const struct line *line, struct run run, const struct machine *machine,
                       FILE *file)
{
    size_t bytes = run.rows * line->width * sizeof(float);
    run.width = line->width;
    run.act = line->act;
    fill(run.a, MATRICES * (size_t)(run.b - run.a), 1);
    double us = 1e3 * stopwatch_take(line->run, &run, STOPWATCH_KERNEL).minimum_ms;
    enum machine_level level = machine_level_of(machine, bytes * line->touched);
    double rate = (double)(bytes * line->moved) * 1e-3 / us;
    double limit = line->sums ? machine->level[level].read : machine->level[level].update;
    fprintf(file, "%-20s %4zu x %4zu  %9.2f us  %6.2f Gnumbers/s  %7.1f GB/s", line->name, run.rows,
            run.width, us, (double)(run.rows * run.width) * 1e-3 / us, rate);
    if (limit > 0)
        fprintf(file, "  %5.1f %% of %s  target >= %d %%: %s", 100 * rate / limit,
                machine_level_name(level), SHARE_MIN,
                100 * rate >= SHARE_MIN * limit ? "met" : "MISSED");
    fprintf(file, "\n");
}

static void print_all(float *numbers, const struct machine *machine, FILE *file)
{
    static const size_t row_counts[] = {32, ROWS_MAX};
    const size_t matrix = (size_t)ROWS_MAX * WIDTH_MAX;
    struct run run = {.backward = backward_best(),
                      .a = numbers,
                      .b = numbers + matrix,
                      .c = numbers + 2 * matrix,
                      .d = numbers + 3 * matrix,
                      .gamma = numbers + MATRICES * matrix,
                      .sum = numbers + MATRICES * matrix + WIDTH_MAX,
                      .stats = numbers + MATRICES * matrix + 2 * WIDTH_MAX};
    fprintf(file, "## Gradients and optimiser (%s, one thread)\n", run.backward->name);
    for (size_t i = 0; i < sizeof row_counts / sizeof row_counts[0]; i++)
        for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
            run.rows = row_counts[i];
            print_line(&lines[k], run, machine, file);
        }
    fprintf(file, "\n");
}

enum err_code backward_lines_print(const struct machine *machine, FILE *file, struct err *err)
{
    const size_t count = (size_t)ROWS_MAX * WIDTH_MAX * MATRICES + 2 * WIDTH_MAX + 2 * ROWS_MAX;
    float *numbers = aligned_alloc(64, count * sizeof *numbers);
    if (numbers == NULL)
        return err_no_memory(err, count * sizeof *numbers);
    fprintf(stderr, "kernels: gradients and optimiser\n");
    fill(numbers, count, 1);
    print_all(numbers, machine, file);
    free(numbers);
    return ERR_OK;
}
