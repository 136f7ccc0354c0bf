#include "learn/train/loop/judge.h"

#include "engine/decide/argmax.h"
#include "learn/eval/measure/confusion.h"
#include "learn/eval/measure/number_errors.h"

#include <math.h>
#include <stdlib.h>

/* Counts that add up over the batches. */
struct tally {
    double loss;
    size_t judged, hits;
    struct confusion confusion; /* one label an input */
    size_t *labels;             /* [labels, 3] several labels an input: true, given, both */
    double *answered, *right;   /* [outputs, inputs] of a regression; right follows answered */
};

/* A number of output k from its standardised value. A single output is measured in the data's
 * unit; several, whose units differ, in deviations. */
static double in_unit(const struct numbers *numbers, unsigned k, float z)
{
    if (numbers->count > 1)
        return (double)z;
    return numbers->scale.mean[k] + numbers->scale.deviation[k] * (double)z;
}

static void count_row(const struct judge *judge, struct tally *tally, size_t item,
                      const float *logits, float *dlogits)
{
    const struct loss *loss = judge->loss;
    const float *target = judge->items->targets + item * loss->labels;
    struct loss own = *loss;
    own.teacher_share = 0;
    tally->loss += loss_run(&own, logits, target, NULL, 0, dlogits);
    tally->judged++;
    if (judge->numbers != NULL) {
        const size_t count = judge->items->count;
        for (unsigned k = 0; k < judge->numbers->count; k++) {
            tally->answered[k * count + item] = in_unit(judge->numbers, k, logits[k]);
            tally->right[k * count + item] = in_unit(judge->numbers, k, target[k]);
        }
        return;
    }
    if (loss->scores == SCORES_SOFTMAX) {
        confusion_add(&tally->confusion, judge->items->classes[item], argmax(logits, loss->labels));
        return;
    }
    for (unsigned k = 0; k < loss->labels; k++) {
        bool is_true = target[k] >= 0.5f, is_given = logits[k] > 0;
        tally->labels[3 * k] += is_true;
        tally->labels[3 * k + 1] += is_given;
        tally->labels[3 * k + 2] += is_true && is_given;
        tally->hits += is_true == is_given;
    }
}

static enum err_code count_rows(const struct judge *judge, struct learner *learner,
                                const struct data_loader *loader, size_t first, struct tally *tally,
                                struct err *err)
{
    size_t labels = judge->loss->labels;
    float *logits = malloc((loader->rows + 1) * labels * sizeof *logits);
    if (logits == NULL)
        return err_no_memory(err, loader->rows * labels * sizeof *logits);
    learner_logits(learner, loader, logits);
    for (size_t row = 0; row < loader->rows; row++)
        count_row(judge, tally, first + row, logits + row * labels, logits + loader->rows * labels);
    free(logits);
    return ERR_OK;
}

static enum err_code run_batches(const struct judge *judge, struct learner *learner,
                                 struct data_loader *loader, struct tally *tally, struct err *err)
{
    bool is_mlm = learner->setup.head == HEAD_MLM;
    const struct corpus_items *items = judge->items;
    for (size_t first = 0; first < items->count; first += loader->rows) {
        size_t left = items->count - first;
        unsigned count = left < loader->rows_max ? (unsigned)left : loader->rows_max;
        struct data_loader_order order = {
            .view = &judge->view, .masks = is_mlm, .seed = judge->seed, .position = first};
        if (data_loader_prepare(loader, network_pool(learner->network), items->item + first, count,
                                &order, err))
            return err->code;
        if (is_mlm)
            learner_words(learner, loader, &tally->loss, &tally->judged, &tally->hits, NULL, err);
        else
            count_rows(judge, learner, loader, first, tally, err);
        if (err->code != ERR_OK)
            return err->code;
        if (judge->progress != NULL)
            judge->progress(judge->context, first + count);
    }
    return ERR_OK;
}

