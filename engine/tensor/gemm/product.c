/* product.c - the product of two packed operands; see product.h.
 *
 * A block is up to ROW_BLOCK rows times up to PANELS_MAX panels; the members of the pool take
 * blocks from a counter. k is cut evenly into stretches of at most K_GROUPS: 96 KB of a panel and
 * 344 KB of the block's rows, which stay in the second-level cache while the stretch's panels are
 * multiplied with them. The sums of a block stay on the stack until the next stretch (14 KB a
 * panel, one of them in the first-level cache). After the last stretch the epilogue reads them tile
 * by tile.
 *
 * A block has several panels for the gradient of weights, whose k is thousands of tokens: rows x k
 * exceeds the second-level cache, and each further panel saves reading the rows from the third.
 * With one stretch a block is one panel, and the blocks of the same rows follow each other.
 *
 * Stretches depend on k alone and each sum is of one block: the pool changes no result.
 */
#include "engine/tensor/gemm/product.h"

#include <assert.h>
#include <stdatomic.h>

enum {
    ROW_BLOCK = 112,
    ROW_PANELS = ROW_BLOCK / GEMM_COLUMNS,
    PANELS_MAX = 4,
    K_GROUPS = 768,
    BLOCKS_PER_MEMBER = 6, /* fewest, if there are enough panels: members then end together */
    CACHE_LINE = 64,
};

/* `count` parts of equal size, the last one perhaps smaller; none is empty. */
struct cut {
    size_t total, size, count;
};

struct run {
    const struct product *product;
    const struct kernels *kernels;
    struct cut rows, panels, groups;
    atomic_size_t next; /* the next block; partners: the members of the pool */
};

struct block {
    const struct run *run;
    size_t first_row, rows, first_panel, panels;
    float *sums; /* [panels, rows, 32] */
};

static const float no_bias[GEMM_COLUMNS];

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static struct cut cut_evenly(size_t total, size_t largest)
{
    struct cut cut = {.total = total, .count = (total + largest - 1) / largest};
    cut.size = cut.count > 0 ? (total + cut.count - 1) / cut.count : 0;
    return cut;
}

static size_t part_size(const struct cut *cut, size_t i)
{
    return smaller(cut->total - i * cut->size, cut->size);
}

/* ---- a block ---- */

static void finish_rows(const struct block *block, size_t panel, const float *sums, size_t row,
                        size_t rows)
{
    const struct product *product = block->run->product;
    size_t first = block->first_row + row, column = panel * GEMM_COLUMNS;
    float *c = product->c + first * product->c_stride + column;
    const float *residual = product->residual;
    if (residual != NULL)
        residual += first * product->residual_stride + column;
    struct epilogue epilogue = {.y = c,
                                .y_stride = product->c_stride,
                                .sums = sums,
                                .sums_stride = GEMM_COLUMNS,
                                .bias = product->bias != NULL ? product->bias + column : no_bias,
                                .residual = product->accumulate ? c : residual,
                                .residual_stride = product->accumulate ? product->c_stride
                                                                       : product->residual_stride,
                                .rows = rows,
                                .columns = smaller(product->b->n - column, GEMM_COLUMNS),
                                .act = product->act};
    block->run->kernels->epilogue(&epilogue);
}

static const char *weights_at(const struct run *run, size_t panel, size_t group)
{
    return (const char *)run->product->b->data +
           (panel * run->groups.total + group) * GEMM_COLUMNS * GEMM_GROUP_BYTES;
}

/* Returns the rows of A from `row` on, at a group of k. */
static const char *rows_at(const struct rows *a, size_t row, size_t group)
{
    const char *data = a->operand.data;
    if (!a->transposed)
        return data + row * a->operand.stride + group * GEMM_GROUP_BYTES;
    return data + row / GEMM_COLUMNS * a->panel_bytes + row % GEMM_COLUMNS * GEMM_GROUP_BYTES +
           group * a->operand.stride;
}

/* The groups of a stretch, a panel's numbers at the first of them, and the numbers used next. */
struct stretch {
    size_t panel, group, groups;
    const char *weights, *next;
    float *sums;
    bool is_first, is_last;
};

/* Prefetches the data of the epilogue while the tile is computed. */
static void ask_for_rows(const struct product *product, size_t first, size_t rows, size_t panel)
{
    const size_t line = CACHE_LINE / sizeof(float);
    float *c = product->c + first * product->c_stride + panel * GEMM_COLUMNS;
    for (size_t r = 0; r < rows; r++) {
        __builtin_prefetch(c + r * product->c_stride, 1);
        __builtin_prefetch(c + r * product->c_stride + line, 1);
    }
    if (product->residual == NULL)
        return;
    const float *residual =
        product->residual + first * product->residual_stride + panel * GEMM_COLUMNS;
    for (size_t r = 0; r < rows; r++) {
        __builtin_prefetch(residual + r * product->residual_stride);
        __builtin_prefetch(residual + r * product->residual_stride + line);
    }
}

