#include "learn/eval/measure/set_assessment.h"

#include "learn/eval/measure/separation.h"

#include <math.h>
#include <stdlib.h>

static struct multi_label_rates rates_of(size_t support, size_t given, size_t both)
{
    return (struct multi_label_rates){
        .precision = given > 0 ? (double)both / (double)given : NAN,
        .recall = support > 0 ? (double)both / (double)support : NAN,
        .f1 = support + given > 0 ? 2 * (double)both / (double)(support + given) : NAN};
}

/* Area under the ROC curve of one label's scores. `sorted` [count] is scratch. */
static double auroc_of(const float *scores, const bool *truths, size_t count, unsigned labels,
                       unsigned label, float *sorted)
{
    size_t without = 0, with = 0;
    for (size_t i = 0; i < count; i++) {
        const float score = scores[i * labels + label];
        if (truths[i * labels + label])
            sorted[count - ++with] = score;
        else
            sorted[without++] = score;
    }
    return with > 0 && without > 0 ? separation_auroc(sorted, without, sorted + without, with)
                                   : NAN;
}

/* Counts the pairs of one input. True: it is given exactly its labels. */
static bool count_input(struct multi_label *out, const float *scores, const bool *truths,
                        size_t *wrong)
{
    const size_t before = *wrong;
    for (unsigned k = 0; k < out->labels; k++) {
        const bool is_given = scores[k] >= MULTI_LABEL_THRESHOLD;
        out->rows[k].support += truths[k];
        out->rows[k].given += is_given;
        out->rows[k].both += truths[k] && is_given;
        *wrong += truths[k] != is_given;
    }
    return *wrong == before;
}

static double or_zero(double rate)
{
    return isnan(rate) ? 0 : rate;
}

static void sum_up(struct multi_label *out)
{
    size_t support = 0, given = 0, both = 0, ranked = 0;
    double auroc = 0;
    for (unsigned k = 0; k < out->labels; k++) {
        struct multi_label_row *row = &out->rows[k];
        row->rates = rates_of(row->support, row->given, row->both);
        support += row->support;
        given += row->given;
        both += row->both;
        out->macro.precision += or_zero(row->rates.precision) / out->labels;
        out->macro.recall += or_zero(row->rates.recall) / out->labels;
        out->macro.f1 += or_zero(row->rates.f1) / out->labels;
        ranked += !isnan(row->auroc);
        auroc += or_zero(row->auroc);
    }
    out->micro = rates_of(support, given, both);
    out->macro_auroc = ranked > 0 ? auroc / (double)ranked : NAN;
}

enum err_code multi_label_measure(struct multi_label *out, const float *scores, const bool *truths,
                                  size_t count, unsigned labels, struct err *err)
{
    size_t wrong = 0, exact = 0;
    float *sorted = calloc(count + 1, sizeof *sorted);
    *out = (struct multi_label){.count = count, .labels = labels};
    out->rows = calloc(labels, sizeof *out->rows);
    if (sorted == NULL || out->rows == NULL) {
        err_no_memory(err, count * sizeof *sorted + labels * sizeof *out->rows);
        goto out;
    }
    for (size_t i = 0; i < count; i++)
        exact += count_input(out, scores + i * labels, truths + i * labels, &wrong);
    for (unsigned k = 0; k < labels; k++)
        out->rows[k].auroc = auroc_of(scores, truths, count, labels, k, sorted);
    sum_up(out);
    if (count > 0) {
        out->exact_match = (double)exact / (double)count;
        out->hamming_loss = (double)wrong / (double)count / labels;
    }
out:
    free(sorted);
    return err->code;
}

void multi_label_close(struct multi_label *sets)
{
    free(sets->rows);
    *sets = (struct multi_label){0};
}
