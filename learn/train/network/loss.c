#include "learn/train/network/loss.h"

#include <math.h>

/* log sum_k exp(z_k / temperature), with the largest term taken out first. */
static double log_sum(const float *logits, size_t count, double temperature)
{
    double top = logits[0], sum = 0;
    for (size_t k = 1; k < count; k++)
        top = fmax(top, logits[k]);
    for (size_t k = 0; k < count; k++)
        sum += exp((logits[k] - top) / temperature);
    return top / temperature + log(sum);
}

static double weight_of(const struct loss *loss, const float *target)
{
    double sum = 0, count = 0;
    if (loss->weights == NULL)
        return 1;
    for (unsigned k = 0; k < loss->labels; k++) {
        sum += target[k] * loss->weights[k];
        count += target[k];
    }
    return count > 0 ? sum / count : 1;
}

/* Cross-entropy of the adjusted logits against the smoothed target; dlogits = factor (p - q).
 * dlogits holds the adjusted logits at first. */
static double cross_entropy(const struct loss *loss, const float *logits, const float *target,
                            double factor, float *dlogits)
{
    double value = 0;
    for (unsigned k = 0; k < loss->labels; k++)
        dlogits[k] = logits[k] + (loss->adjustment != NULL ? loss->adjustment[k] : 0);
    double total = log_sum(dlogits, loss->labels, 1);
    for (unsigned k = 0; k < loss->labels; k++) {
        double log_p = dlogits[k] - total;
        double q = (1 - loss->smoothing) * target[k] + loss->smoothing / loss->labels;
        value -= q * log_p;
        dlogits[k] = (float)(factor * (exp(log_p) - q));
    }
    return value;
}

/* T^2 CE(softmax(t / T), softmax(z / T)); adds factor x its gradient, T (p - q). */
static double distill(const struct loss *loss, const float *logits, const float *teacher,
                      double factor, float *dlogits)
{
    double temperature = loss->teacher_temperature, value = 0;
    double total = log_sum(logits, loss->labels, temperature);
    double teacher_total = log_sum(teacher, loss->labels, temperature);
    for (unsigned k = 0; k < loss->labels; k++) {
        double log_p = logits[k] / temperature - total;
        double q = exp(teacher[k] / temperature - teacher_total);
        value -= q * log_p;
        dlogits[k] += (float)(factor * temperature * (exp(log_p) - q));
    }
    return temperature * temperature * value;
}

static double binary_cross_entropy(const struct loss *loss, const float *logits,
                                   const float *target, double factor, float *dlogits)
{
    double value = 0;
    for (unsigned k = 0; k < loss->labels; k++) {
        double z = logits[k], q = (1 - loss->smoothing) * target[k] + loss->smoothing / 2;
        value += fmax(z, 0) - z * q + log1p(exp(-fabs(z)));
        dlogits[k] = (float)(factor / loss->labels * (1 / (1 + exp(-z)) - q));
    }
    return value / loss->labels;
}

static double square_error(const struct loss *loss, const float *logits, const float *target,
                           double factor, float *dlogits)
{
    double value = 0;
    for (unsigned k = 0; k < loss->labels; k++) {
        const double error = (double)logits[k] - (double)target[k];
        value += error * error;
        dlogits[k] = (float)(factor / loss->labels * 2 * error);
    }
    return value / loss->labels;
}

double loss_run(const struct loss *loss, const float *logits, const float *target,
                const float *teacher, float share, float *dlogits)
{
    if (loss->scores == SCORES_NONE)
        return square_error(loss, logits, target, share, dlogits);
    double weight = weight_of(loss, target), factor = share * weight;
    if (loss->scores == SCORES_SIGMOID)
        return weight * binary_cross_entropy(loss, logits, target, factor, dlogits);
    if (teacher == NULL)
        return weight * cross_entropy(loss, logits, target, factor, dlogits);
    double a = loss->teacher_share;
    double own = cross_entropy(loss, logits, target, factor * (1 - a), dlogits);
    return weight * ((1 - a) * own + a * distill(loss, logits, teacher, factor * a, dlogits));
}

double loss_word(float *logits, size_t words, size_t word, float smoothing, float share)
{
    const double total = log_sum(logits, words, 1), each = smoothing / (double)words;
    double value = (1 - (double)smoothing) * (total - logits[word]);
    for (size_t k = 0; k < words && smoothing > 0; k++)
        value += each * (total - logits[k]);
    for (size_t k = 0; k < words; k++)
        logits[k] = share * (expf(logits[k] - (float)total) - (float)each);
    logits[word] -= share * (1 - smoothing);
    return value;
}
