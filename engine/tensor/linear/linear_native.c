/* linear_native.c - products by our own tiles (gemm.h), in all three precisions.
 *
 * Packing: 32 rows of W at a time become a panel. In every precision the rows are first converted
 * to 4-byte groups. The 32 x groups matrix of groups is then transposed, STRETCH groups at a time
 * so that they stay in the first-level cache. int8 weights are symmetric with one scale for each
 * output column: q = round(127 w / max |w|); where pairs of products saturate (gemm.h: paired), the
 * maximum is also over the sums of pairs, a step some 1.25 times as large.
 *
 * A block is up to ROW_BLOCK rows times one panel. Its sums stay in the first-level cache until the
 * epilogue, tile by tile, has turned them into fp32 activations: no product is written to memory
 * before its epilogue. k is processed in steps of as many groups as stay in the cache together with
 * the block's rows of X while its tiles use them (gemm.h: groups_max).
 *
 * Products by tile registers (AMX) differ in three ways. During a product the rows of the one
 * before are finished, and in fp32 the next weights are cut into parts. Rows of X that exceed the
 * second-level cache (PASS_BYTES) are multiplied in passes over k, each over several panels whose
 * sums are kept: 8 x 128 tokens of BERT-base take 0.87 of the time in fp32, 0.95 in bf16.
 */
#include "engine/base/pages.h"
#include "engine/tensor/linear/linear.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_BLOCK = 112,
    SLICE_ROWS = 8, /* rows finished at a time during a product by tiles; of bytes twice as many */
    ROW_BLOCK_TILES = 256,
    ROW_BLOCK_MAX = ROW_BLOCK_TILES + 32,
    SUMS_ROWS = 13 * (ROW_BLOCK_TILES + 16),
    PASS_BYTES = 800 * 1024, /* of a block's rows of X: they stay in the second-level cache */
    CUT_GROUPS = 16,
    PARTS_BYTES = 128 * GEMM_CUT_BYTES, /* of groups_max of a variant that cuts panels */
    STRETCH = 64,
    ZERO_POINT = 128,
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct native {
    const struct gemm *gemm;
    size_t per_group;    /* numbers in a group */
    size_t groups;       /* groups of a row, the last one padded with zeros */
    size_t panels;       /* panels of 32 columns, the last one padded with zeros */
    uint32_t *panel;     /* [panels, groups, 32] groups of weights */
    float *column_scale; /* [panels x 32]; int8 only */
    int32_t *column_sum; /* [panels x 32] of a column's weights; int8 only */
};

/* ---- load ---- */

static void native_free(struct native *native)
{
    if (native == NULL)
        return;
    pages_return(native->panel, native->panels * native->groups * GEMM_COLUMNS * sizeof(uint32_t));
    free(native->column_scale);
    free(native->column_sum);
    free(native);
}

static enum err_code native_alloc(struct linear *linear, struct err *err)
{
    const struct linear_backend *backend = linear->backend;
    struct native *native = calloc(1, sizeof *native);
    if (native == NULL)
        return err_no_memory(err, sizeof *native);
    native->gemm = backend->gemm != NULL ? backend->gemm : gemm_best(backend->precision);
    native->per_group = GEMM_GROUP_BYTES / precision_bytes(backend->precision);
    const size_t unit = native->per_group * native->gemm->group_unit;
    native->groups = (linear->in + unit - 1) / unit * native->gemm->group_unit;
    native->panels = (linear->out + GEMM_COLUMNS - 1) / GEMM_COLUMNS;
    size_t columns = native->panels * GEMM_COLUMNS, bytes = columns * native->groups * 4;
    native->panel = pages_share(bytes);
    native->column_scale = calloc(columns, sizeof *native->column_scale);
    native->column_sum = calloc(columns, sizeof *native->column_sum);
    if (native->panel == NULL || native->column_scale == NULL || native->column_sum == NULL) {
        native_free(native);
        return err_no_memory(err, bytes);
    }
    linear->weights = native;
    linear->kernel = native->gemm->name;
    linear->bytes = bytes;
    return ERR_OK;
}

/* Converts numbers [first, first + count) of a row to groups; `inverse` is 1 / scale. */
static void convert(const struct kernels *kernels, enum precision precision, uint32_t *groups,
                    const float *row, size_t count, float inverse)
{
    switch (precision) {
    case PRECISION_BF16:
        kernels->round_bf16((uint16_t *)groups, row, count);
        break;
    case PRECISION_INT8:
        memset(groups, ZERO_POINT, (count + 3) / 4 * GEMM_GROUP_BYTES);
        kernels->quantize((uint8_t *)groups, row, count, inverse, 0);
        for (size_t i = 0; i < (count + 3) / 4; i++)
            groups[i] ^= 0x80808080u; /* 128 + q, with the top bit flipped, is q */
        break;
    default:
        memcpy(groups, row, count * sizeof *row);
    }
}

