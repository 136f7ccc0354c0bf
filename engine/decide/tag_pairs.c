#include "engine/decide/tag_pairs.h"

#include "engine/base/doc.h"
#include "engine/decide/label_map.h"

#include <math.h>
#include <stdio.h>

#define WEIGHT 0.3
#define UNSEEN 0.5 /* of a pair: Jeffreys' prior of a share */

const char *tag_gap_name(enum tag_gap gap)
{
    static const char *const names[] = {[TAG_APART] = "apart", [TAG_TOUCHING] = "touching"};
    return names[gap];
}

/* The share of a label among all that stand behind another. */
static double share_of(const double *counts, unsigned behind, unsigned n)
{
    double count = UNSEEN, all = UNSEEN * n;
    for (size_t before = 0; before < TAG_GAPS * (size_t)n; before++)
        for (unsigned i = 0; i < n; i++) {
            all += counts[before * n + i];
            count += i == behind ? counts[before * n + i] : 0;
        }
    return count / all;
}

/* weights, counts: those of one gap, [n][n]; all: of both. */
static void weigh(float *weights, const double *all, const double *counts, const unsigned *insides,
                  unsigned n)
{
    for (unsigned behind = 0; behind < n; behind++) {
        const double share = share_of(all, behind, n);
        for (unsigned before = 0; before < n; before++) {
            const double *row = counts + (size_t)before * n;
            double sum = UNSEEN * n;
            for (unsigned i = 0; i < n; i++)
                sum += row[i];
            const bool goes_on = insides[behind] == behind && insides[before] != behind;
            weights[(size_t)behind * n + before] =
                goes_on ? -INFINITY : (float)(WEIGHT * log((row[behind] + UNSEEN) / sum / share));
        }
    }
}

enum err_code tag_pairs_fit(struct tag_pairs *out, const double *counts, const unsigned *insides,
                            unsigned label_count, struct arena *arena, struct err *err)
{
    const size_t size = (size_t)label_count * label_count;
    float *weights = arena_alloc_array(arena, TAG_GAPS * size, sizeof *weights);
    if (weights == NULL)
        return err_no_memory(err, TAG_GAPS * size * sizeof *weights);
    for (unsigned gap = 0; gap < TAG_GAPS; gap++)
        weigh(weights + gap * size, counts, counts + gap * size, insides, label_count);
    *out = (struct tag_pairs){.counts = counts, .weights = weights};
    return ERR_OK;
}

struct reader {
    const char *path; /* of the object in error texts */
    const char *const *labels;
    unsigned label_count;
    double *counts; /* [label_count][label_count] */
};

/* label_map_read's visitor. */
static enum err_code read_row(void *context, unsigned label, const struct json_t *value,
                              struct err *err)
{
    const struct reader *reader = context;
    double *row = reader->counts + (size_t)label * reader->label_count;
    if (doc_array_count(value) != reader->label_count)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: '%.60s' must be an array of %u counts, one for each label",
                       reader->path, reader->labels[label], reader->label_count);
    for (unsigned i = 0; i < reader->label_count; i++)
        if (!doc_as_number(doc_array_item(value, i), &row[i]) ||
            !(row[i] >= 0 && row[i] <= TAG_PAIRS_COUNT_MAX))
            return err_set(err, ERR_UNSUPPORTED,
                           "%s: '%.60s': count %u must be a number from 0 to %g", reader->path,
                           reader->labels[label], i, TAG_PAIRS_COUNT_MAX);
    return ERR_OK;
}

enum err_code tag_pairs_read(struct tag_pairs *out, const struct json_t *object,
                             const char *const *labels, const unsigned *insides,
                             unsigned label_count, struct arena *arena, struct err *err)
{
    const struct json_t *told = doc_member(object, "transitions");
    const size_t size = (size_t)label_count * label_count;
    *out = (struct tag_pairs){0};
    if (told == NULL)
        return ERR_OK;
    if (doc_object_count(told) == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.transitions must be an object with apart and touching, not %s",
                       doc_type_name(told));
    if (label_count > TAG_PAIRS_LABELS_MAX)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.transitions is for models of at most %u labels, not of %u",
                       TAG_PAIRS_LABELS_MAX, label_count);
    if (doc_check_members(told, "$.transitions", "apart, touching", err))
        return err->code;
    double *counts = arena_alloc_array(arena, TAG_GAPS * size, sizeof *counts);
    if (counts == NULL)
        return err_no_memory(err, TAG_GAPS * size * sizeof *counts);
    for (unsigned gap = 0; gap < TAG_GAPS; gap++) {
        char path[40];
        const char *name = tag_gap_name((enum tag_gap)gap);
        const struct json_t *rows = doc_member(told, name);
        snprintf(path, sizeof path, "$.transitions.%s", name);
        struct reader reader = {path, labels, label_count, counts + gap * size};
        if (rows == NULL)
            return err_set(err, ERR_UNSUPPORTED, "%s is missing", path);
        if (label_map_read(rows, path, labels, label_count, read_row, &reader, err))
            return err->code;
    }
    return tag_pairs_fit(out, counts, insides, label_count, arena, err);
}
