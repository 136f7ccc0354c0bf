#include "learn/fit/fit.h"

#include "learn/eval/fit/example_bank.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- open ---- */

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void add(struct fit_rows *rows, const float *features, const float *before, unsigned class,
                uint64_t digest)
{
    size_t at = rows->count++;
    memcpy(rows->features + at * rows->width, features, rows->width * sizeof *features);
    memcpy(rows->before + at * rows->old_labels, before, rows->old_labels * sizeof *before);
    rows->classes[at] = class;
    rows->digests[at] = digest;
}

enum err_code fit_rows_open(struct fit_rows *out, const struct fit_data *data,
                            const struct head_bank *bank, unsigned labels, struct err *err)
{
    const struct evaluation *evaluation = data->evaluation;
    *out = (struct fit_rows){
        .width = evaluation->feature_size, .labels = labels, .old_labels = evaluation->label_count};
    const size_t room = evaluation->count + bank->count;
    struct arena *arena = &out->arena;
    uint64_t *given = arena_alloc_array(arena, room, sizeof *given); /* the data's, sorted */
    out->items = arena_alloc_array(arena, room, sizeof *out->items);
    out->features = arena_alloc_array(arena, room * out->width, sizeof *out->features);
    out->classes = arena_alloc_array(arena, room, sizeof *out->classes);
    out->digests = arena_alloc_array(arena, room, sizeof *out->digests);
    out->before = arena_alloc_array(arena, room * out->old_labels, sizeof *out->before);
    out->after = arena_alloc_array(arena, room * out->labels, sizeof *out->after);
    if (data->ngrams != NULL)
        out->ngrams = arena_alloc_array(arena, room, sizeof *out->ngrams);
    if (arena->failed)
        return err_no_memory(err, room * (out->width + out->labels) * sizeof *out->features);
    for (size_t i = 0; i < evaluation->count; i++) {
        if (evaluation->problems[i] != NULL)
            continue;
        out->items[out->count] = i;
        if (out->ngrams != NULL)
            out->ngrams[out->count] = data->ngrams[i];
        add(out, evaluation_features(evaluation, i), evaluation_logits(evaluation, i),
            data->classes[i], evaluation->digests[i]);
    }
    out->of_data = out->count;
    memcpy(given, out->digests, out->of_data * sizeof *given);
    qsort(given, out->of_data, sizeof *given, compare);
    for (size_t i = 0; i < bank->count; i++) {
        if (out->of_data > 0 &&
            bsearch(&bank->digests[i], given, out->of_data, sizeof *given, compare) != NULL)
            continue;
        if (out->ngrams != NULL)
            out->ngrams[out->count] = bank->ngrams[i];
        add(out, bank->features + i * out->width, bank->logits + i * out->old_labels,
            bank->classes[i], bank->digests[i]);
    }
    return ERR_OK;
}

void fit_rows_close(struct fit_rows *rows)
{
    arena_deinit(&rows->arena);
    *rows = (struct fit_rows){0};
}

/* ---- the new bank ---- */

enum err_code fit_rows_bank(const struct fit_rows *rows, struct head_bank *out, struct arena *arena,
                            struct err *err)
{
    const struct example_rows examples = {.count = rows->count,
                                          .width = rows->width,
                                          .labels = rows->labels,
                                          .features = rows->features,
                                          .logits = rows->after,
                                          .classes = rows->classes,
                                          .digests = rows->digests,
                                          .ngrams = rows->ngrams};
    return example_bank_choose(out, &examples, arena, err);
}
