/* attnd-eval - a labelled data set through a checkpoint, offline and with all cores: how good the
 * model is, and whether a lower precision answers as fp32 does. The parts are learn/eval's, so
 * that a trainer prints the same report; here are the options, the order of things and progress.
 *
 * What can be wrong with options, models and data is found before anything is computed and ends
 * with 2. With --against the second precision runs first. */
#include "engine/base/cli.h"
#include "engine/base/cpu.h"
#include "engine/base/openblas.h"
#include "learn/eval/assessment.h"
#include "learn/eval/calibrate.h"
#include "learn/eval/measure/ood_scores.h"
#include "learn/eval/measure/progress.h"
#include "learn/eval/measure/separation.h"
#include "learn/eval/report/explanations_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_RUNTIME = 1, EXIT_USAGE = 2 };
enum { THREADS_MAX = 1024, LIMIT_MAX = 1000 * 1000 * 1000, EXPLAIN_INPUTS = 500, EXPLAIN_SEED = 1 };

struct eval {
    struct assessment_options how;
    struct dataset_options fields;
    const char *data, *against, *strange, *out;
    double agree_min; /* percent; negative: not checked */
    bool json, calibrates, explains;
    struct explanations_options explain; /* inputs_max 0: not given */
    const char *fill;                    /* of explain; NULL: not given */

    struct dataset dataset;
    struct assessment assessment;

    /* --against */
    struct engine_model *other_model;
    struct evaluation other;
    struct confusion other_confusion;
    struct agreement agreement;
};

/* ---- options ---- */

static enum err_code set_model(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->how.dir = value;
    return ERR_OK;
}

static enum err_code set_data(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->data = value;
    return ERR_OK;
}

static enum err_code set_dtype(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->how.engine.dtype = value;
    return ERR_OK;
}

static enum err_code set_against(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->against = value;
    return ERR_OK;
}

static enum err_code set_agree_min(void *target, const char *value, struct err *err)
{
    char *end;
    double percent = strtod(value, &end);
    if (end == value || *end != '\0' || !(percent >= 0 && percent <= 100))
        return err_set(err, ERR_UNUSABLE, "must be a percentage from 0 to 100");
    ((struct eval *)target)->agree_min = percent;
    return ERR_OK;
}

static enum err_code set_backend(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->how.engine.linear_backend = value;
    return ERR_OK;
}

static enum err_code set_threads(void *target, const char *value, struct err *err)
{
    return cli_parse_unsigned(value, 1, THREADS_MAX,
                              &((struct eval *)target)->how.evaluation.threads, err);
}

static enum err_code set_limit(void *target, const char *value, struct err *err)
{
    unsigned limit;
    if (cli_parse_unsigned(value, 1, LIMIT_MAX, &limit, err))
        return err->code;
    ((struct eval *)target)->fields.items_max = limit;
    return ERR_OK;
}

static enum err_code set_text_field(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->fields.text_field = value;
    return ERR_OK;
}

static enum err_code set_image_field(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->fields.image_field = value;
    return ERR_OK;
}

static enum err_code set_label_field(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->fields.label_field = value;
    return ERR_OK;
}

static enum err_code set_purity(void *target, const char *value, struct err *err)
{
    char *end;
    double target_precision = strtod(value, &end);
    if (end == value || *end != '\0' || !(target_precision > 0 && target_precision <= 1))
        return err_set(err, ERR_UNUSABLE, "must be a share above 0 and at most 1");
    ((struct eval *)target)->how.target_precision = target_precision;
    return ERR_OK;
}

static enum err_code set_out(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->out = value;
    return ERR_OK;
}

static enum err_code set_strange(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->strange = value;
    return ERR_OK;
}

static enum err_code set_calibrate(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct eval *)target)->calibrates = true;
    return ERR_OK;
}

static enum err_code set_explain(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct eval *)target)->explains = true;
    return ERR_OK;
}

