/* attnd-eval - a labelled data set through a checkpoint, offline and with all cores: how good the
 * model is, and whether a lower precision gives the same answers as fp32. The parts are
 * learn/eval's, so that a trainer prints the same report; this file has the options, the sequence
 * of steps and progress.
 *
 * Errors in options, models and data are found before anything is computed; the exit status is then
 * 2. With --against the second precision runs first. */
#include "engine/base/cpu.h"
#include "engine/base/openblas.h"
#include "engine/cli/cli.h"
#include "engine/selftest.h"
#include "learn/eval/assessment.h"
#include "learn/eval/calibrate.h"
#include "learn/eval/known_inputs.h"
#include "learn/eval/measure/progress.h"
#include "learn/eval/prior_estimate.h"
#include "learn/eval/report/explanations_report.h"
#include "learn/eval/report/report_strange.h"
#include "learn/eval/selftest_write.h"
#include "learn/eval/unlike.h"
#include "learn/train/checkpoint/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_RUNTIME = 1, EXIT_USAGE = 2 };
enum { THREADS_MAX = 1024, LIMIT_MAX = 1000 * 1000 * 1000, EXPLAIN_INPUTS = 500, EXPLAIN_SEED = 1 };

struct eval {
    struct assessment_options how;
    struct dataset_options fields;
    const char *data, *against, *ood_data, *examples, *stream, *out;
    const char *unseen[STRANGENESS_LABELS_MAX]; /* labels of the data that the model lacks */
    unsigned unseen_count;
    double agree_min; /* percent; negative: not checked */
    bool json, calibrates, refers, explains;
    struct explanations_options explain; /* inputs_max 0: not given */
    const char *fill;                    /* of explain; NULL: not given */
    unsigned selftest_cases;             /* to write; 0: none */

    struct dataset dataset, unseen_data;
    struct assessment assessment;
    struct strangeness strangeness; /* of unseen_data */

    /* --against */
    struct engine_model *other_model;
    struct evaluation other;
    struct confusion other_confusion;
    struct agreement agreement;
};

/* ---- options ---- */

static enum err_code set_fill(const struct cli_option *option, void *target, const char *value,
                              struct err *err)
{
    struct eval *eval = target;
    (void)option;
    eval->fill = value;
    return perturbation_find_fill(value, &eval->explain.fill, err);
}

static enum err_code add_unseen(const struct cli_option *option, void *target, const char *value,
                                struct err *err)
{
    struct eval *eval = target;
    if (eval->unseen_count == STRANGENESS_LABELS_MAX)
        return err_set(err, ERR_UNUSABLE, "--%s: at most %d labels", option->name,
                       STRANGENESS_LABELS_MAX);
    eval->unseen[eval->unseen_count++] = value;
    return ERR_OK;
}

#define FIELD(field) CLI_FIELD(struct eval, field)
#define COUNT(field, max_) FIELD(field), .value = "N", .min = 1, .max = max_

