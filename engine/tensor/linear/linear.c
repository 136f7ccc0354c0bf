#include "engine/tensor/linear/linear.h"

#include "engine/base/arena.h"
#include "engine/tensor/lanes.h"
#include "engine/tensor/simd.h"
#include "engine/tensor/tile_state.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* Fastest first within a precision. Zen 5 (AVX-512), GFLOP/s on one / two threads, best of 65 runs
 * in turn over eight layers' weights, which do not fit the second-level cache, 2026-11 (the machine
 * was shared: two threads seldom had two cores):
 *
 *     rows x out x in  f32 native    openblas   bf16 native
 *     16x2304x768       122 / 126    71 /  64     214 / 159
 *     128x2304x768      212 / 388   174 / 199     407 / 774
 *     197x2304x768      215 / 403   183 / 331     419 / 780
 *     16x768x768        127 /  77    73 /  53     213 / 109
 *     128x768x768       214 / 426   174 / 329     406 / 793
 *     197x768x768       219 / 431   188 / 368     418 / 829
 *     16x3072x768       118 / 216    71 / 123     218 / 374
 *     128x3072x768      212 / 421   176 / 334     410 / 803
 *     197x3072x768      216 / 420   187 / 352     418 / 828
 *     16x768x3072       131 / 237    70 / 107     263 / 461
 *     128x768x3072      218 / 429   172 / 332     436 / 856
 *     197x768x3072      222 / 430   185 / 360     442 / 853
 */
static const struct linear_backend *const backends[] = {
    &linear_tiles[PRECISION_F32],
    &linear_native[PRECISION_F32],
    &linear_openblas,
    &linear_reference,
    &linear_tiles[PRECISION_BF16],
    &linear_native[PRECISION_BF16],
    &linear_scalar[PRECISION_BF16],
    &linear_tiles[PRECISION_INT8],
    &linear_native[PRECISION_INT8],
    &linear_scalar[PRECISION_INT8],
};

const struct linear_backend *linear_backend_find(const char *name, enum precision precision)
{
    bool any = name == NULL || strcmp(name, "auto") == 0;
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (backends[i]->precision == precision && (any || strcmp(backends[i]->name, name) == 0) &&
            (backends[i]->gemm == NULL || gemm_runnable(backends[i]->gemm)))
            return backends[i];
    return NULL;
}

const struct linear_backend *linear_backend_find_plain(const char *name)
{
    const struct linear_backend *backend = linear_backend_find(name, PRECISION_F32);
    return backend != NULL && linear_reads_parts(backend) ? &linear_native[PRECISION_F32] : backend;
}

size_t linear_held_row(const struct linear_backend *backend, size_t in)
{
    if (backend->column_block == 0)
        return in;
    const struct gemm *gemm = backend->gemm != NULL ? backend->gemm : gemm_best(backend->precision);
    const size_t unit = GEMM_GROUP_BYTES / precision_bytes(gemm->precision) * gemm->group_unit;
    return (in + unit - 1) / unit * unit;
}

enum err_code linear_operand(struct operand *out, struct arena *arena,
                             const struct linear_backend *backend, size_t rows, size_t width,
                             struct err *err)
{
    if (linear_reads_parts(backend))
        return operand_alloc_parts(out, arena, rows, width, err);
    return operand_alloc(out, arena, backend->precision, rows, width, err);
}

const char *linear_backend_names(void)
{
    return "auto, native, openblas, reference";
}

enum err_code linear_alloc(struct linear *linear, const struct linear_backend *backend, size_t in,
                           size_t out, struct err *err)
{
    *linear = (struct linear){.backend = backend, .in = in, .out = out};
    size_t padded = gemm_padded(out);
    if (padded >= out && padded <= SIZE_MAX / 8 / sizeof(float) &&
        (in == 0 || padded <= SIZE_MAX / 8 / sizeof(float) / in))
        linear->bias = aligned_alloc(ALIGNMENT, padded * sizeof *linear->bias);
    if (linear->bias == NULL)
        return err_set(err, ERR_NO_MEMORY, "out of memory for a %zu x %zu matrix", out, in);
    memset(linear->bias, 0, padded * sizeof *linear->bias);
    return backend->alloc(linear, err);
}

void linear_fill(struct linear *linear, size_t first, size_t rows, const float *weight)
{
    linear->backend->fill(linear, first, rows, weight);
}

