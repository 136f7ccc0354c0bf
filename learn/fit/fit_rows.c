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

static enum err_code alloc(struct fit_rows *rows, size_t room, bool has_ngrams, struct err *err)
{
    rows->ngrams = has_ngrams ? calloc(room + 1, sizeof *rows->ngrams) : NULL;
    rows->items = calloc(room + 1, sizeof *rows->items);
    rows->features = calloc(room * rows->width + 1, sizeof *rows->features);
    rows->classes = calloc(room + 1, sizeof *rows->classes);
    rows->digests = calloc(room + 1, sizeof *rows->digests);
    rows->before = calloc(room * rows->old_labels + 1, sizeof *rows->before);
    rows->after = calloc(room * rows->labels + 1, sizeof *rows->after);
    if (rows->items != NULL && rows->features != NULL && rows->classes != NULL &&
        rows->digests != NULL && rows->before != NULL && rows->after != NULL &&
        (!has_ngrams || rows->ngrams != NULL))
        return ERR_OK;
    return err_no_memory(err, room * (rows->width + rows->labels) * sizeof *rows->features);
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
    uint64_t *given = calloc(evaluation->count + 1, sizeof *given); /* the data's, sorted */
    if (given == NULL) {
        err_no_memory(err, evaluation->count * sizeof *given);
        goto out;
    }
    if (alloc(out, evaluation->count + bank->count, data->ngrams != NULL, err))
        goto out;
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
out:
    free(given);
    return err->code;
}

void fit_rows_close(struct fit_rows *rows)
{
    free(rows->items);
    free(rows->features);
    free(rows->classes);
    free(rows->digests);
    free(rows->before);
    free(rows->after);
    free(rows->ngrams);
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
