#include "learn/fit/fit_heads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 1e-3F /* share of a margin that is well above rounding */

/* A row that has another label. A bias above `margin` would give it the new label. */
struct rival {
    float margin;
    unsigned class;
};

static int by_margin(const void *left, const void *right)
{
    float a = ((const struct rival *)left)->margin, b = ((const struct rival *)right)->margin;
    return (a > b) - (a < b);
}

/* False alarms so far. `alarms` weighs rows as they are, `expected_alarms` by how often the model
 * expects their labels. */
struct toll {
    size_t *rows, *taken; /* [labels] */
    double alarms, expected_alarms;
};

/* Weight of one row: its label's expected share divided by the label's rows; 1 / count if no share
 * is known. */
static double expected_weight(const struct fit *fit, const struct toll *toll, unsigned class,
                              size_t count)
{
    const double *fitted = fit->old.class_prior.fitted;
    double sum = 0;
    if (fitted == NULL || class >= fit->labels.old_count)
        return 1.0 / (double)count;
    for (unsigned c = 0; c < fit->labels.old_count; c++)
        sum += fitted[c];
    return fitted[class] / sum / (double)toll->rows[class];
}

/* The highest bias at which enough of the rivals keep their labels. rivals [count] are sorted by
 * margin. */
static float highest(const struct fit *fit, const struct rival *rivals, size_t count,
                     struct toll *toll)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned class = rivals[i].class;
        const double lost = (double)++toll->taken[class] / (double)toll->rows[class];
        toll->alarms += 1.0 / (double)count;
        toll->expected_alarms += expected_weight(fit, toll, class, count);
        if (fmax(toll->alarms, toll->expected_alarms) > FIT_BIAS_ALARMS ||
            100 * lost > fit->options.loss_max)
            return rivals[i].margin;
    }
    return INFINITY;
}

static void raise_label(struct fit *fit, unsigned label, struct rival *rivals, struct toll *toll)
{
    const struct fit_rows *rows = &fit->rows;
    const size_t labels = rows->labels, plain = spec_features(&fit->old);
    size_t count = 0;
    float own = -INFINITY;
    for (size_t i = 0; i < rows->count; i++) {
        const float *logits = rows->after + i * labels;
        float best = -INFINITY; /* of the other labels' logits */
        for (unsigned c = 0; c < labels; c++)
            best = c != label && logits[c] > best ? logits[c] : best;
        const float margin = best - logits[label];
        toll->rows[rows->classes[i]]++;
        if (rows->classes[i] == label)
            own = fmaxf(own, margin);
        else
            rivals[count++] = (struct rival){margin, rows->classes[i]};
    }
    if (toll->rows[label] > FIT_BIAS_FEW)
        return;
    qsort(rivals, count, sizeof *rivals, by_margin);
    const float most = highest(fit, rivals, count, toll);
    const float by = fminf(own + ROOM * fabsf(own), most - ROOM * fabsf(most));
    if (!(by > 0))
        return;
    fit->plain[label * (plain + 1) + plain] += by;
    if (fit->full != NULL)
        fit->full[label * ((size_t)rows->width + 1) + rows->width] += by;
    for (size_t i = 0; i < rows->count; i++)
        rows->after[i * labels + label] += by;
}

enum err_code fit_bias(struct fit *fit, struct err *err)
{
    const struct fit_rows *rows = &fit->rows;
    struct rival *rivals = calloc(rows->count + 1, sizeof *rivals);
    size_t *counts = calloc(2 * (size_t)rows->labels, sizeof *counts);
    if (rivals == NULL || counts == NULL)
        err_no_memory(err, rows->count * sizeof *rivals);
    else if (strcmp(fit->options.prior, "natural") == 0)
        for (unsigned c = fit->labels.old_count; c < fit->labels.count; c++) {
            memset(counts, 0, 2 * rows->labels * sizeof *counts);
            raise_label(fit, c, rivals, &(struct toll){counts, counts + rows->labels, 0, 0});
        }
    free(rivals);
    free(counts);
    return err->code;
}
