#include "learn/train/conclude.h"

#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "learn/eval/assessment.h"
#include "learn/eval/calibrate.h"
#include "learn/eval/fit/attnd_json.h"
#include "learn/eval/fit/logit_adjustment.h"
#include "learn/ngrams/ngram_branch.h"
#include "learn/train/checkpoint/export.h"
#include "learn/train/conclude_once.h"
#include "learn/train/loop/run.h"
#include "learn/train/loop/run_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KNOWN_MAX = 20000,   /* training inputs that the OOD score is fitted on */
    LISTED_MAX = 100000, /* training inputs whose n-grams are learnt: about 40 KB each meanwhile */
};

struct closing {
    struct run *run;
    const struct conclude_progress *progress;
    struct dataset validation, known, listed; /* views of the corpus */
    struct assessment assessment;
    float *shifts; /* [labels] fitted class biases; NULL: none */
};

/* ---- the checkpoint ---- */

static enum err_code write_values(const struct run *run, const float *values, struct err *err)
{
    struct export what = {.parameters = &run->learner.parameters,
                          .values = values,
                          .dtype = strcmp(run->options->store, "f16") == 0 ? DTYPE_F16 : DTYPE_F32,
                          .source_dir = run->options->model,
                          .tokens_max = run->options->tokens};
    return export_checkpoint(run->options->out, &what, err);
}

/* A regression's weights are trained for standardised numbers, and written for those of the data.
 */
static enum err_code write_checkpoint(const struct run *run, struct err *err)
{
    const size_t bytes = run->learner.parameters.numbers * sizeof(float);
    if (run->task != TRAIN_REGRESS)
        return write_values(run, run->learner.best, err);
    float *folded = malloc(bytes);
    if (folded == NULL)
        return err_no_memory(err, bytes);
    memcpy(folded, run->learner.best, bytes);
    head_scale_fold(&run->corpus.numbers.scale, &run->learner.parameters, folded);
    write_values(run, folded, err);
    free(folded);
    return err->code;
}

/* Drops the decisions of an earlier attnd.json, which are of other weights. Keeps how inputs are
 * read. */
static enum err_code forget_decisions(const struct run *run, struct err *err)
{
    const struct spec *source = &run->spec;
    struct spec kept = *source;
    char *path = NULL;
    if (asprintf(&path, "%s/attnd.json", run->options->out) < 0)
        return err_no_memory(err, strlen(run->options->out));
    kept.version = run->options->version;
    kept.temperature = 1;
    kept.class_codes = NULL;
    kept.class_prior = (struct class_prior){0};
    kept.reference = NULL;
    kept.precisions = (struct precision_record){0};
    kept.head_file = NULL; /* its examples are of another encoder */
    kept.token_pruning = (struct token_pruning){0};
    kept.policy = policy_unfitted(&source->policy);
    kept.policy.learnt_grey = false; /* these images may have colours */
    const struct long_text *long_text = &source->long_text;
    const bool reads_as_usual = run->task == TRAIN_TAG
                                    ? long_text->in_windows && long_text->stride == 0 &&
                                          source->aggregation == AGGREGATION_SIMPLE
                                    : !long_text->in_windows;
    const bool says = ((run->task == TRAIN_REGRESS || run->task == TRAIN_EMBED ||
                        run->task == TRAIN_PAIR || run->task == TRAIN_TAG) &&
                       strcmp(kept.version, "1") != 0) ||
                      source->grey16_minmax || kept.policy.accepts_truncated ||
                      kept.policy.says_uncalibrated || !reads_as_usual ||
                      !image_reading_is_default(&source->image_reading);
    if (says)
        attnd_json_write(run->options->out, &kept, err);
    else
        file_remove(path, err);
    free(path);
    return err->code;
}

/* ---- evaluations ---- */

static void pass_on(void *context, size_t done)
{
    const struct closing *closing = context;
    closing->progress->call(closing->progress->context, done, closing->validation.count);
}

static enum err_code assess(struct closing *closing, struct err *err)
{
    const struct train_options *options = closing->run->options;
    struct assessment_options how = {
        .dir = options->out,
        .target_precision = options->target_precision,
        .chooses_thresholds = true,
        .evaluation = {.threads = closing->run->threads,
                       .progress = closing->progress->call != NULL ? pass_on : NULL,
                       .context = closing}};
    assessment_close(&closing->assessment);
    const char *path = options->validation != NULL ? options->validation : options->data;
    if (assessment_open(&closing->assessment, &how, err) ||
        assessment_take(&closing->assessment, &closing->validation, path, err))
        return err->code;
    return assessment_run(&closing->assessment, err);
}