static enum err_code set_explain_inputs(void *target, const char *value, struct err *err)
{
    return cli_parse_unsigned(value, 1, LIMIT_MAX, &((struct eval *)target)->explain.inputs_max,
                              err);
}

static enum err_code set_explain_fill(void *target, const char *value, struct err *err)
{
    struct eval *eval = target;
    eval->fill = value;
    return perturbation_find_fill(value, &eval->explain.fill, err);
}

static enum err_code set_json(void *target, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    ((struct eval *)target)->json = true;
    return ERR_OK;
}

static const struct cli_option options[] = {
    {"model", "DIR", "The checkpoint directory (required).", set_model},
    {"data", "PATH", "The labelled inputs: .jsonl, .csv or a folder (required).", set_data},
    {"dtype", "NAME", "The precision of the linear layers: f32 (default), bf16 or int8.",
     set_dtype},
    {"against", "NAME", "Runs a second time in this precision and compares.", set_against},
    {"agree-min", "PERCENT", "Exits 1 if fewer winners agree with --against.", set_agree_min},
    {"linear-backend", "NAME", "As attnd's linear_backend; --against runs with its default.",
     set_backend},
    {"threads", "N", "Compute threads (default: all that the cgroup allows).", set_threads},
    {"limit", "N", "Only the first N inputs.", set_limit},
    {"text-field", "NAME", "The member or column that holds the text (default: text).",
     set_text_field},
    {"image-field", "NAME", "The one that holds the image's path (default: image).",
     set_image_field},
    {"label-field", "NAME", "The one that holds the label (default: label).", set_label_field},
    {"purity", "SHARE", "The share of automatic answers that must be right (default: 0.95).",
     set_purity},
    {"out", "DIR", "Also writes report.json, and report.html, a page that needs no other file.",
     set_out},
    {"calibrate", NULL,
     "Writes the model's attnd.json: temperature, thresholds for --purity, strangeness.",
     set_calibrate},
    {"strange", "PATH", "Inputs unlike those: how well ood_score tells them apart.", set_strange},
    {"explain", NULL,
     "Also measures how faithful each method's explanations are; with --out, as a page, too.",
     set_explain},
    {"explain-inputs", "N", "Explains so many inputs, drawn from the data (default: 500).",
     set_explain_inputs},
    {"explain-fill", "NAME",
     "What removed patches become: median (default), clip (to the median) or mean.",
     set_explain_fill},
    {"json", NULL, "Prints the report as one JSON object.", set_json},
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
    eval->how.target_precision = 0.95;
    if (cli_parse(&cli, argc, argv, eval, action, err) || *action != CLI_RUN)
        return err->code;
    if (eval->how.dir == NULL || eval->data == NULL)
        return err_set(err, ERR_UNUSABLE, "--%s is missing; --help shows the usage",
                       eval->how.dir == NULL ? "model DIR" : "data PATH");
    if (eval->agree_min >= 0 && eval->against == NULL)
        return err_set(err, ERR_UNUSABLE, "--agree-min needs --against, which it judges by");
    if (!eval->explains && (eval->explain.inputs_max > 0 || eval->fill != NULL))
        return err_set(err, ERR_UNUSABLE, "--explain-%s needs --explain",
                       eval->fill != NULL ? "fill" : "inputs");
    if (eval->how.evaluation.threads == 0)
        eval->how.evaluation.threads = cpu_quota_threads("");
    return ERR_OK;
}

/* ---- open ---- */

/* Before anything is computed: a run of an hour must not end with a folder that cannot be. */
static enum err_code make_folder(const char *dir, struct err *err)
{
    if (dir == NULL || (mkdir(dir, 0777) == 0 || errno == EEXIST))
        return ERR_OK;
    return err_set(err, ERR_IO, "%s: cannot be made: %s", dir, strerror(errno));
}

