#include "learn/fit/fit_labels.h"

#include "engine/model/spec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static unsigned place_of(const struct fit_labels *labels, const char *name)
{
    unsigned i = 0;
    while (i < labels->count && strcmp(labels->name[i], name) != 0)
        i++;
    return i;
}

/* ---- names ---- */

/* Adds each label that the model lacks to out->name, or to out->rare if it has too few inputs. */
static enum err_code collect(struct fit_labels *out, const struct dataset *dataset,
                             struct arena *arena, struct err *err)
{
    struct fit_rare *rare = arena_alloc_array(arena, dataset->count, sizeof *rare);
    const char **sorted = calloc(dataset->count, sizeof *sorted);
    size_t count = 0;
    if (rare == NULL || sorted == NULL) {
        err_no_memory(err, dataset->count * sizeof *rare);
        goto out;
    }
    for (size_t i = 0; i < dataset->count; i++)
        if (place_of(out, dataset->items[i].label) == out->count)
            sorted[count++] = dataset->items[i].label;
    qsort(sorted, count, sizeof *sorted, by_text);
    out->rare = rare;
    for (size_t first = 0, end; first < count && err->code == ERR_OK; first = end) {
        for (end = first + 1; end < count && strcmp(sorted[end], sorted[first]) == 0;)
            end++;
        if (end - first < FIT_EXAMPLES_MIN)
            rare[out->rare_count++] = (struct fit_rare){sorted[first], end - first};
        else if (out->count == SPEC_LABELS_MAX)
            err_set(err, ERR_TOO_LARGE, "more than %d labels", (int)SPEC_LABELS_MAX);
        else
            out->name[out->count++] = sorted[first];
    }
out:
    free(sorted);
    return err->code;
}

/* ---- inputs ---- */

enum err_code fit_labels_learn(struct fit_labels *out, struct dataset *dataset,
                               const struct fit_old_labels *old, struct arena *arena,
                               struct err *err)
{
    size_t room = (size_t)old->count + dataset->count, kept = 0;
    *out = (struct fit_labels){.count = old->count, .old_count = old->count};
    out->name = arena_alloc_array(arena, room, sizeof *out->name);
    out->examples = arena_alloc_array(arena, room, sizeof *out->examples);
    if (out->name == NULL || out->examples == NULL)
        return err_no_memory(err, room * sizeof *out->name);
    memcpy(out->name, old->name, old->count * sizeof *out->name);
    memset(out->examples, 0, room * sizeof *out->examples);
    memcpy(out->examples, old->carried, old->count * sizeof *out->examples);
    if (collect(out, dataset, arena, err))
        return err->code;
    for (size_t i = 0; i < dataset->count; i++) { /* inputs of rare labels are removed */
        unsigned place = place_of(out, dataset->items[i].label);
        if (place == out->count)
            continue;
        out->examples[place]++;
        dataset->items[kept++] = dataset->items[i];
    }
    dataset->count = kept;
    if (kept == 0)
        return err_set(err, ERR_UNUSABLE, "no label has %d inputs or more", FIT_EXAMPLES_MIN);
    bool carries_any = false;
    for (unsigned c = 0; c < old->count; c++)
        carries_any = carries_any || old->carried[c] > 0;
    for (unsigned c = 0; c < out->old_count; c++)
        if (out->examples[c] < FIT_EXAMPLES_MIN)
            return err_set(err, ERR_UNUSABLE,
                           "the model's label '%.60s' has %zu inputs%s; it needs %d, or the new "
                           "head would forget it",
                           out->name[c], out->examples[c],
                           carries_any ? "" : ", and the model carries no examples of its own",
                           FIT_EXAMPLES_MIN);
    return out->count > 1
               ? ERR_OK
               : err_set(err, ERR_UNUSABLE, "a model of one label has nothing to tell apart");
}