/* Returns the largest |w[2 i] + w[2 i + 1]| of a row. */
static float max_pair(const float *row, size_t in)
{
    float max = 0;
    for (size_t k = 0; k + 1 < in; k += 2)
        max = fmaxf(max, fabsf(row[k] + row[k + 1]));
    return max;
}

/* Computes scale and inverse scale of each row of a panel. Two weights of at most 127 together are
 * at most GEMM_PAIR_MAX when both are rounded. */
static void choose_scales(const struct gemm *gemm, const float *weight, size_t rows, size_t in,
                          float *scale, float *inverse)
{
    for (size_t r = 0; r < rows; r++) {
        float max = kernels_best()->max_abs(weight + r * in, in);
        if (gemm->paired)
            max = fmaxf(max, max_pair(weight + r * in, in));
        scale[r] = max / 127;
        inverse[r] = max > 0 ? 127 / max : 0;
    }
}

static int32_t sum_of_bytes(uint32_t group)
{
    return (int8_t)group + (int8_t)(group >> 8) + (int8_t)(group >> 16) + (int8_t)(group >> 24);
}

/* Transposes groups [first, first + count) of a panel's rows into place. */
static void fill_stretch(const struct linear *linear, struct native *native, size_t panel,
                         const float *weight, size_t rows, const float *inverse, size_t first,
                         size_t count)
{
    const struct kernels *kernels = kernels_best();
    uint32_t groups[GEMM_COLUMNS][STRETCH];
    size_t from = first * native->per_group, numbers = count * native->per_group;
    if (numbers > linear->in - from)
        numbers = from < linear->in ? linear->in - from : 0;
    memset(groups, 0, sizeof groups);
    for (size_t r = 0; r < rows; r++)
        convert(kernels, linear->backend->precision, groups[r], weight + r * linear->in + from,
                numbers, inverse[r]);
    uint32_t *out = native->panel + (panel * native->groups + first) * GEMM_COLUMNS;
    for (size_t g = 0; g < count; g++)
        for (size_t c = 0; c < GEMM_COLUMNS; c++)
            *out++ = groups[c][g];
    if (linear->backend->precision == PRECISION_INT8)
        for (size_t c = 0; c < GEMM_COLUMNS; c++)
            for (size_t g = 0; g < count; g++)
                native->column_sum[panel * GEMM_COLUMNS + c] += sum_of_bytes(groups[c][g]);
}

static void fill_panel(const struct linear *linear, struct native *native, size_t panel,
                       const float *weight, size_t rows)
{
    float inverse[GEMM_COLUMNS] = {0};
    if (linear->backend->precision == PRECISION_INT8)
        choose_scales(native->gemm, weight, rows, linear->in,
                      native->column_scale + panel * GEMM_COLUMNS, inverse);
    for (size_t first = 0; first < native->groups; first += STRETCH) {
        size_t count = native->groups - first < STRETCH ? native->groups - first : STRETCH;
        fill_stretch(linear, native, panel, weight, rows, inverse, first, count);
    }
}

static void native_fill(struct linear *linear, size_t first, size_t rows, const float *weight)
{
    for (size_t r = 0; r < rows; r += GEMM_COLUMNS)
        fill_panel(linear, linear->weights, (first + r) / GEMM_COLUMNS, weight + r * linear->in,
                   rows - r < GEMM_COLUMNS ? rows - r : GEMM_COLUMNS);
}

static void native_close(struct linear *linear)
{
    native_free(linear->weights);
}

/* The gradient of an explanation reads a whole layer back, so there is no division a number
 * here. */
static void native_unpack(const struct linear *linear, size_t column, float *weight)
{
    const struct native *native = linear->weights;
    const uint32_t *panel = native->panel + column / GEMM_COLUMNS * native->groups * GEMM_COLUMNS +
                            column % GEMM_COLUMNS;
    const enum precision precision = linear->backend->precision;
    const uint32_t step = 32 / (uint32_t)native->per_group;
    for (size_t k = 0; k < linear->in; panel += GEMM_COLUMNS)
        for (uint32_t shift = 0; shift < 32 && k < linear->in; shift += step, k++) {
            uint32_t bits = precision == PRECISION_BF16 ? *panel >> shift << 16 : *panel;
            if (precision == PRECISION_INT8)
                weight[k] = (int8_t)(*panel >> shift) * native->column_scale[column];
            else
                memcpy(&weight[k], &bits, sizeof bits);
        }
}

