#include "learn/prune/choice.h"

#include <math.h>
#include <stdlib.h>

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

static enum err_code check_counts(const struct choice *choice, const struct importance *importance,
                                  unsigned wanted, struct err *err)
{
    const unsigned most = choice->head_count - importance->blocks;
    if (wanted > most)
        return err_set(err, ERR_UNUSABLE,
                       "%u of %u heads cannot go: each of %u layers keeps one, so %u can", wanted,
                       choice->head_count, importance->blocks, most);
    if (choice->columns_gone >= importance->columns)
        return err_set(err, ERR_UNUSABLE, "%u of %u MLP columns cannot go: one has to stay",
                       choice->columns_gone, importance->columns);
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
    out->columns_gone = (unsigned)lround(mlp_share * out->columns);
    if (check_counts(out, importance, wanted, err))
        return err->code;
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
