/* calibration.c - see calibration.h. The negative log-likelihood is convex in b = 1 / T, so its
 * derivative has at most one root. Newton's method finds it inside a bracket that each step
 * narrows. With z the logits of an input and y its class,
 *
 *     softmax:  L'(b) = sum E_p[z] - z_y              L''(b) = sum Var_p[z]
 *     sigmoid:  L'(b) = sum (s(bz) - y) z             L''(b) = sum s(bz) (1 - s(bz)) z^2
 *
 * Six or seven passes over the logits suffice. Everything is summed in double precision; scores of
 * verdicts are float because thresholds are compared with a server's float scores. */
#include "learn/eval/measure/calibration.h"

#include "engine/decide/argmax.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 100 };

static size_t item_of(const struct calibration_set *set, size_t index)
{
    return set->items != NULL ? set->items[index] : index;
}

static const float *logits_of(const struct calibration_set *set, size_t item)
{
    return set->logits + item * set->label_count;
}

/* Without overflow in both tails. */
static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/* log(1 + exp(x)) */
static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* sum over labels of exp(b (z - z_max)) */
static double mass_of(const float *logits, unsigned count, double b)
{
    double sum = 0.0, top = (double)logits[argmax(logits, count)];
    for (unsigned i = 0; i < count; i++)
        sum += exp(b * ((double)logits[i] - top));
    return sum;
}

/* ---- fitting ---- */

struct slope {
    double first, second;
};

/* Moments are computed about the largest logit, which does not change the slopes. */
static void add_softmax_slope(struct slope *slope, const float *logits, unsigned count,
                              unsigned class, double b)
{
    double top = (double)logits[argmax(logits, count)];
    double mass = 0.0, first = 0.0, second = 0.0;
    for (unsigned i = 0; i < count; i++) {
        double z = (double)logits[i] - top, e = exp(b * z);
        mass += e;
        first += e * z;
        second += e * z * z;
    }
    double mean = first / mass;
    slope->first += mean - ((double)logits[class] - top);
    slope->second += fmax(0.0, second / mass - mean * mean);
}

static void add_sigmoid_slope(struct slope *slope, const float *logits, unsigned count,
                              unsigned class, double b)
{
    for (unsigned i = 0; i < count; i++) {
        double z = (double)logits[i], s = sigmoid(b * z);
        slope->first += (s - (i == class)) * z;
        slope->second += s * (1 - s) * z * z;
    }
}

static struct slope slope_at(const struct calibration_set *set, double b)
{
    struct slope slope = {0};
    for (size_t i = 0; i < set->count; i++) {
        size_t item = item_of(set, i);
        (set->sigmoid ? add_sigmoid_slope : add_softmax_slope)(
            &slope, logits_of(set, item), set->label_count, set->classes[item], b);
    }
    return slope;
}

double calibration_temperature(const struct calibration_set *set)
{
    double low = 1 / CALIBRATION_TEMPERATURE_MAX, high = 1 / CALIBRATION_TEMPERATURE_MIN, b = 1;
    if (slope_at(set, high).first <= 0)
        return CALIBRATION_TEMPERATURE_MIN;
    if (slope_at(set, low).first >= 0)
        return CALIBRATION_TEMPERATURE_MAX;
    for (unsigned step = 0; step < STEPS_MAX && high - low > 1e-9 * b; step++) {
        struct slope slope = slope_at(set, b);
        *(slope.first > 0 ? &high : &low) = b;
        double next = b - slope.first / slope.second;
        bool inside = next > low && next < high;
        if (inside && fabs(next - b) <= 1e-9 * b)
            break;
        b = inside ? next : (low + high) / 2;
    }
    return 1 / b;
}

double calibration_temperature_within(const struct calibration_set *set, double present,
                                      double *bound)
{
    double fitted = calibration_temperature(set);
    bool within = fitted > CALIBRATION_TEMPERATURE_MIN && fitted < CALIBRATION_TEMPERATURE_MAX;
    *bound = within ? 0 : fitted;
    return within ? fitted : present;
}

/* ---- losses ---- */

static void add_softmax_losses(struct calibration_losses *sum, const float *logits, unsigned count,
                               unsigned class, double b)
{
    double top = (double)logits[argmax(logits, count)], mass = mass_of(logits, count, b);
    sum->nll += log(mass) - b * ((double)logits[class] - top);
    for (unsigned i = 0; i < count; i++) {
        double error = exp(b * ((double)logits[i] - top)) / mass - (i == class);
        sum->brier += error * error;
    }
}