/* ---- n-grams ---- */

/* Adds a table of n-grams to the checkpoint with the weights as they were trained. Later
 * assessments include it. */
static enum err_code add_ngrams(struct closing *closing, struct conclusion *out, struct err *err)
{
    const struct assessment *assessment = &closing->assessment;
    const struct engine_info *info = engine_describe(assessment->model);
    const struct ngram_settings settings = train_ngrams(closing->run->options);
    if (settings.characters == 0)
        return ERR_OK;
    unsigned *classes = calloc(closing->listed.count, sizeof *classes);
    const struct ngram_data data = {.learnt = &closing->listed,
                                    .learnt_classes = classes,
                                    .validation = &closing->validation,
                                    .classes = assessment->classes,
                                    .evaluation = &assessment->evaluation,
                                    .threads = closing->run->threads};
    if (classes == NULL)
        err_no_memory(err, closing->listed.count * sizeof *classes);
    else if (!dataset_match(&closing->listed, info->labels, info->label_count, classes, err))
        ngram_branch_add(closing->run->options->out, &data, &settings, &out->ngrams, err);
    free(classes);
    if (err->code != ERR_OK || out->ngrams.weight == 0)
        return err->code;
    return assess(closing, err);
}

/* ---- class biases ---- */

/* Adds `shifts` [labels] to logits that were computed without them; NULL: does nothing. */
static void shift_logits(struct evaluation *evaluation, const float *shifts)
{
    const unsigned labels = evaluation->label_count;
    for (size_t i = 0; shifts != NULL && i < evaluation->count * labels; i++)
        evaluation->logits[i] += shifts[i % labels];
}

static enum err_code fit_biases(struct closing *closing, struct conclusion *out, struct err *err)
{
    struct assessment *assessment = &closing->assessment;
    struct logit_adjustment biases;
    if (strcmp(closing->run->options->class_biases, "fit") != 0)
        return ERR_OK;
    struct evaluation *evaluation = &assessment->evaluation;
    size_t *items = calloc(evaluation->count, sizeof *items);
    closing->shifts = calloc(evaluation->label_count, sizeof *closing->shifts);
    if (items == NULL || closing->shifts == NULL) {
        err_no_memory(err, evaluation->count * sizeof *items);
        goto out;
    }
    struct calibration_set set = {.logits = evaluation->logits,
                                  .classes = assessment->classes,
                                  .items = items,
                                  .label_count = evaluation->label_count};
    for (size_t i = 0; i < evaluation->count; i++)
        if (evaluation->problems[i] == NULL)
            items[set.count++] = i;
    if (logit_adjustment_fit(&biases, &set, closing->shifts, err))
        goto out;
    out->macro_f1_before = biases.before;
    out->macro_f1_crossed = biases.crossed;
    struct run *run = closing->run;
    const struct parameters_map *map = &run->learner.parameters.map;
    for (unsigned c = 0; c < run->spec.label_count; c++) {
        run->learner.best[map->classifier_bias + c] += closing->shifts[c];
        if (map->distillation_bias != SIZE_MAX)
            run->learner.best[map->distillation_bias + c] += closing->shifts[c];
    }
    shift_logits(evaluation, closing->shifts);
out:
    free(items);
    return err->code != ERR_OK ? err->code : assessment_measure(assessment, err);
}

/* ---- attnd.json ---- */

/* For OOD methods that measure a distance: they need the features of training inputs, which takes
 * as long as an epoch. */
static enum err_code decide_by_distance(struct closing *closing, struct calibrate *how,
                                        struct err *err)
{
    const struct engine_model *model = closing->assessment.model;
    const struct engine_info *info = engine_describe(model);
    const struct evaluation_options options = {.threads = closing->run->threads, .features = true};
    struct evaluation known = {0};
    unsigned *classes = calloc(closing->known.count, sizeof *classes);
    how->known = &known;
    how->known_classes = classes;
    how->known_data = &closing->known;
    if (classes == NULL) {
        err_no_memory(err, closing->known.count * sizeof *classes);
        goto out;
    }
    if (dataset_match(&closing->known, info->labels, info->label_count, classes, err) ||
        evaluation_run(&known, model, &closing->known, &options, err))
        goto out;
    shift_logits(&known, closing->shifts);
    calibrate_write(how, err);
out:
    evaluation_close(&known);
    free(classes);
    return err->code;
}

