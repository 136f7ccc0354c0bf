#include "engine/model/relative_tables.h"

static enum err_code take_room(struct relative_tables *tables, struct err *err)
{
    struct arena *arena = &tables->arena;
    const size_t hidden = tables->spec->hidden, rows = tables->rows;
    const size_t width = hidden / tables->spec->heads;
    tables->places = arena_alloc_array(arena, rows, hidden * sizeof(float));
    tables->weight = arena_alloc_array(arena, 2 * hidden, hidden * sizeof(float));
    tables->projected = arena_alloc_array(arena, rows, 2 * hidden * sizeof(float));
    tables->room = arena_alloc_array(arena, GEMM_COLUMNS + 1, width * sizeof(float));
    tables->row_of = arena_alloc_array(arena, 2 * tables->tokens, sizeof *tables->row_of);
    if (tables->places == NULL || tables->weight == NULL || tables->projected == NULL ||
        tables->room == NULL || tables->row_of == NULL)
        return err_no_memory(err, 2 * (rows + hidden) * hidden * sizeof(float));
    if (panels_alloc(&tables->panels, arena, gemm_best(PRECISION_F32),
                     (hidden + GEMM_COLUMNS) * (2 * hidden + GEMM_COLUMNS), err))
        return err->code;
    return rows_alloc(&tables->operand, arena, PRECISION_F32, rows, hidden, err);
}

enum err_code relative_tables_open(struct relative_tables *out, const struct spec *spec,
                                   const struct gemm *gemm, unsigned threads, struct err *err)
{
    *out = (struct relative_tables){.spec = spec,
                                    .gemm = gemm,
                                    .rows = 2 * (size_t)spec->disentangled.span,
                                    .tokens = spec_text_tokens(spec)};
    arena_init(&out->arena);
    if (take_room(out, err) || thread_pool_open(&out->pool, threads, err))
        return err->code;
    for (size_t t = 0; t < 2 * out->tokens - 1; t++)
        out->row_of[t] = disentangled_row(&spec->disentangled, (long)t - ((long)out->tokens - 1));
    return ERR_OK;
}

void relative_tables_close(struct relative_tables *tables)
{
    if (tables->pool != NULL)
        thread_pool_close(tables->pool);
    arena_deinit(&tables->arena);
    *tables = (struct relative_tables){0};
}

void relative_tables_normalise(struct relative_tables *tables, const float *places,
                               const float *gamma, const float *beta)
{
    const size_t hidden = tables->spec->hidden;
    kernels_best()->layer_norm(tables->places, hidden, places, hidden, gamma, beta, tables->rows,
                               hidden, tables->spec->norm_eps);
}

static enum err_code pack(struct relative_tables *tables, struct relative_scores *out,
                          enum relative_side side, struct arena *arena, struct err *err)
{
    const size_t hidden = tables->spec->hidden;
    size_t floats = relative_scores_floats(tables->gemm, out->heads, out->d, out->tokens_max);
    float *table = arena_alloc_array(arena, floats, sizeof *table);
    if (table == NULL)
        return err_no_memory(err, floats * sizeof *table);
    relative_scores_pack(out, table, side, tables->projected + (side == RELATIVE_KEYS ? hidden : 0),
                         2 * hidden, tables->row_of + tables->tokens - 1, tables->room);
    return ERR_OK;
}

enum err_code relative_tables_make(struct relative_tables *tables, struct relative_scores *out,
                                   const struct linear *qkv, struct arena *arena, struct err *err)
{
    const struct spec *spec = tables->spec;
    *out = (struct relative_scores){.gemm = tables->gemm,
                                    .heads = spec->heads,
                                    .d = spec->hidden / spec->heads,
                                    .tokens_max = tables->tokens};
    /* projected = places W^T + b for query and key; the backend unpacks their weights. */
    const size_t hidden = tables->spec->hidden;
    for (size_t column = 0; column < 2 * hidden; column++)
        qkv->backend->unpack(qkv, column, tables->weight + column * hidden);
    panels_pack(&tables->panels, tables->pool, hidden, 2 * hidden, tables->weight, hidden, true);
    rows_pack(&tables->operand, tables->pool, tables->rows, hidden, tables->places, hidden, false);
    struct product product = {.a = &tables->operand,
                              .b = &tables->panels,
                              .m = tables->rows,
                              .c = tables->projected,
                              .c_stride = 2 * hidden,
                              .bias = qkv->bias};
    product_run(&product, kernels_best(), tables->pool);
    if (spec->disentangled.content_to_position && pack(tables, out, RELATIVE_KEYS, arena, err))
        return err->code;
    if (spec->disentangled.position_to_content && pack(tables, out, RELATIVE_QUERIES, arena, err))
        return err->code;
    return ERR_OK;
}

size_t relative_tables_floats(const struct spec *spec)
{
    size_t floats = relative_scores_floats(gemm_best(PRECISION_F32), spec->heads,
                                           spec->hidden / spec->heads, spec_text_tokens(spec));
    return (disentangled_terms(&spec->disentangled) - 1) * floats * spec->layers;
}