static const struct cli_option options[] = {
    {.name = "model",
     FIELD(how.dir),
     .value = "DIR",
     .is_required = true,
     .help = "The checkpoint directory."},
    {.name = "data",
     FIELD(data),
     .value = "PATH",
     .is_required = true,
     .help = "The labelled inputs: .jsonl, .csv or a folder."},
    {.name = "dtype",
     FIELD(how.engine.dtype),
     .value = "NAME",
     .help = "The precision of the linear layers: f32 (default), bf16 or int8."},
    {.name = "against",
     FIELD(against),
     .value = "NAME",
     .help = "Runs a second time in this precision and compares."},
    {.name = "agree-min",
     FIELD(agree_min),
     .value = "PERCENT",
     .max = 100,
     .help = "Exits 1 if fewer winners agree with --against."},
    {.name = "linear-backend",
     FIELD(how.engine.linear_backend),
     .value = "NAME",
     .help = "As attnd's linear_backend; --against runs with its default."},
    {.name = "threads",
     COUNT(how.evaluation.threads, THREADS_MAX),
     .help = "Compute threads (default: all that the cgroup allows)."},
    {.name = "limit", COUNT(fields.items_max, LIMIT_MAX), .help = "Only the first N inputs."},
    {.name = "text-field",
     FIELD(fields.text_field),
     .value = "NAME",
     .fallback = "text",
     .help = "The member or column that holds the text."},
    {.name = "image-field",
     FIELD(fields.image_field),
     .value = "NAME",
     .fallback = "image",
     .help = "The one that holds the image's path."},
    {.name = "label-field",
     FIELD(fields.label_field),
     .value = "NAME",
     .fallback = "label",
     .help = "The one that holds the label."},
    {.name = "target-precision",
     FIELD(how.target_precision),
     .value = "SHARE",
     .fallback = "0.95",
     .min = 1e-9,
     .max = 1,
     .help = "The share of automatic answers that must be right."},
    {.name = "purity", .type = CLI_ALIAS, .value = "target-precision"},
    {.name = "class-prior",
     FIELD(how.engine.class_prior),
     .value = "PRIOR",
     .help = "Measures with another class_prior than attnd.json's: natural, equal, or a file of "
             "{label: count}; and what to expect of a stream with these shares."},
    {.name = "estimate-prior",
     FIELD(stream),
     .value = "PATH",
     .help = "Estimates how often each label occurs among these inputs, which need no labels; "
             "with --out also as class_prior.json."},
    {.name = "unseen",
     .type = CLI_OTHER,
     .value = "LABEL",
     .apply = add_unseen,
     .help = "Inputs of this label, which the model has not learnt, tell how well such stand out "
             "and how many pass as automatic; may be given again."},
    {.name = "out",
     FIELD(out),
     .value = "DIR",
     .help = "Also writes report.json, and report.html, a page that needs no other file."},
    {.name = "calibrate",
     FIELD(calibrates),
     .help = "Writes the model's attnd.json: temperature, thresholds for --target-precision, OOD "
             "score, the counts of the labels, and what live predictions are compared with; all "
             "without class_prior, which stays."},
    {.name = "examples",
     FIELD(examples),
     .value = "PATH",
     .help = "With --calibrate: labelled inputs that the model learnt, of which it shall carry "
             "some, to compare new ones with (default: those that it has, else the data)."},
    {.name = "reference",
     FIELD(refers),
     .help = "Writes only what live predictions are compared with; the rest of attnd.json stays."},
    {.name = "write-selftest",
     COUNT(selftest_cases, SELFTEST_CASES_MAX),
     .help = "Writes the model's " SELFTEST_FILE ": N inputs of different labels that it answers "
             "right, with their scores, which attnd wants to see before it serves it."},
    {.name = "ood-data",
     FIELD(ood_data),
     .value = "PATH",
     .help = "Inputs unlike those: how well ood_score tells them apart."},
    {.name = "strange", .type = CLI_ALIAS, .value = "ood-data"},
    {.name = "explain",
     FIELD(explains),
     .help = "Also measures how faithful each method's explanations are; with --out, as a page, "
             "too."},
    {.name = "explain-inputs",
     COUNT(explain.inputs_max, LIMIT_MAX),
     .help = "Explains so many inputs, drawn from the data (default: 500)."},
    {.name = "explain-fill",
     .type = CLI_OTHER,
     .value = "NAME",
     .apply = set_fill,
     .help = "What removed patches become: median (default), clip (to the median) or mean."},
    {.name = "json", FIELD(json), .help = "Prints the report as one JSON object."},
};

