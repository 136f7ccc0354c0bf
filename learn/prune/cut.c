#include "learn/prune/cut.h"

#include <assert.h>
#include <string.h>

/* ---- sizes ---- */

/* Makes the table of heads that are gone, by the numbers that they had in the original model: head
 * i of the choice is the i-th head that the model still has. */
static bool *merge_heads(const struct spec *spec, const struct choice *choice, struct arena *arena)
{
    const size_t heads = spec->heads;
    bool *is_gone = arena_alloc_array(arena, spec->layers * heads, sizeof *is_gone);
    for (size_t layer = 0; is_gone != NULL && layer < spec->layers; layer++) {
        size_t left = 0;
        for (size_t at = layer * heads; at < (layer + 1) * heads; at++) {
            bool was_gone = spec->pruned.is_gone != NULL && spec->pruned.is_gone[at];
            is_gone[at] = was_gone || choice->head_goes[layer * heads + left];
            left += !was_gone;
        }
    }
    return is_gone;
}

static enum err_code make_spec(struct spec *out, const struct spec *spec,
                               const struct choice *choice, struct arena *arena, struct err *err)
{
    *out = *spec;
    out->intermediate = spec->intermediate - choice->columns_gone;
    if (choice->heads_gone == 0)
        return ERR_OK;
    const bool *is_gone = merge_heads(spec, choice, arena);
    if (is_gone == NULL)
        return err_no_memory(err, (size_t)spec->layers * spec->heads);
    return pruned_heads_count(&out->pruned, is_gone, spec->layers, spec->heads, arena, err);
}

/* ---- weights ---- */

/* Kept indices along one dimension, ascending. */
struct kept {
    size_t *at;
    size_t count;
};

static enum err_code open_kept(struct kept *heads, struct kept *columns, const struct spec *spec,
                               struct arena *arena, struct err *err)
{
    const size_t inner = 2 * (size_t)spec->intermediate; /* of a gated MLP */
    heads->at = arena_alloc_array(arena, spec->hidden, sizeof *heads->at);
    columns->at = arena_alloc_array(arena, inner, sizeof *columns->at);
    return heads->at != NULL && columns->at != NULL ? ERR_OK
                                                    : err_no_memory(err, inner * sizeof(size_t));
}

/* Lists the rows or columns that belong to a block's kept heads. */
static void keep_heads(struct kept *kept, const struct spec *spec, const struct choice *choice,
                       unsigned block)
{
    const size_t width = spec->hidden / spec->heads;
    kept->count = 0;
    for (size_t c = 0; c < spec_attended(spec, block); c++)
        if (!choice->head_goes[(size_t)block * choice->heads + c / width])
            kept->at[kept->count++] = c;
}

/* Lists the kept columns of a block's MLP, `times` times in a row (2 for a gated MLP's input). */
static void keep_columns(struct kept *kept, const struct choice *choice, unsigned block,
                         unsigned times)
{
    kept->count = 0;
    for (size_t c = 0; c < (size_t)times * choice->columns; c++)
        if (!choice->column_goes[(size_t)block * choice->columns + c % choice->columns])
            kept->at[kept->count++] = c;
}

/* to [kept, width] = the kept rows of from. */
static void copy_rows(float *to, const float *from, const struct kept *kept, size_t width)
{
    for (size_t i = 0; i < kept->count; i++)
        memcpy(to + i * width, from + kept->at[i] * width, width * sizeof *to);
}

/* to [rows, kept] = the kept columns of from [rows, width]. */
static void copy_columns(float *to, const float *from, const struct kept *kept, size_t rows,
                         size_t width)
{
    for (size_t r = 0; r < rows; r++, from += width)
        for (size_t i = 0; i < kept->count; i++)
            *to++ = from[kept->at[i]];
}

struct cutting {
    const struct parameters *whole;
    struct parameters *out;
    const struct choice *choice;
    struct kept heads, columns;
};

static void copy_tensor(struct cutting *cutting, const struct parameter *from,
                        const struct parameter *to)
{
    const struct tensor_row *row = &from->row;
    const float *source = cutting->whole->values + from->offset;
    float *target = cutting->out->values + to->offset;
    const bool is_weight = row->part == TENSOR_WEIGHT;
    const size_t width = is_weight ? row->count / row->shape[0] : 1;
    switch (row->field) {
    case TENSOR_QUERY:
    case TENSOR_KEY:
    case TENSOR_VALUE:
        keep_heads(&cutting->heads, &cutting->whole->spec, cutting->choice, row->layer);
        copy_rows(target, source, &cutting->heads, width);
        return;
    case TENSOR_MLP_IN:
    case TENSOR_GATED_IN:
        keep_columns(&cutting->columns, cutting->choice, row->layer,
                     row->field == TENSOR_GATED_IN ? 2 : 1);
        copy_rows(target, source, &cutting->columns, width);
        return;
    default:
        break;
    }
    if (is_weight && row->field == TENSOR_ATTENTION_OUT) {
        keep_heads(&cutting->heads, &cutting->whole->spec, cutting->choice, row->layer);
        copy_columns(target, source, &cutting->heads, row->shape[0], width);
    } else if (is_weight && (row->field == TENSOR_MLP_OUT || row->field == TENSOR_GATED_OUT)) {
        keep_columns(&cutting->columns, cutting->choice, row->layer, 1);
        copy_columns(target, source, &cutting->columns, row->shape[0], width);
    } else {
        memcpy(target, source, row->count * sizeof *target);
    }
}

static enum err_code copy_all(struct parameters *out, const struct parameters *whole,
                              const struct choice *choice, struct err *err)
{
    struct cutting cutting = {.whole = whole, .out = out, .choice = choice};
    if (open_kept(&cutting.heads, &cutting.columns, &whole->spec, &out->arena, err))
        return err->code;
    assert(out->count == whole->count);
    for (unsigned i = 0; i < out->count; i++)
        copy_tensor(&cutting, &whole->list[i], &out->list[i]);
    return ERR_OK;
}

enum err_code cut_open(struct parameters *out, const struct parameters *whole,
                       const struct choice *choice, struct arena *arena, struct err *err)
{
    struct spec spec;
    *out = (struct parameters){0};
    arena_init(&out->arena);
    if (make_spec(&spec, &whole->spec, choice, arena, err) ||
        parameters_open(out, &spec, whole->head, err))
        return err->code;
    return copy_all(out, whole, choice, err);
}
