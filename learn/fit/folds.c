#include "learn/fit/folds.h"

#include <stdlib.h>

struct entry {
    unsigned class;
    uint64_t digest;
    size_t item;
};

static int by_class_and_digest(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    if (left->class != right->class)
        return left->class < right->class ? -1 : 1;
    if (left->digest != right->digest)
        return left->digest < right->digest ? -1 : 1;
    return 0;
}

enum err_code folds_deal(const uint64_t *digests, const unsigned *classes, size_t count,
                         unsigned char *folds, struct err *err)
{
    struct entry *entries = calloc(count + 1, sizeof *entries);
    unsigned next = 0;
    if (entries == NULL)
        return err_no_memory(err, count * sizeof *entries);
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct entry){.class = classes[i], .digest = digests[i], .item = i};
    qsort(entries, count, sizeof *entries, by_class_and_digest);
    /* A class's digests go to the folds in turn: digests are as good as random. */
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && entries[i].class != entries[i - 1].class)
            next = 0;
        else if (i > 0 && entries[i].digest != entries[i - 1].digest)
            next = (next + 1) % FOLDS;
        folds[entries[i].item] = (unsigned char)next;
    }
    free(entries);
    return ERR_OK;
}
