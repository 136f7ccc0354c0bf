#include "learn/eval/measure/text_groups.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct lexical_text text;
    size_t item;
};

static int compare(const void *left, const void *right)
{
    const struct lexical_text *a = &((const struct entry *)left)->text;
    const struct lexical_text *b = &((const struct entry *)right)->text;
    const int order = memcmp(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

enum err_code text_groups_number(const struct lexical_text *texts, size_t count, unsigned *groups,
                                 struct err *err)
{
    struct entry *entries = calloc(count + 1, sizeof *entries);
    unsigned group = 0;
    if (entries == NULL)
        return err_no_memory(err, count * sizeof *entries);
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct entry){texts[i], i};
    qsort(entries, count, sizeof *entries, compare);
    for (size_t i = 0; i < count; i++) {
        group += i > 0 && compare(&entries[i - 1], &entries[i]) != 0;
        groups[entries[i].item] = group;
    }
    free(entries);
    return ERR_OK;
}