static const struct cli cli = {
    .program = "attnd-eval",
    .usage = "attnd-eval --model DIR --data FILE.jsonl|FILE.csv|FOLDER [OPTION]...",
    .summary =
        "Runs labelled inputs through a Hugging Face checkpoint directory and reports how\n"
        "well it classifies them: accuracy and F1 with intervals, each class, the confusion\n"
        "matrix, calibration before and after fitting a temperature, the share that can go out\n"
        "without a person and from which scores on, and the surest mistakes. A list has\n"
        "{\"text\", \"label\"} or {\"image\", \"label\"}, an image being a path relative to the\n"
        "list; a folder has <class>/NAME.png or .jpg.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};

static enum err_code parse(struct eval *eval, int argc, char **argv, enum cli_action *action,
                           struct err *err)
{
    eval->agree_min = -1;
    if (cli_parse(&cli, argc, argv, eval, action, err) || *action != CLI_RUN)
        return err->code;
    if (eval->agree_min >= 0 && eval->against == NULL)
        return err_set(err, ERR_UNUSABLE, "--agree-min needs --against, which it judges by");
    if (eval->calibrates && eval->refers)
        return err_set(err, ERR_UNUSABLE,
                       "--calibrate writes the reference, too: give one of it "
                       "and --reference");
    if (eval->examples != NULL && !eval->calibrates)
        return err_set(err, ERR_UNUSABLE, "--examples needs --calibrate, which chooses them");
    if (eval->calibrates && eval->how.engine.class_prior != NULL)
        return err_set(err, ERR_UNUSABLE,
                       "--calibrate is without --class-prior: temperature and thresholds hold for "
                       "the labels as the data have them");
    if (!eval->explains && (eval->explain.inputs_max > 0 || eval->fill != NULL))
        return err_set(err, ERR_UNUSABLE, "--explain-%s needs --explain",
                       eval->fill != NULL ? "fill" : "inputs");
    if (eval->selftest_cases > 0 && eval->calibrates)
        return err_set(err, ERR_UNUSABLE,
                       "--write-selftest needs a run of its own: --calibrate changes the scores");
    eval->how.tells_expected = eval->how.engine.class_prior != NULL;
    if (eval->calibrates)
        eval->how.engine.class_prior = "natural";
    if (eval->how.evaluation.threads == 0)
        eval->how.evaluation.threads = cpu_quota_threads("");
    return ERR_OK;
}

/* ---- open ---- */

/* Before anything is computed: a run of an hour must not fail because its folder cannot be made. */
static enum err_code make_folder(const char *dir, struct err *err)
{
    if (dir == NULL || (mkdir(dir, 0777) == 0 || errno == EEXIST))
        return ERR_OK;
    return err_set(err, ERR_IO, "%s: cannot be made: %s", dir, strerror(errno));
}

static enum err_code open_models(struct eval *eval, struct err *err)
{
    struct engine_options other = {.dtype = eval->against,
                                   .class_prior = eval->how.engine.class_prior};
    if (assessment_open(&eval->assessment, &eval->how, err))
        return err->code;
    if (eval->against != NULL && engine_open(&eval->other_model, eval->how.dir, &other, err))
        return err_prefix(err, "%s: ", eval->how.dir);
    eval->fields.kind = engine_describe(eval->assessment.model)->kind;
    if (eval->fill != NULL && eval->fields.kind == ENGINE_TEXT)
        return err_set(err, ERR_UNUSABLE,
                       "--explain-fill is of images; removed words leave a text");
    return ERR_OK;
}

/* A label that the model has learnt is not unseen, whatever the data's inputs are. */
static enum err_code check_unseen(const struct eval *eval, struct err *err)
{
    const struct engine_info *info = engine_describe(eval->assessment.model);
    for (unsigned u = 0; u < eval->unseen_count; u++)
        for (unsigned i = 0; i < info->label_count; i++)
            if (strcmp(info->labels[i], eval->unseen[u]) == 0)
                return err_set(err, ERR_UNUSABLE,
                               "--unseen: the model has the label '%.60s': take one that was "
                               "trained without it",
                               eval->unseen[u]);
    return ERR_OK;
}

static enum err_code open_data(struct eval *eval, struct err *err)
{
    if (dataset_open(&eval->dataset, eval->data, &eval->fields, err) || eval->unseen_count == 0)
        return err->code;
    if (check_unseen(eval, err))
        return err->code;
    if (dataset_set_aside(&eval->dataset, eval->unseen, eval->unseen_count, &eval->unseen_data,
                          err))
        return err_prefix(err, "--unseen: %s: ", eval->data);
    return ERR_OK;
}

static enum err_code open_all(struct eval *eval, struct err *err)
{
    if (open_models(eval, err) || open_data(eval, err) ||
        assessment_take(&eval->assessment, &eval->dataset, eval->data, err))
        return err->code;
    char left_out[DATASET_SENTENCE_BYTES];
    dataset_describe_left_out(&eval->dataset, left_out);
    if (left_out[0] != '\0')
        fprintf(stderr, "attnd-eval: %s: %s\n", eval->data, left_out);
    return make_folder(eval->out, err);
}

static void close_all(struct eval *eval)
{
    assessment_close(&eval->assessment);
    evaluation_close(&eval->other);
    confusion_close(&eval->other_confusion);
    engine_close(eval->other_model);
    strangeness_close(&eval->strangeness);
    dataset_close(&eval->unseen_data);
    dataset_close(&eval->dataset);
}

/* ---- runs ---- */

/* Evaluation options with a progress line, if stderr is a terminal. */
static struct evaluation_options watched(const struct eval *eval, struct progress *progress,
                                         const char *name, size_t total)
{
    struct evaluation_options how = eval->how.evaluation;
    progress_start(progress, name, total);
    how.progress = progress->watched ? progress_show : NULL;
    how.context = progress;
    return how;
}

static enum err_code run_other(struct eval *eval, struct err *err)
{
    struct progress progress;
    struct evaluation_options how = watched(eval, &progress, eval->against, eval->dataset.count);
    evaluation_run(&eval->other, eval->other_model, &eval->dataset, &how, err);
    progress_end(&progress);
    if (err->code != ERR_OK)
        return err->code;
    return evaluation_measure(&eval->other, eval->assessment.classes, &eval->other_confusion, err);
}

static enum err_code run_assessment(struct eval *eval, struct err *err)
{
    struct assessment *assessment = &eval->assessment;
    struct progress progress;
    const char *dtype = engine_describe(assessment->model)->dtype;
    assessment->options.evaluation = watched(eval, &progress, dtype, eval->dataset.count);
    assessment_run(assessment, err);
    progress_end(&progress);
    return err->code;
}

static enum err_code run_unseen(struct eval *eval, struct err *err)
{
    struct progress progress;
    if (eval->unseen_count == 0)
        return ERR_OK;
    struct evaluation_options how = watched(eval, &progress, "unseen", eval->unseen_data.count);
    unlike_measure(&eval->strangeness, &eval->assessment, &eval->unseen_data, &how, err);
    progress_end(&progress);
    eval->assessment.report.unseen = &eval->strangeness;
    return err->code;
}

static enum err_code run_all(struct eval *eval, struct err *err)
{
    struct report *report = &eval->assessment.report;
    if (eval->against != NULL && run_other(eval, err))
        return err->code;
    if (run_assessment(eval, err) || run_unseen(eval, err))
        return err->code;
    if (eval->against == NULL)
        return ERR_OK;
    agreement_measure(&eval->agreement, &eval->assessment.evaluation, &eval->other);
    report->agreement = &eval->agreement;
    report->against =
        (struct report_run){.dtype = eval->against,
                            .linear_backend = engine_describe(eval->other_model)->linear_backend,
                            .evaluation = &eval->other,
                            .confusion = &eval->other_confusion};
    return ERR_OK;
}

/* ---- out-of-distribution inputs ---- */

static void print_separation(const struct eval *eval, const struct strangeness *strangeness)
{
    const struct engine_info *info = engine_describe(eval->assessment.model);
    const struct separation *all = &strangeness->groups[0].all;
    FILE *file = eval->json ? stderr : stdout;
    report_strange_print(strangeness, info, file);
    fprintf(file, "\nOOD data  %s: %zu inputs, told apart by %s with AUROC %.4f, FPR95 %.4f\n",
            eval->ood_data, all->strange, info->ood_method, all->auroc, all->fpr95);
}

static enum err_code run_ood_data(struct eval *eval, struct err *err)
{
    struct dataset dataset;
    struct strangeness strangeness = {0};
    struct dataset_options fields = eval->fields;
    struct progress progress;
    fields.labels_optional = true;
    if (!dataset_open(&dataset, eval->ood_data, &fields, err)) {
        struct evaluation_options how = watched(eval, &progress, "OOD data", dataset.count);
        unlike_measure(&strangeness, &eval->assessment, &dataset, &how, err);
        progress_end(&progress);
        if (err->code == ERR_OK)
            print_separation(eval, &strangeness);
    }
    strangeness_close(&strangeness);
    dataset_close(&dataset);
    return err->code;
}

/* ---- how often labels occur ---- */

static enum err_code put_estimate(const struct eval *eval, const struct evaluation *stream,
                                  struct err *err)
{
    struct prior_estimate estimate;
    const struct assessment *assessment = &eval->assessment;
    if (!prior_estimate_measure(&estimate, assessment, stream, err)) {
        prior_estimate_print(&estimate, assessment, eval->stream, eval->json ? stderr : stdout);
        if (eval->out != NULL)
            prior_estimate_write(&estimate, assessment, eval->out, err);
    }
    prior_estimate_close(&estimate);
    return err->code;
}

static enum err_code run_stream(const struct eval *eval, struct err *err)
{
    struct dataset dataset;
    struct dataset_options fields = eval->fields;
    struct evaluation evaluation = {0};
    struct progress progress;
    fields.labels_optional = true;
    if (!dataset_open(&dataset, eval->stream, &fields, err)) {
        struct evaluation_options how = watched(eval, &progress, "stream", dataset.count);
        how.features = true;
        evaluation_run(&evaluation, eval->assessment.model, &dataset, &how, err);
        progress_end(&progress);
        if (err->code == ERR_OK)
            put_estimate(eval, &evaluation, err);
    }
    evaluation_close(&evaluation);
    dataset_close(&dataset);
    return err->code != ERR_OK ? err_prefix(err, "--estimate-prior: ") : ERR_OK;
}

/* ---- explanations ---- */

static enum err_code put_explanations(const struct eval *eval,
                                      const struct explanations *explanations, struct err *err)
{
    const struct report *report = &eval->assessment.report;
    struct explanations_report out = {.model_name = report_model_name(report),
                                      .data_path = eval->data,
                                      .explanations = explanations};
    if (explanations_print(&out, eval->json ? stderr : stdout, err) || eval->out == NULL)
        return err->code;
    return explanations_write(&out, eval->out, err);
}

static enum err_code run_explanations(struct eval *eval, struct err *err)
{
    const struct assessment *assessment = &eval->assessment;
    const struct explanations_source source = {.model = assessment->model,
                                               .dataset = &eval->dataset,
                                               .evaluation = &assessment->evaluation,
                                               .classes = assessment->classes};
    struct explanations explanations;
    struct progress progress;
    struct explanations_options how = eval->explain;
    how.inputs_max = how.inputs_max > 0 ? how.inputs_max : EXPLAIN_INPUTS;
    how.threads = eval->how.evaluation.threads;
    how.seed = EXPLAIN_SEED;
    progress_start(&progress, "explaining",
                   how.inputs_max < eval->dataset.count ? how.inputs_max : eval->dataset.count);
    how.progress = progress.watched ? progress_show : NULL;
    how.context = &progress;
    explanations_run(&explanations, &source, &how, err);
    progress_end(&progress);
    if (err->code == ERR_OK)
        put_explanations(eval, &explanations, err);
    explanations_close(&explanations);
    return err->code;
}

/* ---- inputs that were learnt ---- */

enum { KNOWN_SHARE = 20 }; /* one in so many may be there by chance: blank wafers, empty logs */

/* Figures on them flatter, and a person who calibrates would believe them. */
static enum err_code warn_of_known(const struct eval *eval, struct err *err)
{
    const struct evaluation *evaluation = &eval->assessment.evaluation;
    struct err cause = {0};
    struct record record;
    bool found;
    record_read(eval->how.dir, &found, &record, &cause); /* a damaged one tells nothing */
    size_t known = record_count_known(&record, evaluation->digests, evaluation->count);
    if (known > evaluation->count / KNOWN_SHARE)
        fprintf(stderr,
                "attnd-eval: warning: %s%zu of %zu inputs are among those that this model learnt: "
                "%s; take inputs that it has not seen, as training's split.jsonl has them\n",
                record.is_sample ? "about " : "", known, evaluation->count,
                eval->calibrates ? "a temperature and thresholds fitted on them promise more than "
                                   "new inputs will keep"
                                 : "these figures flatter it");
    record_close(&record);
    return err_is_of_system(cause.code) ? err_set(err, cause.code, "%s", cause.text) : ERR_OK;
}

/* Pictures that are nearly black or nearly flat for the model. */
static void warn_of_contrast(const struct eval *eval)
{
    const struct contrast_count *count = &eval->assessment.evaluation.contrast;
    if (contrast_wants_minmax(count))
        fprintf(stderr,
                "attnd-eval: warning: of %zu 16-bit images %zu use less than a quarter of the "
                "grey levels: if the model learnt them stretched, its attnd.json lacks \"grey16\": "
                "\"minmax\"; if not, train it with --grey16 minmax\n",
                count->grey16, count->grey16_narrow);
    else if (contrast_is_low(count))
        fprintf(stderr,
                "attnd-eval: warning: %zu of %zu images use less than a quarter of the grey "
                "levels: the model sees little of them\n",
                count->dull, count->images);
}

/* ---- the self-test ---- */

static enum err_code write_selftest(const struct eval *eval, struct err *err)
{
    unsigned written;
    if (selftest_write(&eval->assessment, eval->selftest_cases, &written, err))
        return err_prefix(err, "--write-selftest: ");
    fprintf(stderr, "attnd-eval: %s/%s: %u cases\n", eval->how.dir, SELFTEST_FILE, written);
    return ERR_OK;
}

static enum err_code run_examples(struct eval *eval, struct known_inputs *known, struct err *err)
{
    struct progress progress;
    const struct evaluation_options how =
        watched(eval, &progress, "examples", known->dataset.count);
    known_inputs_run(known, eval->assessment.model, &how, err);
    progress_end(&progress);
    return err->code;
}

static enum err_code calibrate_with_examples(struct eval *eval, struct calibrate *how,
                                             struct err *err)
{
    struct known_inputs known;
    if (!known_inputs_open(&known, eval->assessment.model, eval->examples, &eval->fields, err) &&
        !run_examples(eval, &known, err)) {
        how->known = &known.evaluation;
        how->known_classes = known.classes;
        calibrate_write(how, err);
    }
    known_inputs_close(&known);
    return err->code;
}

/* A model that is served no longer because its scores were calibrated would surprise. */
static enum err_code calibrate(struct eval *eval, struct err *err)
{
    struct calibrate how = {.assessment = &eval->assessment, .method = OOD_NEIGHBOURS};
    struct selftest *selftest;
    if (eval->examples != NULL ? calibrate_with_examples(eval, &how, err)
                               : calibrate_write(&how, err))
        return err->code;
    if (selftest_open(&selftest, eval->how.dir, &(struct err){0}) != ERR_OK || selftest != NULL)
        fprintf(stderr,
                "attnd-eval: warning: the scores may have changed: write %s again, with "
                "--write-selftest\n",
                SELFTEST_FILE);
    selftest_close(selftest);
    return ERR_OK;
}

/* ---- output ---- */

static enum err_code put_out(struct eval *eval, struct err *err)
{
    const struct report *report = &eval->assessment.report;
    if (eval->out != NULL && assessment_write(&eval->assessment, eval->out, err))
        return err->code;
    if (eval->json && report_print_json(report, stdout, err))
        return err->code;
    if (!eval->json)
        report_print(report, stdout);
    if ((eval->ood_data != NULL && run_ood_data(eval, err)) ||
        (eval->stream != NULL && run_stream(eval, err)))
        return err->code;
    warn_of_contrast(eval);
    if ((eval->explains && run_explanations(eval, err)) || warn_of_known(eval, err))
        return err->code;
    if (eval->refers)
        return calibrate_write_reference(&eval->assessment, err);
    if (eval->selftest_cases > 0)
        return write_selftest(eval, err);
    return eval->calibrates ? calibrate(eval, err) : ERR_OK;
}

static enum err_code judge(const struct eval *eval, struct err *err)
{
    if (eval->agree_min < 0 || agreement_reaches(&eval->agreement, eval->agree_min))
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "the winners agree on %.3f %%, which is below --agree-min %g",
                   100 * eval->agreement.share, eval->agree_min);
}

/* ---- main ---- */

static int fail(const struct err *err, int status)
{
    fflush(stdout);
    fprintf(stderr, "attnd-eval: %s\n", err->text);
    return status;
}

static int run(struct eval *eval, int argc, char **argv)
{
    enum cli_action action;
    struct err err = {0};
    if (!parse(eval, argc, argv, &action, &err) && action == CLI_RUN)
        open_all(eval, &err);
    if (err.code != ERR_OK)
        return fail(&err, EXIT_USAGE);
    if (action == CLI_HELP)
        cli_help(&cli, stdout);
    if (action == CLI_VERSION)
        cli_print_version(&cli, stdout);
    if (action == CLI_RUN && !run_all(eval, &err) && !put_out(eval, &err))
        judge(eval, &err);
    if (err.code != ERR_OK)
        return fail(&err, EXIT_RUNTIME);
    return cli_printed() ? EXIT_SUCCESS : EXIT_RUNTIME;
}

int main(int argc, char **argv)
{
    openblas_set_environment();
    struct eval eval = {0};
    int status = run(&eval, argc, argv);
    close_all(&eval);
    return status;
}
