#include "learn/eval/measure/size_groups.h"

#include <stdlib.h>

/* ---- bounds ---- */

enum { RANK_MIN = 2 }; /* rank of the bound 2 */

/* Bounds: 2, 3, 4, 6, 8, 12, 16, ... from rank RANK_MIN on. */
static size_t bound(unsigned rank)
{
    size_t power = (size_t)1 << (rank / 2);
    return rank % 2 == 0 ? power : power + power / 2;
}

/* Groups end at the ranks that are multiples of `step`. A size has the rank of the first bound that
 * it does not exceed. */
static unsigned group_of(size_t size, unsigned step)
{
    unsigned rank = RANK_MIN;
    while (bound(rank) < size)
        rank++;
    return (rank + step - 1) / step;
}

/* ---- count ---- */

static bool find_range(const struct evaluation *evaluation, size_t *low, size_t *high)
{
    bool found = false;
    for (size_t i = 0; i < evaluation->count; i++) {
        size_t size = evaluation->sizes[i];
        if (evaluation->problems[i] != NULL)
            continue;
        *low = !found || size < *low ? size : *low;
        *high = !found || size > *high ? size : *high;
        found = true;
    }
    return found;
}

/* Sets the bounds; returns the step. */
static unsigned cut(struct size_groups *groups, size_t low, size_t high)
{
    unsigned step = 1;
    while (group_of(high, step) - group_of(low, step) >= SIZE_GROUPS_MAX)
        step *= 2;
    unsigned first = group_of(low, step);
    groups->count = group_of(high, step) - first + 1;
    for (unsigned g = 0; g < groups->count; g++) {
        unsigned end = (first + g) * step;
        groups->groups[g].from = end - step < RANK_MIN ? 1 : bound(end - step) + 1;
        groups->groups[g].to = bound(end);
    }
    return step;
}

static void count_input(struct size_cell *cell, bool is_hit)
{
    cell->support++;
    cell->hits += is_hit;
}

enum err_code size_groups_open(struct size_groups *out, const struct evaluation *evaluation,
                               const unsigned *classes, struct err *err)
{
    size_t low = 0, high = 0, cells = SIZE_GROUPS_MAX * (size_t)evaluation->label_count;
    *out = (struct size_groups){.label_count = evaluation->label_count};
    out->cells = calloc(cells, sizeof *out->cells);
    if (out->cells == NULL)
        return err_no_memory(err, cells * sizeof *out->cells);
    if (evaluation->sizes == NULL || !find_range(evaluation, &low, &high))
        return ERR_OK;
    unsigned step = cut(out, low, high), first = group_of(low, step);
    for (size_t i = 0; i < evaluation->count; i++) {
        if (evaluation->problems[i] != NULL)
            continue;
        unsigned g = group_of(evaluation->sizes[i], step) - first;
        bool is_hit = evaluation_argmax(evaluation, i) == classes[i];
        count_input(&out->groups[g].all, is_hit);
        count_input(&out->cells[(size_t)g * out->label_count + classes[i]], is_hit);
    }
    return ERR_OK;
}

void size_groups_close(struct size_groups *groups)
{
    free(groups->cells);
    *groups = (struct size_groups){0};
}

const struct size_cell *size_groups_cell(const struct size_groups *groups, unsigned group,
                                         unsigned label)
{
    return &groups->cells[(size_t)group * groups->label_count + label];
}