/* ---- run ---- */

/* The product of one panel and the rows of a block. */
struct panel_run {
    const struct linear *linear;
    const struct kernels *kernels;
    const struct linear_io *io;
    size_t first_row, rows, column, columns;
    float *sums; /* [rows, 32] */
};

/* Rows that are multiplied and not yet finished; and weights that are not yet in parts. */
struct pending {
    struct panel_run run;
    size_t row, rows;
    float *sums;
    const struct gemm *gemm;
    const uint32_t *weights;
    char *parts;
    size_t cut, groups;
};

/* Groups [k, k + groups) of a panel of a block, in the pass from group `begin` on over the panels
 * from `first` on. */
struct stretch {
    size_t panel, k, groups, begin, first;
};

/* Rows of a block, with all of its panels. */
struct rows_run {
    struct panel_run all; /* `columns` of all panels */
    size_t panels;
    size_t pass, step;         /* groups of a pass and of a stretch */
    size_t most;               /* panels that are multiplied in one pass after the other */
    size_t places, place_rows; /* for the sums of a panel */
    char *parts; /* [2, PARTS_BYTES] weights of this stretch and of the next one; NULL: the
                            variant does not cut them */
};

/* Prefetches the data of these rows' epilogue; the product hides the latency. */
static void prefetch_rows(const struct panel_run *run, size_t row, size_t rows)
{
    const struct linear_io *io = run->io;
    for (size_t r = run->first_row + row; r < run->first_row + row + rows; r++) {
        if (io->y_bf16 != NULL) {
            __builtin_prefetch(io->y_bf16 + r * io->y_stride + run->column, 1);
        } else {
            const float *y = io->y + r * io->y_stride + run->column;
            __builtin_prefetch(y, 1);
            __builtin_prefetch(y + GEMM_COLUMNS / 2, 1);
        }
        if (io->residual != NULL) {
            const float *residual = io->residual + r * io->residual_stride + run->column;
            __builtin_prefetch(residual);
            __builtin_prefetch(residual + GEMM_COLUMNS / 2);
        }
    }
}

static void finish_rows(const struct panel_run *run, size_t row, size_t rows, const float *sums)
{
    const struct native *native = run->linear->weights;
    const struct linear_io *io = run->io;
    bool integer = run->linear->backend->precision == PRECISION_INT8;
    size_t first = run->first_row + row;
    struct epilogue epilogue = {
        .y = io->y != NULL ? io->y + first * io->y_stride + run->column : NULL,
        .y_bf16 = io->y_bf16 != NULL ? io->y_bf16 + first * io->y_stride + run->column : NULL,
        .y_stride = io->y_stride,
        .sums = sums,
        .sums_stride = GEMM_COLUMNS,
        .row_scale = integer ? io->x.scale + first : NULL,
        .column_scale = integer ? native->column_scale + run->column : NULL,
        .row_zero = integer ? io->x.zero + first : NULL,
        .column_sum = integer ? native->column_sum + run->column : NULL,
        .zero_point = native->gemm->biased ? ZERO_POINT : 0,
        .bias = run->linear->bias + run->column,
        .residual =
            io->residual != NULL ? io->residual + first * io->residual_stride + run->column : NULL,
        .residual_stride = io->residual_stride,
        .rows = rows,
        .columns = run->columns,
        .act = io->act};
    run->kernels->epilogue(&epilogue);
}

static void finish_some_rows(struct pending *p, size_t most)
{
    const size_t rows = smaller(p->rows, most);
    if (rows == 0)
        return;
    finish_rows(&p->run, p->row, rows, p->sums);
    p->row += rows;
    p->rows -= rows;
    p->sums += rows * GEMM_COLUMNS;
}

static void cut_some_groups(struct pending *p, size_t most)
{
    const size_t groups = smaller(p->groups - p->cut, most);
    if (groups == 0)
        return;
    p->gemm->cut(p->parts, p->weights, p->cut, p->cut + groups);
    p->cut += groups;
}

/* A product by tiles (AMX) calls it while its tiles multiply, which makes int8 and bf16 models 7 to
 * 10 % faster (Granite Rapids). */
static void finish_some(void *context)
{
    const struct pending *pending = context;
    const bool is_bytes = pending->gemm->precision == PRECISION_INT8;
    finish_some_rows(context, is_bytes ? 2 * SLICE_ROWS : SLICE_ROWS);
    cut_some_groups(context, CUT_GROUPS);
}