static enum err_code sum_up_numbers(const struct judge *judge, const struct tally *tally,
                                    struct judge_result *out, struct err *err)
{
    const unsigned outputs = judge->numbers->count;
    const size_t count = judge->items->count;
    for (unsigned k = 0; k < outputs; k++) {
        struct number_errors errors;
        if (number_errors_measure(&errors, tally->answered + k * count, tally->right + k * count,
                                  count, err))
            return err->code;
        out->rmse += errors.root_mean_square * errors.root_mean_square / outputs;
        out->rmse_mean += errors.standard_deviation * errors.standard_deviation / outputs;
    }
    out->rmse = sqrt(out->rmse);
    out->rmse_mean = sqrt(out->rmse_mean);
    out->loss = tally->loss / (double)tally->judged;
    return ERR_OK;
}

static void sum_up(const struct judge *judge, struct tally *tally, bool is_mlm,
                   struct judge_result *out)
{
    double judged = (double)tally->judged;
    out->loss = tally->loss / judged;
    if (is_mlm) {
        out->accuracy = (double)tally->hits / judged;
    } else if (judge->loss->scores == SCORES_SIGMOID) {
        const unsigned labels = judge->loss->labels;
        double f1 = 0; /* of all labels */
        for (unsigned k = 0; k < labels; k++) {
            const size_t *counts = &tally->labels[3 * k];
            if (counts[0] + counts[1] > 0)
                f1 += 2.0 * (double)counts[2] / (double)(counts[0] + counts[1]);
        }
        out->accuracy = (double)tally->hits / judged / labels;
        out->macro_f1 = f1 / labels;
    } else {
        confusion_finish(&tally->confusion);
        out->accuracy = tally->confusion.accuracy;
        out->macro_f1 = tally->confusion.macro_f1;
    }
}

static void close_tally(struct tally *tally)
{
    confusion_close(&tally->confusion);
    free(tally->labels);
    free(tally->answered);
}

static enum err_code open_tally(struct tally *out, const struct judge *judge, unsigned labels,
                                struct err *err)
{
    const size_t numbers = judge->numbers != NULL ? labels * judge->items->count : 0;
    *out = (struct tally){.labels = calloc(3 * (size_t)labels, sizeof *out->labels),
                          .answered = calloc(2 * numbers + 1, sizeof *out->answered)};
    if (out->labels == NULL || out->answered == NULL ||
        confusion_open(&out->confusion, labels, err)) {
        close_tally(out);
        return err_no_memory(err, (3 * labels + 2 * numbers) * sizeof *out->labels);
    }
    out->right = out->answered + numbers;
    return ERR_OK;
}

enum err_code judge_run(const struct judge *judge, struct learner *learner,
                        struct data_loader *loader, struct judge_result *out, struct err *err)
{
    const bool is_mlm = learner->setup.head == HEAD_MLM;
    const bool is_embedding = learner->setup.head == HEAD_EMBEDDING;
    const bool has_labels = !is_mlm && !is_embedding && judge->tags == NULL && judge->texts == NULL;
    unsigned labels = has_labels ? judge->loss->labels : 1;
    struct tally tally;
    *out = (struct judge_result){0};
    if (open_tally(&tally, judge, labels, err))
        return err->code;
    const struct samples *samples = loader->samples;
    loader->samples = judge->items->part->samples;
    learner_pause(learner);
    if (is_embedding)
        judge_vectors(judge, learner, loader, out, err);
    else if (judge->texts != NULL)
        judge_texts(judge, learner, loader, out, err);
    else if (judge->tags != NULL)
        judge_tags(judge, learner, loader, out, err);
    else if (!run_batches(judge, learner, loader, &tally, err) && tally.judged > 0) {
        if (judge->numbers != NULL)
            sum_up_numbers(judge, &tally, out, err);
        else
            sum_up(judge, &tally, is_mlm, out);
    }
    learner_resume(learner);
    loader->samples = samples;
    close_tally(&tally);
    return err->code;
}
