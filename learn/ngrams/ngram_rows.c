#include "learn/ngrams/ngram_rows.h"

#include <string.h>

enum err_code ngram_rows_open(struct ngram_rows *out, const struct ngram_reading *reading,
                              const struct dataset *dataset, struct err *err)
{
    *out = (struct ngram_rows){.count = dataset->count};
    arena_init(&out->arena);
    struct ngram_list *lists = arena_alloc_array(&out->arena, dataset->count + 1, sizeof *lists);
    if (lists == NULL)
        return err_no_memory(err, dataset->count * sizeof *lists);
    out->lists = lists;
    for (size_t i = 0; i < dataset->count && err->code == ERR_OK; i++) {
        const struct dataset_item *item = &dataset->items[i];
        struct arena passing; /* a text's temporary memory */
        struct ngram_list list;
        arena_init(&passing);
        if (!ngrams_list(reading, item->input, item->input_len, &passing, &list, err)) {
            lists[i] = list;
            lists[i].entries = arena_alloc_array(&out->arena, list.count + 1, sizeof *list.entries);
            if (lists[i].entries == NULL)
                err_no_memory(err, list.count * sizeof *list.entries);
            else
                memcpy(lists[i].entries, list.entries, list.count * sizeof *list.entries);
        }
        arena_deinit(&passing);
    }
    return err->code;
}

void ngram_rows_close(struct ngram_rows *rows)
{
    arena_deinit(&rows->arena);
}