static const uint32_t *weights_at(const struct rows_run *run, const struct stretch *stretch)
{
    const struct native *native = run->all.linear->weights;
    const size_t panel = run->all.column / GEMM_COLUMNS + stretch->panel;
    return native->panel + (panel * native->groups + stretch->k) * GEMM_COLUMNS;
}

/* Returns the stretch that is multiplied next: of the panel, of the pass, of the panels whose sums
 * are kept, of the rest. It has no groups behind the last one. */
static struct stretch after(const struct rows_run *run, struct stretch stretch)
{
    const size_t groups = ((const struct native *)run->all.linear->weights)->groups;
    const size_t end = smaller(stretch.begin + run->pass, groups);
    stretch.k += stretch.groups;
    if (stretch.k == end && ++stretch.panel < smaller(stretch.first + run->most, run->panels)) {
        stretch.k = stretch.begin;
    } else if (stretch.k == groups) {
        stretch.k = stretch.begin = 0;
        stretch.first = stretch.panel;
    } else if (stretch.k == end) {
        stretch.begin = end;
        stretch.panel = stretch.first;
    }
    stretch.groups = stretch.panel < run->panels ? smaller(groups - stretch.k, run->step) : 0;
    return stretch;
}

/* Multiplies a stretch of all rows, tile by tile, and prefetches from `next` on. Tiles have nearly
 * equal heights; with tile registers they are whole, and the last one overlaps the one before. Each
 * tile has its own sums. */
static void run_stretch(const struct panel_run *run, const struct stretch *stretch,
                        const void *weights, const uint32_t *next, struct pending *pending)
{
    const struct native *native = run->linear->weights;
    const struct gemm *gemm = native->gemm;
    const struct operand *x = &run->io->x;
    const size_t tiles = (run->rows + gemm->rows_max - 1) / gemm->rows_max, k = stretch->k;
    const bool is_last = k + stretch->groups == native->groups, is_whole = gemm->rows_whole > 0;
    for (size_t t = 0, row = 0, rows; t < tiles; t++, row += rows) {
        rows = run->rows * (t + 1) / tiles - row;
        if (is_whole)
            rows = smaller(run->rows - row, gemm->rows_max);
        const size_t lead = rows < gemm->rows_whole && row > 0 ? gemm->rows_whole - rows : 0;
        const char *a = (const char *)x->data + (run->first_row + row - lead) * x->stride +
                        k * gemm_row_bytes(gemm);
        float *sums = run->sums + row * GEMM_COLUMNS;
        struct gemm_ahead ahead = gemm_share(next, stretch->groups, t, tiles);
        ahead.part = pending->rows > 0 || pending->cut < pending->groups ? finish_some : NULL;
        ahead.context = pending;
        if (is_last)
            prefetch_rows(run, row, rows);
        gemm->tile(sums, a, x->stride, weights, stretch->groups, &ahead, (unsigned)(rows + lead),
                   k > 0);
        finish_some_rows(pending, pending->rows);
        if (is_last && is_whole) {
            pending->run = *run;
            pending->row = row;
            pending->rows = rows;
            pending->sums = sums + lead * GEMM_COLUMNS;
        } else if (is_last) {
            finish_rows(run, row, rows, sums);
        }
    }
    cut_some_groups(pending, pending->groups);
}

/* Computes rows of a block. The sums of a panel stay in one place until its last pass; rows of the
 * panel before may be pending in another one. If there is one place, the first of several tiles
 * finishes the last one of the panel before. */
static void run_rows(const struct rows_run *run)
{
    const struct gemm *gemm = ((const struct native *)run->all.linear->weights)->gemm;
    struct stretch now = {.groups = 0}, then;
    struct pending pending = {.gemm = gemm};
    now = after(run, now);
    if (gemm->cut != NULL)
        gemm->cut(run->parts, weights_at(run, &now), 0, now.groups);
    for (unsigned turn = 0; now.groups > 0; now = then, turn ^= 1) {
        struct panel_run panel = run->all;
        panel.column += now.panel * GEMM_COLUMNS;
        panel.columns = smaller(run->all.columns - now.panel * GEMM_COLUMNS, GEMM_COLUMNS);
        panel.sums += now.panel % run->places * run->place_rows * GEMM_COLUMNS;
        then = after(run, now);
        if (gemm->cut == NULL) {
            run_stretch(&panel, &now, weights_at(run, &now), weights_at(run, &then), &pending);
            continue;
        }
        const struct stretch later = then.groups > 0 ? after(run, then) : then;
        pending.weights = weights_at(run, &then);
        pending.parts = run->parts + (turn ^ 1) * PARTS_BYTES;
        pending.groups = then.groups;
        pending.cut = 0;
        run_stretch(&panel, &now, run->parts + turn * PARTS_BYTES, weights_at(run, &later),
                    &pending);
    }
    finish_some_rows(&pending, pending.rows);
}

