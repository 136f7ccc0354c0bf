#include "learn/eval/measure/agreement.h"

#include <math.h>

bool agreement_differs(const struct evaluation *a, const struct evaluation *b, size_t item)
{
    bool a_failed = a->problems[item] != NULL, b_failed = b->problems[item] != NULL;
    if (a_failed || b_failed)
        return a_failed != b_failed;
    return evaluation_argmax(a, item) != evaluation_argmax(b, item);
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
        const float *left = evaluation_logits(a, i), *right = evaluation_logits(b, i);
        for (unsigned k = 0; k < a->label_count; k++) {
            double difference = fabs((double)left[k] - (double)right[k]);
            out->logit_difference_max = fmax(out->logit_difference_max, difference);
            sum += difference;
        }
        logits += a->label_count;
    }
    out->share = out->compared > 0 ? (double)out->equal / (double)out->compared : 0.0;
    out->logit_difference_mean = logits > 0 ? sum / (double)logits : 0.0;
}

bool agreement_reaches(const struct agreement *agreement, double percent)
{
    return 100 * (double)agreement->equal >= percent * (double)agreement->compared;
}
