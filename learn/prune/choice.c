#include "learn/prune/choice.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A head or column and its normalised importance. */
struct candidate {
    double score;
    unsigned block, index;
};

/* Order: lowest score first; among equal scores the last head or column first. */
static int compare(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    if (a->block != b->block)
        return a->block > b->block ? -1 : 1;
    return a->index > b->index ? -1 : a->index < b->index;
}

/* Fills `list` with a block's scores divided by their norm; if all are zero, with zeros. */
static void normalise(struct candidate *list, const double *scores, unsigned count, unsigned block)
{
    double squares = 0;
    for (unsigned i = 0; i < count; i++)
        squares += scores[i] * scores[i];
    double norm = squares > 0 ? sqrt(squares) : 1;
    for (unsigned i = 0; i < count; i++)
        list[i] = (struct candidate){.score = scores[i] / norm, .block = block, .index = i};
}

static enum err_code take_heads(struct choice *choice, const struct spec *spec,
                                const struct importance *importance, unsigned wanted,
                                struct err *err)
{
    const unsigned blocks = importance->blocks, heads = importance->heads;
    struct candidate *list = arena_alloc_array(&choice->arena, choice->head_count, sizeof *list);
    unsigned *left = arena_alloc_array(&choice->arena, blocks, sizeof *left);
    unsigned count = 0;
    if (list == NULL || left == NULL)
        return err_no_memory(err, choice->head_count * sizeof *list);
    for (unsigned b = 0; b < blocks; count += left[b], b++) {
        left[b] = spec_heads(spec, b);
        normalise(list + count, importance->head + (size_t)b * heads, left[b], b);
    }
    qsort(list, count, sizeof *list, compare);
    for (unsigned i = 0; i < count && choice->heads_gone < wanted; i++) {
        if (left[list[i].block] == 1)
            continue;
        left[list[i].block]--;
        choice->head_goes[(size_t)list[i].block * heads + list[i].index] = true;
        choice->heads_gone++;
    }
    return ERR_OK;
}

static enum err_code take_columns(struct choice *choice, const struct importance *importance,
                                  struct err *err)
{
    const unsigned columns = importance->columns;
    struct candidate *list = arena_alloc_array(&choice->arena, columns, sizeof *list);
    if (list == NULL)
        return err_no_memory(err, columns * sizeof *list);
    for (unsigned b = 0; b < importance->blocks; b++) {
        const size_t first = (size_t)b * columns;
        normalise(list, importance->column + first, columns, b);
        qsort(list, columns, sizeof *list, compare);
        for (unsigned i = 0; i < choice->columns_gone; i++)
            choice->column_goes[first + list[i].index] = true;
    }
    return ERR_OK;
}

enum err_code choice_make(struct choice *out, const struct spec *spec,
                          const struct importance *importance, double heads_share, double mlp_share,
                          struct err *err)
{
    const size_t blocks = importance->blocks;
    *out = (struct choice){.heads = importance->heads, .columns = importance->columns};
    arena_init(&out->arena);
    for (unsigned b = 0; b < blocks; b++)
        out->head_count += spec_heads(spec, b);
    const unsigned wanted = (unsigned)lround(heads_share * out->head_count);
    const unsigned most = out->head_count - importance->blocks;
    out->columns_gone = (unsigned)lround(mlp_share * out->columns);
    if (wanted > most)
        return err_set(err, ERR_UNUSABLE,
                       "%u of %u heads cannot go: each of %u layers keeps one, so %u can", wanted,
                       out->head_count, importance->blocks, most);
    if (out->columns_gone >= out->columns)
        return err_set(err, ERR_UNUSABLE, "%u of %u MLP columns cannot go: one has to stay",
                       out->columns_gone, out->columns);
    out->head_goes = arena_alloc_array(&out->arena, blocks * out->heads, sizeof *out->head_goes);
    out->column_goes =
        arena_alloc_array(&out->arena, blocks * out->columns, sizeof *out->column_goes);
    if (out->head_goes == NULL || out->column_goes == NULL)
        return err_no_memory(err, blocks * (out->heads + out->columns));
    if (take_heads(out, spec, importance, wanted, err))
        return err->code;
    return take_columns(out, importance, err);
}

void choice_close(struct choice *choice)
{
    arena_deinit(&choice->arena);
    *choice = (struct choice){0};
}

/* ---- the cut: sizes ---- */

/* Makes the smaller model's spec. Its heads that are gone have the numbers that they had in the
 * original model: head i of the choice is the i-th head that the model still has. */
static enum err_code make_spec(struct spec *out, const struct spec *spec,
                               const struct choice *choice, struct arena *arena, struct err *err)
{
    const size_t heads = spec->heads;
    *out = *spec;
    out->intermediate = spec->intermediate - choice->columns_gone;
    if (choice->heads_gone == 0)
        return ERR_OK;
    bool *is_gone = arena_alloc_array(arena, spec->layers * heads, sizeof *is_gone);
    if (is_gone == NULL)
        return err_no_memory(err, spec->layers * heads);
    for (size_t layer = 0; layer < spec->layers; layer++) {
        size_t left = 0;
        for (size_t at = layer * heads; at < (layer + 1) * heads; at++) {
            bool was_gone = spec->pruned.is_gone != NULL && spec->pruned.is_gone[at];
            is_gone[at] = was_gone || choice->head_goes[layer * heads + left];
            left += !was_gone;
        }
    }
    return pruned_heads_count(&out->pruned, is_gone, spec->layers, spec->heads, arena, err);
}

/* ---- the cut: weights ---- */

/* Kept indices along one dimension, ascending. */
struct kept {
    size_t *at;
    size_t count;
};

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

enum err_code choice_cut(struct parameters *out, const struct parameters *whole,
                         const struct choice *choice, struct arena *arena, struct err *err)
{
    const size_t inner = 2 * (size_t)whole->spec.intermediate; /* of a gated MLP */
    struct cutting cutting = {.whole = whole, .out = out, .choice = choice};
    struct spec spec;
    *out = (struct parameters){0};
    arena_init(&out->arena);
    if (make_spec(&spec, &whole->spec, choice, arena, err) ||
        parameters_open(out, &spec, whole->head, err))
        return err->code;
    cutting.heads.at = arena_alloc_array(&out->arena, whole->spec.hidden, sizeof(size_t));
    cutting.columns.at = arena_alloc_array(&out->arena, inner, sizeof(size_t));
    if (cutting.heads.at == NULL || cutting.columns.at == NULL)
        return err_no_memory(err, inner * sizeof(size_t));
    assert(out->count == whole->count);
    for (unsigned i = 0; i < out->count; i++)
        copy_tensor(&cutting, &whole->list[i], &out->list[i]);
    return ERR_OK;
}