/* Returns the groups of a pass; all without tile registers, where passes are not measured. */
static size_t groups_of_pass(const struct native *native, size_t rows)
{
    const struct gemm *gemm = native->gemm;
    const size_t stretches = PASS_BYTES / (rows * gemm_row_bytes(gemm) * gemm->groups_max);
    if (gemm->rows_whole == 0)
        return native->groups;
    return smaller(native->groups, (stretches > 0 ? stretches : 1) * gemm->groups_max);
}

static void run_block(const struct linear *linear, const struct kernels *kernels,
                      const struct linear_io *io, const struct linear_block *block, float *sums,
                      char *parts)
{
    const struct native *native = linear->weights;
    const size_t columns = block->last_column - block->first_column;
    struct rows_run run = {.all = {.linear = linear,
                                   .kernels = kernels,
                                   .io = io,
                                   .first_row = block->first_row,
                                   .column = block->first_column,
                                   .columns = columns,
                                   .sums = sums},
                           .panels = (columns + GEMM_COLUMNS - 1) / GEMM_COLUMNS,
                           .step = native->gemm->groups_max,
                           .parts = parts};
    for (; run.all.first_row < block->last_row; run.all.first_row += run.all.rows) {
        run.all.rows = smaller(block->last_row - run.all.first_row, linear->backend->row_block);
        run.place_rows = run.all.rows + native->gemm->rows_whole;
        run.pass = groups_of_pass(native, run.all.rows);
        run.most =
            run.pass < native->groups ? smaller(SUMS_ROWS / run.place_rows - 1, run.panels) : 1;
        run.places = run.most + (run.most > 1 || run.all.rows <= GEMM_ROWS_MAX);
        run_rows(&run);
    }
}

/* This is not inlined, so that the frame of native_run stays small. */
static __attribute__((noinline)) void run_in_passes(const struct linear *linear,
                                                    const struct kernels *kernels,
                                                    const struct linear_io *io,
                                                    const struct linear_block *block)
{
    _Alignas(64) float sums[SUMS_ROWS * GEMM_COLUMNS];
    _Alignas(64) char parts[2 * PARTS_BYTES];
    run_block(linear, kernels, io, block, sums, parts);
}

static void native_run(const struct linear *linear, const struct kernels *kernels,
                       const struct linear_io *io, const struct linear_block *block)
{
    const struct native *native = linear->weights;
    const size_t rows = smaller(block->last_row - block->first_row, linear->backend->row_block);
    _Alignas(64) float sums[ROW_BLOCK_MAX * GEMM_COLUMNS];
    if (native->gemm->cut != NULL || groups_of_pass(native, rows) < native->groups)
        run_in_passes(linear, kernels, io, block);
    else
        run_block(linear, kernels, io, block, sums, NULL);
}

#define ROW(backend, number, variant, most)                                                        \
    [number] = {.name = backend,                                                                   \
                .precision = number,                                                               \
                .gemm = variant,                                                                   \
                .row_block = most,                                                                 \
                .column_block = GEMM_COLUMNS,                                                      \
                .alloc = native_alloc,                                                             \
                .fill = native_fill,                                                               \
                .run = native_run,                                                                 \
                .unpack = native_unpack,                                                           \
                .close = native_close}

const struct linear_backend linear_tiles[PRECISION_COUNT] = {
    ROW("tiles", PRECISION_F32, &gemm_amx_f32, ROW_BLOCK_TILES),
    ROW("tiles", PRECISION_BF16, &gemm_amx_bf16, ROW_BLOCK_TILES),
    ROW("tiles", PRECISION_INT8, &gemm_amx_int8, ROW_BLOCK_TILES)};

const struct linear_backend linear_native[PRECISION_COUNT] = {
    ROW("native", PRECISION_F32, NULL, ROW_BLOCK), ROW("native", PRECISION_BF16, NULL, ROW_BLOCK),
    ROW("native", PRECISION_INT8, NULL, ROW_BLOCK)};

const struct linear_backend linear_scalar[PRECISION_COUNT] = {
    ROW("reference", PRECISION_F32, &gemm_generic, ROW_BLOCK),
    ROW("reference", PRECISION_BF16, &gemm_generic_bf16, ROW_BLOCK),
    ROW("reference", PRECISION_INT8, &gemm_generic_int8, ROW_BLOCK)};
