#include "learn/eval/measure/agreement.h"

#include <math.h>

bool agreement_differs(const struct evaluation *a, const struct evaluation *b, size_t item)
{
    bool a_failed = a->problems[item] != NULL, b_failed = b->problems[item] != NULL;
    if (a_failed || b_failed)
        return a_failed != b_failed;
    return evaluation_argmax(a, item) != evaluation_argmax(b, item);
}

static void compare_logits(struct agreement *out, const float *a, const float *b, unsigned count,
                           double *sum)
{
    for (unsigned i = 0; i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        out->logit_difference_max = fmax(out->logit_difference_max, difference);
        *sum += difference;
    }
}

void agreement_measure(struct agreement *out, const struct evaluation *a,
                       const struct evaluation *b)
{
    double sum = 0.0;
    size_t logits = 0;
    *out = (struct agreement){0};
    for (size_t i = 0; i < a->count; i++) {
        bool a_failed = a->problems[i] != NULL, b_failed = b->problems[i] != NULL;
        out->compared += !a_failed || !b_failed;
        if (a_failed || b_failed)
            continue;
        out->equal += !agreement_differs(a, b, i);
        compare_logits(out, evaluation_logits(a, i), evaluation_logits(b, i), a->label_count, &sum);
        logits += a->label_count;
    }
    out->share = out->compared > 0 ? (double)out->equal / (double)out->compared : 0.0;
    out->logit_difference_mean = logits > 0 ? sum / (double)logits : 0.0;
}

bool agreement_reaches(const struct agreement *agreement, double percent)
{
    return 100 * (double)agreement->equal >= percent * (double)agreement->compared;
}
