#include "learn/fit/fit_prior.h"

#include "engine/base/doc.h"
#include "engine/decide/label_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 16 * 1024 * 1024 };

#define COUNT_MAX 1e15
#define UNSEEN 0.5 /* Jeffreys' prior of a share */

struct expected {
    const struct fit_labels *labels;
    double *counts; /* [labels->count] */
};

static enum err_code take_count(void *context, unsigned label, const struct json_t *value,
                                struct err *err)
{
    const struct expected *expected = context;
    double count;
    if (!doc_as_number(value, &count) || !(count >= 0 && count <= COUNT_MAX))
        return err_set(err, ERR_UNUSABLE, "$: the count of '%.60s' must be a number from 0 to %g",
                       expected->labels->name[label], COUNT_MAX);
    expected->counts[label] = count;
    return ERR_OK;
}

static enum err_code read_counts(const char *path, struct expected *expected, struct err *err)
{
    struct json_t *root = NULL;
    if (!doc_parse_file(&root, path, FILE_BYTES_MAX, err))
        label_map_read(root, "$", expected->labels->name, expected->labels->count, take_count,
                       expected, err);
    doc_free(root);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", path) : ERR_OK;
}

static void centre(float *shifts, unsigned count)
{
    double mean = 0;
    for (unsigned c = 0; c < count; c++)
        mean += (double)shifts[c] / count;
    for (unsigned c = 0; c < count; c++)
        shifts[c] = (float)((double)shifts[c] - mean);
}

enum err_code fit_prior_shifts(const char *prior, const struct fit_labels *labels, float *shifts,
                               struct err *err)
{
    struct expected expected = {.labels = labels};
    memset(shifts, 0, labels->count * sizeof *shifts);
    if (strcmp(prior, "natural") == 0)
        return ERR_OK;
    expected.counts = calloc(labels->count, sizeof *expected.counts);
    if (expected.counts == NULL)
        return err_no_memory(err, labels->count * sizeof *expected.counts);
    if (strcmp(prior, "equal") == 0 || !read_counts(prior, &expected, err))
        for (unsigned c = 0; c < labels->count; c++)
            shifts[c] = (float)(log(expected.counts[c] + UNSEEN) -
                                log((double)labels->examples[c] + UNSEEN));
    centre(shifts, labels->count);
    free(expected.counts);
    return err->code;
}
