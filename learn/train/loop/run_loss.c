#include "learn/train/loop/run_loss.h"

#include <math.h>
#include <string.h>

/* Class weights count^-power, scaled so that their mean over the inputs is 1. */
static enum err_code weigh_classes(struct loss *loss, float power, const struct corpus_items *train,
                                   struct arena *arena, struct err *err)
{
    size_t labels = loss->labels;
    double *counts = arena_alloc_array(arena, labels, sizeof *counts);
    float *weights = arena_alloc_array(arena, labels, sizeof *weights);
    if (counts == NULL || weights == NULL)
        return err_no_memory(err, labels * sizeof *counts);
    double sum = 0, total = 0;
    for (size_t i = 0; i < train->count * labels; i++)
        counts[i % labels] += train->targets[i];
    for (size_t c = 0; c < labels; c++) {
        weights[c] = (float)pow(counts[c], -power);
        sum += weights[c] * counts[c];
        total += counts[c];
    }
    for (size_t c = 0; c < labels; c++)
        weights[c] *= (float)(total / sum);
    loss->weights = weights;
    return ERR_OK;
}

/* A class's share of the loss, not normalised. Every class has training inputs (corpus.h), so the
 * share is above 0. */
static double seen_of(const struct loss *loss, const struct sampler *sampler, unsigned c)
{
    return sampler_share(sampler, c) * (loss->weights != NULL ? (double)loss->weights[c] : 1);
}

static enum err_code adjust_logits(struct loss *loss, float tau, const struct sampler *sampler,
                                   struct arena *arena, struct err *err)
{
    float *adjustment = arena_alloc_array(arena, loss->labels, sizeof *adjustment);
    double sum = 0;
    if (adjustment == NULL)
        return err_no_memory(err, loss->labels * sizeof *adjustment);
    for (unsigned c = 0; c < loss->labels; c++)
        sum += seen_of(loss, sampler, c);
    for (unsigned c = 0; c < loss->labels; c++)
        adjustment[c] = (float)((double)tau * log(seen_of(loss, sampler, c) / sum));
    loss->adjustment = adjustment;
    return ERR_OK;
}

enum err_code run_loss_make(struct loss *out, const struct train_options *options,
                            const struct spec *spec, const struct corpus_items *train,
                            const struct sampler *sampler, struct arena *arena, struct err *err)
{
    *out = (struct loss){.scores = spec->scores,
                         .labels = spec->label_count,
                         .smoothing = options->label_smoothing,
                         .teacher_share = options->teacher_share,
                         .teacher_temperature = options->teacher_temperature};
    if (strcmp(options->task, "mlm") == 0)
        return ERR_OK;
    if (options->class_weight > 0 && weigh_classes(out, options->class_weight, train, arena, err))
        return err->code;
    if (options->logit_adjust > 0)
        adjust_logits(out, options->logit_adjust, sampler, arena, err);
    return err->code;
}