/* Computes rows [first, first + count) of a block, in tiles of nearly equal height. The first tiles
 * share the prefetch of the next weights. */
static void run_tiles(const struct block *block, const struct stretch *stretch, size_t first,
                      size_t count)
{
    const struct product *product = block->run->product;
    const struct gemm *gemm = product->b->gemm;
    const struct rows *a = product->a;
    size_t tiles = (count + gemm->rows_max - 1) / gemm->rows_max;
    for (size_t t = 0; t < tiles; t++) {
        size_t row = first + count * t / tiles, rows = first + count * (t + 1) / tiles - row;
        float *sums = stretch->sums + row * GEMM_COLUMNS;
        if (stretch->is_last)
            ask_for_rows(product, block->first_row + row, rows, stretch->panel);
        struct gemm_ahead ahead = {.at = stretch->weights};
        if (first == 0)
            ahead = gemm_share(stretch->next, stretch->groups, t, tiles);
        (a->transposed ? gemm->tile_columns : gemm->tile)(
            sums, rows_at(a, block->first_row + row, stretch->group), a->operand.stride,
            stretch->weights, stretch->groups, &ahead, (unsigned)rows, !stretch->is_first);
        if (stretch->is_last)
            finish_rows(block, stretch->panel, sums, row, rows);
    }
}

/* Computes stretch s of panel p of a block. A tile does not cross panels of A. */
static void run_stretch(const struct block *block, size_t s, size_t p)
{
    const struct run *run = block->run;
    size_t panel = block->first_panel + p;
    size_t group = s * run->groups.size, groups = part_size(&run->groups, s);
    struct stretch stretch = {.panel = panel,
                              .group = group,
                              .groups = groups,
                              .weights = weights_at(run, panel, group),
                              .next = p + 1 < block->panels
                                          ? weights_at(run, panel + 1, group)
                                          : weights_at(run, block->first_panel, group + groups),
                              .sums = block->sums + p * block->rows * GEMM_COLUMNS,
                              .is_first = s == 0,
                              .is_last = group + groups == run->groups.total};
    size_t unit = run->product->a->transposed ? GEMM_COLUMNS : ROW_BLOCK;
    for (size_t first = 0; first < block->rows; first += unit)
        run_tiles(block, &stretch, first, smaller(block->rows - first, unit));
}

static void run_block(const struct run *run, size_t row_part, size_t panel_part)
{
    _Alignas(64) float sums[PANELS_MAX * ROW_BLOCK * GEMM_COLUMNS];
    struct block block = {.run = run,
                          .first_row = row_part * run->rows.size,
                          .rows = part_size(&run->rows, row_part),
                          .first_panel = panel_part * run->panels.size,
                          .panels = part_size(&run->panels, panel_part),
                          .sums = sums};
    for (size_t s = 0; s < run->groups.count; s++)
        for (size_t p = 0; p < block.panels; p++)
            run_stretch(&block, s, p);
}

/* ---- the pool ---- */

static void run_blocks(void *context, unsigned index, unsigned count)
{
    struct run *run = context;
    (void)index;
    (void)count;
    for (;;) {
        size_t task = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
        if (task >= run->rows.count * run->panels.count)
            return;
        run_block(run, task / run->panels.count, task % run->panels.count);
    }
}

/* Cuts the panels: a block has as many as still give each member some blocks. */
static struct cut cut_panels(const struct run *run, size_t panels, unsigned members)
{
    size_t largest = run->groups.count > 1 ? PANELS_MAX : 1;
    while (largest > 1 && run->rows.count * ((panels + largest - 1) / largest) <
                              (size_t)members * BLOCKS_PER_MEMBER)
        largest--;
    return cut_evenly(panels, largest);
}

/* Cuts the rows, into whole panels if A has them. */
static struct cut cut_rows(const struct product *product)
{
    struct cut panels = cut_evenly((product->m + GEMM_COLUMNS - 1) / GEMM_COLUMNS, ROW_PANELS);
    if (!product->a->transposed)
        return cut_evenly(product->m, ROW_BLOCK);
    return (struct cut){product->m, panels.size * GEMM_COLUMNS, panels.count};
}

void product_run(const struct product *product, const struct kernels *kernels,
                 struct thread_pool *pool)
{
    const struct panels *b = product->b;
    size_t per_group = GEMM_GROUP_BYTES / precision_bytes(b->gemm->precision);
    assert(product->a->precision == b->gemm->precision);
    assert(!product->accumulate || product->residual == NULL);
    struct run run = {.product = product,
                      .kernels = kernels,
                      .rows = cut_rows(product),
                      .groups = cut_evenly((b->k + per_group - 1) / per_group, K_GROUPS)};
    run.panels = cut_panels(&run, (b->n + GEMM_COLUMNS - 1) / GEMM_COLUMNS, thread_pool_size(pool));
    thread_pool_run(pool, run_blocks, &run);
}