static void add_sigmoid_losses(struct calibration_losses *sum, const float *logits, unsigned count,
                               unsigned class, double b)
{
    for (unsigned i = 0; i < count; i++) {
        double x = b * (double)logits[i], error = sigmoid(x) - (i == class);
        sum->nll += (i == class ? softplus(-x) : softplus(x)) / count;
        sum->brier += error * error / count;
    }
}

struct calibration_losses calibration_losses(const struct calibration_set *set, double temperature)
{
    struct calibration_losses sum = {0};
    for (size_t i = 0; i < set->count; i++) {
        size_t item = item_of(set, i);
        (set->sigmoid ? add_sigmoid_losses : add_softmax_losses)(
            &sum, logits_of(set, item), set->label_count, set->classes[item], 1 / temperature);
    }
    return sum;
}

/* ---- verdicts ---- */

void calibration_predictions(const struct calibration_set *set, double temperature,
                             struct verdict *out)
{
    for (size_t i = 0; i < set->count; i++) {
        size_t item = item_of(set, i);
        const float *logits = logits_of(set, item);
        unsigned label = argmax(logits, set->label_count);
        double score = set->sigmoid ? sigmoid((double)logits[label] / temperature)
                                    : 1 / mass_of(logits, set->label_count, 1 / temperature);
        out[i] = (struct verdict){.score = (float)score,
                                  .label = label,
                                  .right = label == set->classes[item],
                                  .item = item};
    }
}

void calibration_labels(const struct calibration_set *set, double temperature, struct verdict *out)
{
    for (size_t i = 0; i < set->count; i++) {
        size_t item = item_of(set, i);
        for (unsigned label = 0; label < set->label_count; label++)
            *out++ = (struct verdict){
                .score = (float)sigmoid((double)logits_of(set, item)[label] / temperature),
                .label = label,
                .right = label == set->classes[item],
                .item = item};
    }
}

size_t calibration_verdicts_each(const struct calibration_set *set)
{
    return set->sigmoid ? set->label_count : 1;
}

size_t calibration_verdicts(const struct calibration_set *set, double temperature,
                            struct verdict *out)
{
    (set->sigmoid ? calibration_labels : calibration_predictions)(set, temperature, out);
    return set->count * calibration_verdicts_each(set);
}

/* ---- bins ---- */

static void add_to_bin(struct calibration_bin *bin, const struct verdict *verdict)
{
    bin->count++;
    bin->score += (double)verdict->score;
    bin->right += verdict->right;
}

/* Turns sums into means. */
static void finish_bins(struct calibration_bin bins[CALIBRATION_BINS])
{
    for (unsigned i = 0; i < CALIBRATION_BINS; i++) {
        double count = bins[i].count > 0 ? (double)bins[i].count : 1;
        bins[i].score /= count;
        bins[i].right /= count;
    }
}

void calibration_bins(struct calibration_bin bins[CALIBRATION_BINS], const struct verdict *verdicts,
                      size_t count)
{
    memset(bins, 0, CALIBRATION_BINS * sizeof *bins);
    for (size_t i = 0; i < count; i++) {
        int bin = (int)ceil((double)verdicts[i].score * CALIBRATION_BINS) - 1;
        bin = bin < 0 ? 0 : bin >= CALIBRATION_BINS ? CALIBRATION_BINS - 1 : bin;
        add_to_bin(&bins[bin], &verdicts[i]);
    }
    finish_bins(bins);
}

static int compare_scores(const void *left, const void *right)
{
    const struct verdict *a = left, *b = right;
    return (a->score > b->score) - (a->score < b->score);
}

void calibration_bins_by_mass(struct calibration_bin bins[CALIBRATION_BINS],
                              struct verdict *verdicts, size_t count)
{
    memset(bins, 0, CALIBRATION_BINS * sizeof *bins);
    qsort(verdicts, count, sizeof *verdicts, compare_scores);
    unsigned bin = 0;
    for (size_t i = 0; i < count; i++) {
        bool ties = i > 0 && verdicts[i].score == verdicts[i - 1].score;
        if (!ties)
            bin = (unsigned)((double)i / (double)count * CALIBRATION_BINS);
        add_to_bin(&bins[bin], &verdicts[i]);
    }
    finish_bins(bins);
}

double calibration_ece(const struct calibration_bin bins[CALIBRATION_BINS])
{
    double error = 0.0;
    size_t count = 0;
    for (unsigned i = 0; i < CALIBRATION_BINS; i++) {
        error += (double)bins[i].count * fabs(bins[i].score - bins[i].right);
        count += bins[i].count;
    }
    return count > 0 ? error / (double)count : 0.0;
}
