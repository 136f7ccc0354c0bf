#include "learn/eval/fit/example_bank.h"

#include "engine/model/head_parts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    unsigned class;
    uint64_t digest;
    size_t row;
};

static int by_class_and_digest(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    if (left->class != right->class)
        return left->class < right->class ? -1 : 1;
    return left->digest < right->digest ? -1 : left->digest > right->digest;
}

/* Copies the chosen rows, with their n-grams if they have any. */
static enum err_code fill(struct head_bank *out, const struct example_rows *rows,
                          const struct entry *entries, struct arena *arena, struct err *err)
{
    struct ngram_list *lists = NULL;
    out->features = arena_alloc_array(arena, out->count * out->width, sizeof *out->features);
    out->logits = arena_alloc_array(arena, out->count * out->labels, sizeof *out->logits);
    out->classes = arena_alloc_array(arena, out->count, sizeof *out->classes);
    out->digests = arena_alloc_array(arena, out->count, sizeof *out->digests);
    if (rows->ngrams != NULL)
        out->ngrams = lists = arena_alloc_array(arena, out->count + 1, sizeof *lists);
    if (out->features == NULL || out->logits == NULL || out->classes == NULL ||
        out->digests == NULL || (rows->ngrams != NULL && lists == NULL))
        return err_no_memory(err, out->count * (out->width + out->labels) * sizeof(float));
    for (size_t i = 0; i < out->count; i++) {
        size_t row = entries[i].row;
        memcpy(out->features + i * out->width, rows->features + row * out->width,
               out->width * sizeof *out->features);
        memcpy(out->logits + i * out->labels, rows->logits + row * out->labels,
               out->labels * sizeof *out->logits);
        out->classes[i] = rows->classes[row];
        out->digests[i] = rows->digests[row];
        if (rows->ngrams == NULL)
            continue;
        const struct ngram_list *from = &rows->ngrams[row];
        lists[i] = *from;
        lists[i].entries = arena_alloc_array(arena, from->count + 1, sizeof *from->entries);
        if (lists[i].entries == NULL)
            return err_no_memory(err, from->count * sizeof *from->entries);
        memcpy(lists[i].entries, from->entries, from->count * sizeof *from->entries);
    }
    return ERR_OK;
}

enum err_code example_bank_choose(struct head_bank *out, const struct example_rows *rows,
                                  struct arena *arena, struct err *err)
{
    struct entry *entries = calloc(rows->count + 1, sizeof *entries);
    size_t kept = 0, of_class = 0;
    if (entries == NULL)
        return err_no_memory(err, rows->count * sizeof *entries);
    for (size_t i = 0; i < rows->count; i++) {
        size_t row = rows->items != NULL ? rows->items[i] : i;
        entries[i] = (struct entry){rows->classes[row], rows->digests[row], row};
    }
    qsort(entries, rows->count, sizeof *entries, by_class_and_digest);
    for (size_t i = 0; i < rows->count; i++) { /* moves the kept entries to the front */
        bool is_other = kept == 0 || entries[kept - 1].class != entries[i].class;
        if (is_other)
            of_class = 0;
        if (of_class == EXAMPLE_BANK_ROWS ||
            (!is_other && entries[kept - 1].digest == entries[i].digest))
            continue;
        entries[kept++] = entries[i];
        of_class++;
    }
    *out = (struct head_bank){.count = kept, .width = rows->width, .labels = rows->labels};
    fill(out, rows, entries, arena, err);
    free(entries);
    return err->code;
}

enum err_code example_bank_read(struct head_bank *out, const char *dir, const struct spec *spec,
                                struct arena *arena, struct err *err)
{
    struct head_file *file;
    if (head_file_open(&file, dir, spec->head_file, spec->label_count, spec_row(spec), err))
        return err->code;
    if (!head_parts_check_means(spec, file, err))
        head_file_bank(file, out, arena, err);
    head_file_close(file);
    return err->code;
}

size_t example_bank_find(const struct head_bank *bank, uint64_t digest)
{
    for (size_t i = 0; i < bank->count; i++)
        if (bank->digests[i] == digest)
            return i;
    return SIZE_MAX;
}
