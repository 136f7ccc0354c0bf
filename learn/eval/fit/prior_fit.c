#include "learn/eval/fit/prior_fit.h"

#include <math.h>
#include <stdlib.h>

#define UNSEEN 0.5     /* inputs that are added to each label */
#define MOVED_MIN 1e-7 /* ends when a step changes the shares by less, summed over labels */

/* Scores of a set, and the mean of the scores after correction by factors. */
struct scored {
    float *scores; /* [count, labels] */
    size_t count;
    unsigned labels;
    double *mean; /* [labels] */
};

static enum err_code open_scored(struct scored *out, const struct calibration_set *set,
                                 double temperature, struct err *err)
{
    const unsigned labels = set->label_count;
    *out = (struct scored){.count = set->count, .labels = labels};
    if (set->count == 0)
        return err_set(err, ERR_UNUSABLE, "there is no input to estimate a class prior from");
    out->scores = calloc(set->count, labels * sizeof *out->scores);
    out->mean = calloc(labels, sizeof *out->mean);
    if (out->scores == NULL || out->mean == NULL)
        return err_no_memory(err, set->count * labels * sizeof *out->scores);
    for (size_t i = 0; i < set->count; i++) {
        const float *logits = set->logits + (set->items != NULL ? set->items[i] : i) * labels;
        float *scores = out->scores + i * labels, top = logits[0];
        for (unsigned c = 1; c < labels; c++)
            top = fmaxf(top, logits[c]);
        for (unsigned c = 0; c < labels; c++)
            scores[c] = (float)exp(((double)logits[c] - (double)top) / temperature);
    }
    return ERR_OK;
}

static void close_scored(struct scored *scored)
{
    free(scored->scores);
    free(scored->mean);
}

/* mean_c = mean over inputs, plus UNSEEN of an input, of p_ic f_c / sum_j p_ij f_j. */
static void average(struct scored *scored, const double *factors)
{
    const unsigned labels = scored->labels;
    const double inputs = (double)scored->count + UNSEEN * labels;
    for (unsigned c = 0; c < labels; c++)
        scored->mean[c] = UNSEEN / inputs;
    for (size_t i = 0; i < scored->count; i++) {
        const float *scores = scored->scores + i * labels;
        double sum = 0;
        for (unsigned c = 0; c < labels; c++)
            sum += (double)scores[c] * factors[c];
        for (unsigned c = 0; c < labels && sum > 0; c++)
            scored->mean[c] += (double)scores[c] * factors[c] / sum / inputs;
    }
}

static void count_shares(double *shares, const struct calibration_set *set)
{
    const double inputs = (double)set->count + UNSEEN * set->label_count;
    for (unsigned c = 0; c < set->label_count; c++)
        shares[c] = UNSEEN / inputs;
    for (size_t i = 0; i < set->count; i++)
        shares[set->classes[set->items != NULL ? set->items[i] : i]] += 1 / inputs;
}

/* Finds the factors with which the mean scores are `shares`. */
static void correct(double *factors, struct scored *known, const double *shares)
{
    double moved = 1;
    for (unsigned step = 0; step < PRIOR_FIT_STEPS_MAX && moved > MOVED_MIN; step++) {
        average(known, factors);
        moved = 0;
        for (unsigned c = 0; c < known->labels; c++) {
            moved += fabs(known->mean[c] - shares[c]);
            factors[c] *= shares[c] / known->mean[c];
        }
    }
}

/* Expectation maximisation. shares: in the start, out the result. Returns the number of steps. */
static unsigned maximise(double *shares, struct scored *stream, double *factors)
{
    double moved = 1;
    unsigned step = 0;
    for (; step < PRIOR_FIT_STEPS_MAX && moved > MOVED_MIN; step++) {
        average(stream, factors);
        moved = 0;
        for (unsigned c = 0; c < stream->labels; c++) {
            moved += fabs(stream->mean[c] - shares[c]);
            factors[c] *= stream->mean[c] / shares[c];
            shares[c] = stream->mean[c];
        }
    }
    return step;
}

enum err_code prior_fit(double *shares, const struct calibration_set *known,
                        const struct calibration_set *stream, double temperature, unsigned *steps,
                        struct err *err)
{
    struct scored labelled, seen = {0};
    const unsigned labels = known->label_count;
    double *factors = calloc(labels, sizeof *factors);
    for (unsigned c = 0; c < labels && factors != NULL; c++)
        factors[c] = 1;
    if (!open_scored(&labelled, known, temperature, err) &&
        !open_scored(&seen, stream, temperature, err) && factors == NULL)
        err_no_memory(err, labels * sizeof *factors);
    if (err->code == ERR_OK) {
        count_shares(shares, known);
        correct(factors, &labelled, shares);
        *steps = maximise(shares, &seen, factors);
    }
    close_scored(&labelled);
    close_scored(&seen);
    free(factors);
    return err->code;
}