static enum err_code decide(struct closing *closing, struct err *err)
{
    const char *name = closing->run->options->ood_method;
    struct calibrate how = {.assessment = &closing->assessment,
                            .method = OOD_NONE,
                            .version = closing->run->options->version};
    for (int method = 1; method < OOD_METHOD_COUNT; method++)
        if (strcmp(name, ood_method_name((enum ood_method)method)) == 0)
            how.method = (enum ood_method)method;
    if (how.method != OOD_NONE && how.method != OOD_ENERGY)
        return decide_by_distance(closing, &how, err);
    return calibrate_write(&how, err);
}

/* ---- the report ---- */

static enum err_code write_report(struct closing *closing, struct err *err)
{
    const struct history *history = &closing->run->history;
    struct report *report = &closing->assessment.report;
    struct report_epoch *epochs =
        conclude_epochs(history, offsetof(struct history_epoch, macro_f1), err);
    if (epochs == NULL)
        return err->code;
    report->epochs = epochs;
    report->epoch_count = history->count;
    assessment_write(&closing->assessment, closing->run->options->out, err);
    report->epochs = NULL;
    free(epochs);
    return err->code;
}

static enum err_code sum_up(const struct assessment *assessment, struct conclusion *out,
                            struct err *err)
{
    const struct selective_decisions *decisions = &assessment->decisions;
    out->judged = true;
    out->accuracy = assessment->confusion.accuracy;
    out->macro_f1 = assessment->confusion.macro_f1;
    out->ece = assessment->findings.served.ece;
    out->temperature = assessment->findings.served.temperature;
    if (decisions->count > 0)
        out->automatic = (double)decisions->automatic / (double)decisions->count;
    if (decisions->automatic > 0)
        out->right = (double)decisions->right / (double)decisions->automatic;
    struct memory_file lines;
    if (memory_file_open(&lines, err))
        return err->code;
    assessment_print_remarks(assessment, lines.stream);
    memory_file_close(&lines, err);
    out->remarks = lines.bytes;
    return err->code;
}

/* ---- all of it ---- */

/* A view of every n-th training input, at most `max`. */
static enum err_code view_train(struct closing *closing, size_t max, struct dataset *out,
                                struct err *err)
{
    struct corpus *corpus = &closing->run->corpus;
    struct corpus_items some = corpus->train;
    const size_t step = (some.count + max - 1) / max;
    some.item = arena_alloc_array(&corpus->arena, some.count / step + 1, sizeof *some.item);
    if (some.item == NULL)
        return err_no_memory(err, some.count * sizeof *some.item);
    some.count = 0;
    for (size_t i = 0; i < corpus->train.count; i += step)
        some.item[some.count++] = corpus->train.item[i];
    return corpus_view(corpus, &some, out, err);
}

enum err_code conclude(struct run *run, const struct conclude_progress *progress,
                       struct conclusion *out, struct err *err)
{
    struct closing closing = {.run = run, .progress = progress};
    *out = (struct conclusion){0};
    if (run_output_keep(run, err) || forget_decisions(run, err) || write_checkpoint(run, err))
        return err->code;
    if (run->task != TRAIN_CLASSIFY)
        return conclude_once(run, progress, out, err) ? err->code : run_output_finish(run, err);
    if (view_train(&closing, KNOWN_MAX, &closing.known, err) ||
        view_train(&closing, LISTED_MAX, &closing.listed, err) ||
        corpus_view(&run->corpus, &run->corpus.validation, &closing.validation, err) ||
        assess(&closing, err) || add_ngrams(&closing, out, err) || fit_biases(&closing, out, err) ||
        decide(&closing, err) || write_checkpoint(run, err) || assess(&closing, err) ||
        write_report(&closing, err) || sum_up(&closing.assessment, out, err))
        goto out;
    run_output_finish(run, err);
out:
    assessment_close(&closing.assessment);
    free(closing.shifts);
    return err->code;
}
