#include "learn/fit/fit_prior.h"

#include "engine/decide/class_prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN 0.5 /* Jeffreys' prior of a share */

/* Sets the expected counts, which may have any sum. */
static enum err_code expect(const char *prior, const struct fit_labels *labels, double *counts,
                            struct err *err)
{
    const struct class_prior_labels known = {labels->name, labels->count};
    if (strcmp(prior, "equal") != 0)
        return class_prior_read_file(prior, &known, counts, err);
    for (unsigned c = 0; c < labels->count; c++)
        counts[c] = 1;
    return ERR_OK;
}

enum err_code fit_prior_counts(const char *prior, const struct fit_labels *labels, double *counts,
                               struct err *err)
{
    double examples = 0, sum = 0;
    for (unsigned c = 0; c < labels->count; c++)
        examples += counts[c] = (double)labels->examples[c];
    if (strcmp(prior, "natural") == 0 || expect(prior, labels, counts, err))
        return err->code;
    for (unsigned c = 0; c < labels->count; c++)
        sum += counts[c];
    for (unsigned c = 0; c < labels->count; c++)
        counts[c] *= examples / sum;
    return ERR_OK;
}

enum err_code fit_prior_shifts(const char *prior, const struct fit_labels *labels, float *shifts,
                               struct err *err)
{
    double mean = 0;
    memset(shifts, 0, labels->count * sizeof *shifts);
    if (strcmp(prior, "natural") == 0)
        return ERR_OK;
    double *counts = calloc(labels->count, sizeof *counts);
    if (counts == NULL)
        return err_no_memory(err, labels->count * sizeof *counts);
    if (!expect(prior, labels, counts, err))
        for (unsigned c = 0; c < labels->count; c++)
            shifts[c] =
                (float)(log(counts[c] + UNSEEN) - log((double)labels->examples[c] + UNSEEN));
    for (unsigned c = 0; c < labels->count; c++)
        mean += (double)shifts[c] / labels->count;
    for (unsigned c = 0; c < labels->count; c++)
        shifts[c] = (float)((double)shifts[c] - mean);
    free(counts);
    return err->code;
}