void linear_close(struct linear *linear)
{
    if (linear->backend != NULL && linear->weights != NULL)
        linear->backend->close(linear);
    free(linear->bias);
    *linear = (struct linear){0};
}

/* ---- a run, cut into blocks ---- */

/* `count` blocks of equal size, the last one perhaps smaller; none is empty. */
struct cut {
    size_t total, size, count;
};

static struct cut cut_evenly(size_t total, size_t largest)
{
    struct cut cut = {.total = total, .count = (total + largest - 1) / largest};
    cut.size = (total + cut.count - 1) / cut.count;
    return cut;
}

struct run {
    const struct linear *linear;
    const struct kernels *kernels;
    const struct linear_io *io;
    struct cut rows, columns; /* the columns of one part */
    size_t parts;
    bool shares_rows;
    struct lanes lanes; /* of column blocks, in rounds of rows and parts; or of row blocks, in
                           rounds of columns */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Runs a member's blocks. If it has columns, blocks of the same rows follow each other: these rows
 * stay in the second-level cache while the weights are read. So do its weights, if they fit. */
static void run_blocks(void *context, unsigned index, unsigned count)
{
    struct run *run = context;
    const struct linear *linear = run->linear;
    struct lane_cursor at = lanes_begin(&run->lanes, index);
    (void)count;
    for (size_t round, block; lanes_take(&run->lanes, &at, &round, &block);) {
        const size_t row = (run->shares_rows ? block : round / run->parts) * run->rows.size;
        const size_t part = round % run->parts * run->columns.total;
        const size_t column = (run->shares_rows ? round : block) * run->columns.size;
        const struct linear_block task = {
            row, smaller(row + run->rows.size, run->io->rows), part + column,
            part + smaller(column + run->columns.size, run->columns.total)};
        linear->backend->run(linear, run->kernels, run->io, &task);
    }
    tile_state_release();
}

/* Returns the columns of a block. Each member has several blocks, so that others can take over
 * those of a delayed one, but not many, so that it reads neighbouring weights for a while. */
static size_t columns_of_block(const struct linear *linear, size_t parts, unsigned members)
{
    enum { BLOCKS_PER_MEMBER = 4 };
    const size_t unit = linear->backend->column_block, width = linear->out / parts;
    if (unit == 0) /* whole vectors, so that no two shares are in one */
        return simd_round_up((width + members - 1) / members);
    const size_t units = width / unit / (members * (parts > 1 ? 1 : BLOCKS_PER_MEMBER));
    return units > 0 ? units * unit : unit;
}

/* Returns the number of parts; 1 if the backend cannot begin a block at each part. */
static size_t parts_of(const struct linear *linear, const struct linear_io *io)
{
    const size_t unit = linear->backend->column_block;
    return io->parts > 1 && unit > 0 && linear->out % (io->parts * unit) == 0 ? io->parts : 1;
}

void linear_run(const struct linear *linear, const struct kernels *kernels,
                struct thread_pool *pool, const struct linear_io *io)
{
    const unsigned members = thread_pool_size(pool);
    const bool is_ours = linear->backend->row_block > 0;
    const bool shares_rows = is_ours && linear_shares_rows(io->rows, members);
    const size_t row_block = is_ours ? linear->backend->row_block : io->rows;
    const size_t parts = shares_rows ? 1 : parts_of(linear, io), width = linear->out / parts;
    const size_t columns = columns_of_block(linear, parts, shares_rows ? 1 : members);
    struct run run = {.linear = linear,
                      .kernels = kernels,
                      .io = io,
                      .rows = cut_evenly(io->rows, row_block),
                      .columns = {width, columns, (width + columns - 1) / columns},
                      .parts = parts,
                      .shares_rows = shares_rows};
    if (shares_rows) {
        const size_t blocks = (run.rows.count + members - 1) / members * members;
        run.rows = cut_evenly(io->rows, (io->rows + blocks - 1) / blocks);
        lanes_init(&run.lanes, members, run.columns.count, run.rows.count);
    } else {
        lanes_init(&run.lanes, members, run.rows.count * parts, run.columns.count);
    }
    thread_pool_run(pool, run_blocks, &run);
}

/* ---- self-test ---- */

enum { TEST_ROWS_MAX = 40, TEST_COLUMNS = 8 };

struct self_test {
    const struct linear *linear;
    const struct kernels *kernels;
    struct operand x; /* [TEST_ROWS_MAX, in], in the linear's precision */
    float *weight;    /* [in] */
    float *exact;     /* [TEST_ROWS_MAX, in] x as its operand holds it */
    float *y;         /* [TEST_ROWS_MAX, out] */
};

static float wide(uint16_t bf16)
{
    const uint32_t bits = (uint32_t)bf16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns a number of x, in fp32, as its operand holds it. */
static float held(const struct operand *x, size_t row, size_t k)
{
    const char *numbers = (const char *)x->data + row * x->stride;
    const uint16_t *halves = (const void *)numbers;
    const uint16_t *parts =
        halves + k / OPERAND_STEP * OPERAND_STEP * OPERAND_PARTS + k % OPERAND_STEP;
    if (x->precision == PRECISION_INT8)
        return (float)(((const uint8_t *)numbers)[k] - 128 - x->zero[row]) * x->scale[row];
    if (x->in_parts)
        return wide(parts[0]) + wide(parts[OPERAND_STEP]) + wide(parts[2 * OPERAND_STEP]);
    if (x->precision == PRECISION_F32)
        return ((const float *)(const void *)numbers)[k];
    return wide(halves[k]);
}

/* Fills x with numbers that differ from row to row and column to column. */
static void fill_test_input(const struct self_test *test)
{
    size_t in = test->linear->in;
    for (size_t r = 0; r < TEST_ROWS_MAX; r++) {
        float *row = test->exact + r * in;
        for (size_t k = 0; k < in; k++)
            row[k] = (float)(((r * in + k) * 2654435761u >> 7) % 256) / 128.0f - 1.0f;
        operand_store(&test->x, test->kernels, r, row, in);
        for (size_t k = 0; k < in; k++)
            row[k] = held(&test->x, r, k);
    }
}

static bool column_agrees(const struct self_test *test, size_t rows, size_t column)
{
    const struct linear *linear = test->linear;
    linear->backend->unpack(linear, column, test->weight);
    for (size_t r = 0; r < rows; r++) {
        double sum = linear->bias[column], size = fabs(sum);
        for (size_t k = 0; k < linear->in; k++) {
            double term = (double)test->exact[r * linear->in + k] * test->weight[k];
            sum += term;
            size += fabs(term);
        }
        if (!(fabs(test->y[r * linear->out + column] - sum) <= 1e-5 * size + 1e-30))
            return false;
    }
    return true;
}

static bool products_agree(const struct self_test *test)
{
    static const size_t rows[] = {1, 5, 16, TEST_ROWS_MAX};
    const struct linear *linear = test->linear;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct linear_io io = {
            .x = test->x, .rows = rows[i], .y = test->y, .y_stride = linear->out};
        struct linear_block all = {0, rows[i], 0, linear->out};
        linear->backend->run(linear, test->kernels, &io, &all);
        for (size_t c = 0; c < TEST_COLUMNS; c++)
            if (!column_agrees(test, rows[i], (linear->out - 1) * c / (TEST_COLUMNS - 1)))
                return false;
    }
    return true;
}

static enum err_code take_memory(struct self_test *test, struct arena *arena, struct err *err)
{
    size_t in = test->linear->in, out = test->linear->out;
    if (linear_operand(&test->x, arena, test->linear->backend, TEST_ROWS_MAX, in, err))
        return err->code;
    test->weight = arena_alloc_array(arena, in, sizeof *test->weight);
    test->exact = arena_alloc_array(arena, TEST_ROWS_MAX * in, sizeof *test->exact);
    test->y = arena_alloc_array(arena, TEST_ROWS_MAX * out, sizeof *test->y);
    if (test->weight == NULL || test->exact == NULL || test->y == NULL)
        return err_no_memory(err, TEST_ROWS_MAX * (in + out) * sizeof(float));
    return ERR_OK;
}

enum err_code linear_self_test(const struct linear *linear, const struct kernels *kernels,
                               struct err *err)
{
    struct arena arena;
    struct self_test test = {.linear = linear, .kernels = kernels};
    arena_init(&arena);
    if (!take_memory(&test, &arena, err)) {
        fill_test_input(&test);
        if (!products_agree(&test))
            err_set(err, ERR_INTERNAL,
                    "the linear backend '%s' computes a wrong %zu x %zu product on this CPU; "
                    "choose another one",
                    linear->backend->name, linear->out, linear->in);
    }
    arena_deinit(&arena);
    return err->code;
}