static enum err_code open_models(struct eval *eval, struct err *err)
{
    struct engine_options other = {.dtype = eval->against};
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

static enum err_code open_all(struct eval *eval, struct err *err)
{
    if (open_models(eval, err) || dataset_open(&eval->dataset, eval->data, &eval->fields, err) ||
        assessment_take(&eval->assessment, &eval->dataset, eval->data, err))
        return err->code;
    return make_folder(eval->out, err);
}

static void close_all(struct eval *eval)
{
    assessment_close(&eval->assessment);
    evaluation_close(&eval->other);
    confusion_close(&eval->other_confusion);
    engine_close(eval->other_model);
    dataset_close(&eval->dataset);
}

/* ---- runs ---- */

/* Evaluation options with a progress line, if a person watches. */
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

static enum err_code run_all(struct eval *eval, struct err *err)
{
    struct report *report = &eval->assessment.report;
    if (eval->against != NULL && run_other(eval, err))
        return err->code;
    if (run_assessment(eval, err))
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

/* ---- strange inputs ---- */

static enum err_code print_separation(const struct eval *eval, const struct evaluation *strange,
                                      struct err *err)
{
    size_t known_count, strange_count;
    float *known =
        ood_scores_compute(eval->assessment.model, &eval->assessment.evaluation, &known_count, err);
    float *others = ood_scores_compute(eval->assessment.model, strange, &strange_count, err);
    FILE *file = eval->json ? stderr : stdout;
    if (err->code == ERR_OK) {
        double auroc = separation_auroc(known, known_count, others, strange_count);
        double fpr = separation_fpr(known, known_count, others, strange_count, 0.95);
        fprintf(file, "\nstrange inputs  %s: %zu, told apart by %s with AUROC %.4f, FPR95 %.4f\n",
                eval->strange, strange_count, engine_describe(eval->assessment.model)->ood_method,
                auroc, fpr);
    }
    free(known);
    free(others);
    return err->code;
}

static enum err_code run_strange(struct eval *eval, struct err *err)
{
    struct dataset dataset;
    struct dataset_options fields = eval->fields;
    struct evaluation evaluation = {0};
    struct progress progress;
    fields.labels_optional = true;
    if (!dataset_open(&dataset, eval->strange, &fields, err)) {
        struct evaluation_options how = watched(eval, &progress, "strange inputs", dataset.count);
        how.features = true;
        evaluation_run(&evaluation, eval->assessment.model, &dataset, &how, err);
        progress_end(&progress);
        if (err->code == ERR_OK)
            print_separation(eval, &evaluation, err);
    }
    evaluation_close(&evaluation);
    dataset_close(&dataset);
    return err->code;
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

/* ---- output ---- */

static enum err_code put_out(struct eval *eval, struct err *err)
{
    struct calibrate calibrate = {.assessment = &eval->assessment, .method = OOD_MAHALANOBIS};
    const struct report *report = &eval->assessment.report;
    if (eval->out != NULL && assessment_write(&eval->assessment, eval->out, err))
        return err->code;
    if (eval->json && report_print_json(report, stdout, err))
        return err->code;
    if (!eval->json)
        report_print(report, stdout);
    if (eval->strange != NULL && run_strange(eval, err))
        return err->code;
    if (eval->explains && run_explanations(eval, err))
        return err->code;
    return eval->calibrates ? calibrate_write(&calibrate, err) : ERR_OK;
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
        cli_print_help(&cli, stdout);
    if (action == CLI_VERSION)
        cli_print_version(&cli, stdout);
    if (action == CLI_RUN && !run_all(eval, &err) && !put_out(eval, &err))
        judge(eval, &err);
    if (err.code != ERR_OK)
        return fail(&err, EXIT_RUNTIME);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_RUNTIME;
}

int main(int argc, char **argv)
{
    openblas_set_environment();
    struct eval eval = {0};
    int status = run(&eval, argc, argv);
    close_all(&eval);
    return status;
}
