#include "learn/ngrams/ngram_rows.h"

#include <string.h>

/* Reads one text's n-grams into the rows' arena. Temporary memory is in `passing`. */
static enum err_code take(struct ngram_rows *rows, struct ngram_list *out,
                          const struct ngram_reading *reading, const struct dataset_item *item,
                          struct err *err)
{
    struct arena passing;
    struct ngram_list list;
    arena_init(&passing);
    if (!ngrams_list(reading, item->input, item->input_len, &passing, &list, err)) {
        *out = list;
        out->entries = arena_alloc_array(&rows->arena, list.count + 1, sizeof *list.entries);
        if (out->entries == NULL)
            err_no_memory(err, list.count * sizeof *list.entries);
        else
            memcpy(out->entries, list.entries, list.count * sizeof *list.entries);
    }
    arena_deinit(&passing);
    return err->code;
}

enum err_code ngram_rows_open(struct ngram_rows *out, const struct ngram_reading *reading,
                              const struct dataset *dataset, struct err *err)
{
    *out = (struct ngram_rows){.count = dataset->count};
    arena_init(&out->arena);
    struct ngram_list *lists = arena_alloc_array(&out->arena, dataset->count + 1, sizeof *lists);
    if (lists == NULL)
        return err_no_memory(err, dataset->count * sizeof *lists);
    out->lists = lists;
    for (size_t i = 0; i < dataset->count; i++)
        if (take(out, &lists[i], reading, &dataset->items[i], err))
            return err->code;
    return ERR_OK;
}

void ngram_rows_close(struct ngram_rows *rows)
{
    arena_deinit(&rows->arena);
}
