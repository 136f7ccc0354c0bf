#include "learn/eval/prior_estimate.h"

#include "engine/base/doc_string.h"
#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/decide/class_prior.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shares ---- */

#define UNSEEN 0.5     /* inputs that are added to each label */
#define MOVED_MIN 1e-7 /* ends when a step changes the shares by less, summed over labels */

/* Scores of a set, and the mean of the scores after correction by factors. An arena owns both. */
struct scored {
    float *scores; /* [count, labels] */
    size_t count;
    unsigned labels;
    double *mean; /* [labels] */
};

static enum err_code open_scored(struct scored *out, const struct calibration_set *set,
                                 double temperature, struct arena *arena, struct err *err)
{
    const unsigned labels = set->label_count;
    *out = (struct scored){.count = set->count, .labels = labels};
    if (set->count == 0)
        return err_set(err, ERR_UNUSABLE, "there is no input to estimate a class prior from");
    out->scores = arena_alloc_array(arena, set->count, labels * sizeof *out->scores);
    out->mean = arena_alloc_array(arena, labels, sizeof *out->mean);
    if (arena->failed)
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

/* Finds the factors with which the mean scores are `shares`. */
static void correct(double *factors, struct scored *known, const double *shares)
{
    double moved = 1;
    for (unsigned step = 0; step < PRIOR_ESTIMATE_STEPS_MAX && moved > MOVED_MIN; step++) {
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
    for (; step < PRIOR_ESTIMATE_STEPS_MAX && moved > MOVED_MIN; step++) {
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

enum err_code prior_estimate_shares(double *shares, const struct calibration_set *known,
                                    const struct calibration_set *stream, double temperature,
                                    unsigned *steps, struct err *err)
{
    struct scored labelled, seen;
    struct arena arena;
    const unsigned labels = known->label_count;
    const double inputs = (double)known->count + UNSEEN * labels;
    arena_init(&arena);
    double *factors = arena_alloc_array(&arena, labels, sizeof *factors);
    if (open_scored(&labelled, known, temperature, &arena, err) ||
        open_scored(&seen, stream, temperature, &arena, err))
        goto out;
    for (unsigned c = 0; c < labels; c++) {
        factors[c] = 1;
        shares[c] = UNSEEN / inputs;
    }
    for (size_t i = 0; i < known->count; i++)
        shares[known->classes[known->items != NULL ? known->items[i] : i]] += 1 / inputs;
    correct(factors, &labelled, shares);
    *steps = maximise(shares, &seen, factors);
out:
    arena_deinit(&arena);
    return err->code;
}

/* ---- a stream ---- */

struct work {
    const struct assessment *assessment;
    const struct evaluation *stream;
    unsigned label_count;
    size_t *known_items, *items; /* usable labelled inputs; usable inputs of the stream */
    size_t known_count, count;
    double *shares, *known; /* [label_count]; counts of labelled inputs */
    float *scores;          /* [label_count] */
};

/* ---- inputs ---- */

/* Lists the usable inputs: all labelled ones, and those of the stream that the model does not call
 * unknown. */
static void list_items(struct work *work, struct prior_estimate *out)
{
    const struct evaluation *known = &work->assessment->evaluation;
    for (size_t i = 0; i < known->count; i++) {
        if (known->problems[i] != NULL)
            continue;
        work->known[work->assessment->classes[i]]++;
        work->known_items[work->known_count++] = i;
    }
    for (size_t i = 0; i < work->stream->count; i++) {
        struct judgement judgement;
        if (work->stream->problems[i] != NULL)
            continue;
        evaluation_judge(work->stream, work->assessment->model, i, work->scores, &judgement);
        if (judgement.decision == DECISION_UNKNOWN)
            out->unknown++;
        else
            work->items[work->count++] = i;
    }
    out->count = work->count;
}

static struct calibration_set set_of(const struct evaluation *evaluation, const unsigned *classes,
                                     const size_t *items, size_t count)
{
    return (struct calibration_set){.logits = evaluation->logits,
                                    .classes = classes,
                                    .items = items,
                                    .count = count,
                                    .label_count = evaluation->label_count};
}

/* ---- changed answers ---- */

/* Answers again with the shifts of the estimate. They are relative to the counts that the model was
 * fitted for; if it has none, to those that a calibration on the labelled inputs would write. */
static enum err_code answer_again(struct work *work, struct prior_estimate *out, struct err *err)
{
    const struct engine_info *info = engine_describe(work->assessment->model);
    struct class_prior prior = {.kind = CLASS_PRIOR_COUNTS, .expected = work->shares};
    const double *fitted = info->class_prior->fitted;
    struct evaluation then = *work->stream;
    struct arena arena;
    arena_init(&arena);
    then.shifted = NULL;
    if (!class_prior_refit(&prior, fitted != NULL ? fitted : work->known, work->label_count, &arena,
                           err))
        evaluation_shift(&then, prior.shifts, info->temperature, err);
    for (size_t i = 0; i < work->count && err->code == ERR_OK; i++) {
        const unsigned before = evaluation_argmax(work->stream, work->items[i]);
        const unsigned after = evaluation_argmax(&then, work->items[i]);
        out->labels[before].now++;
        out->labels[after].then++;
        out->moved += before != after;
    }
    free(then.shifted);
    arena_deinit(&arena);
    return err->code;
}

static enum err_code estimate(struct prior_estimate *out, struct work *work, struct err *err)
{
    const struct assessment *assessment = work->assessment;
    const struct calibration_set known =
        set_of(&assessment->evaluation, assessment->classes, work->known_items, work->known_count);
    const struct calibration_set stream = set_of(work->stream, NULL, work->items, work->count);
    if (prior_estimate_shares(work->shares, &known, &stream,
                              engine_describe(assessment->model)->temperature, &out->steps, err) ||
        answer_again(work, out, err))
        return err->code;
    for (unsigned c = 0; c < work->label_count; c++) {
        out->labels[c].share = work->shares[c];
        out->labels[c].known = work->known[c] / (double)work->known_count;
    }
    return ERR_OK;
}

enum err_code prior_estimate_measure(struct prior_estimate *out,
                                     const struct assessment *assessment,
                                     const struct evaluation *stream, struct err *err)
{
    const struct engine_info *info = engine_describe(assessment->model);
    const size_t labels = info->label_count, known = assessment->evaluation.count;
    struct work work = {
        .assessment = assessment, .stream = stream, .label_count = info->label_count};
    struct arena arena;
    *out = (struct prior_estimate){0};
    if (strcmp(info->scores, "softmax") != 0 || info->is_zero_shot)
        return err_set(
            err, ERR_UNSUPPORTED,
            "a class prior is estimated for models that give one of several fixed labels");
    out->labels = calloc(labels, sizeof *out->labels);
    if (out->labels == NULL)
        return err_no_memory(err, labels * sizeof *out->labels);
    arena_init(&arena);
    work.known_items = arena_alloc_array(&arena, known, sizeof *work.known_items);
    work.items = arena_alloc_array(&arena, stream->count, sizeof *work.items);
    work.shares = arena_alloc_array(&arena, labels, sizeof *work.shares);
    work.known = arena_alloc_array(&arena, labels, sizeof *work.known);
    work.scores = arena_alloc_array(&arena, labels, sizeof *work.scores);
    if (arena.failed) {
        err_no_memory(err, (known + stream->count) * sizeof *work.items);
    } else {
        list_items(&work, out);
        estimate(out, &work, err);
    }
    arena_deinit(&arena);
    return err->code;
}

void prior_estimate_close(struct prior_estimate *estimate)
{
    free(estimate->labels);
    *estimate = (struct prior_estimate){0};
}

/* ---- output ---- */

void prior_estimate_print(const struct prior_estimate *estimate,
                          const struct assessment *assessment, const char *path, FILE *file)
{
    const struct engine_info *info = engine_describe(assessment->model);
    fprintf(file, "\nestimated class prior of %s: %zu inputs, %zu unknown ones left out\n", path,
            estimate->count, estimate->unknown);
    fputs("    labelled  estimated  answers now   with it\n", file);
    for (unsigned c = 0; c < info->label_count; c++) {
        const struct prior_estimate_label *label = &estimate->labels[c];
        fprintf(file, "  %8.3f %% %8.3f %%  %11zu  %8zu  %s\n", 100 * label->known,
                100 * label->share, label->now, label->then, info->labels[c]);
    }
    fprintf(file, "%zu of %zu answers would change\n", estimate->moved, estimate->count);
    if (info->class_prior->fitted == NULL)
        fputs("the model has no fitted_prior yet: --calibrate writes it\n", file);
}

enum err_code prior_estimate_write(const struct prior_estimate *estimate,
                                   const struct assessment *assessment, const char *folder,
                                   struct err *err)
{
    enum { DIGITS = 6 };
    const struct engine_info *info = engine_describe(assessment->model);
    char path[PATH_MAX];
    struct memory_file text;
    if (file_path(path, folder, "class_prior.json", err) || memory_file_open(&text, err))
        return err->code;
    for (unsigned c = 0; c < info->label_count; c++) {
        fputs(c == 0 ? "{" : ",\n ", text.stream);
        doc_string_write(text.stream, info->labels[c], strlen(info->labels[c]));
        fprintf(text.stream, ": %.*g", DIGITS, estimate->labels[c].share);
    }
    fputs("}\n", text.stream);
    return memory_file_save(&text, path, err);
}
