/* attnd-eval - a labelled data set through a checkpoint, offline and with all cores: how good the
 * model is, and whether a lower precision answers as fp32 does. The parts are engine/eval's, so
 * that a trainer prints the same report; here are the options, the order of things and progress.
 *
 * What can be wrong with options, models and data is found before anything is computed and ends
 * with 2. With --against the second precision runs first and its model is closed again; the report
 * takes labels and scores from the other. */
#include "engine/base/blas_core.h"
#include "engine/base/cli.h"
#include "engine/base/clock.h"
#include "engine/base/cpu.h"
#include "engine/eval/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_RUNTIME = 1, EXIT_USAGE = 2 };
enum { THREADS_MAX = 1024, LIMIT_MAX = 1000 * 1000 * 1000, PROGRESS_MS = 200, SEED = 1 };

struct pass {
    const char *dtype, *linear_backend; /* linear_backend: the model's word */
    struct evaluation evaluation;
    struct confusion confusion;
};

struct eval {
    struct engine_options options;
    struct dataset_options fields;
    const char *dir, *data, *against;
    unsigned threads;
    double agree_min; /* percent; negative: not checked */
    double purity;
    const char *html; /* NULL: no page */
    char *html_part;  /* where the page is written before it has its name */
    FILE *page;
    bool json;

    struct engine_model *model, *other_model; /* other_model: NULL without --against */
    struct dataset dataset;
    unsigned *classes;
    float *scratch;
    struct pass run, other;
    struct agreement agreement;
    struct findings findings;
};

/* ---- options ---- */

static enum err_code set_model(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->dir = value;
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
    ((struct eval *)target)->options.dtype = value;
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
    ((struct eval *)target)->options.linear_backend = value;
    return ERR_OK;
}

static enum err_code set_threads(void *target, const char *value, struct err *err)
{
    return cli_parse_unsigned(value, 1, THREADS_MAX, &((struct eval *)target)->threads, err);
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
    double purity = strtod(value, &end);
    if (end == value || *end != '\0' || !(purity > 0 && purity <= 1))
        return err_set(err, ERR_UNUSABLE, "must be a share above 0 and at most 1");
    ((struct eval *)target)->purity = purity;
    return ERR_OK;
}

static enum err_code set_html(void *target, const char *value, struct err *err)
{
    (void)err;
    ((struct eval *)target)->html = value;
    return ERR_OK;
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
    {"html", "FILE", "Also writes the report as a page that needs no other file.", set_html},
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
    eval->purity = 0.95;
    if (cli_parse(&cli, argc, argv, eval, action, err) || *action != CLI_RUN)
        return err->code;
    if (eval->dir == NULL || eval->data == NULL)
        return err_set(err, ERR_UNUSABLE, "--%s is missing; --help shows the usage",
                       eval->dir == NULL ? "model DIR" : "data PATH");
    if (eval->agree_min >= 0 && eval->against == NULL)
        return err_set(err, ERR_UNUSABLE, "--agree-min needs --against, which it judges by");
    if (eval->threads == 0)
        eval->threads = cpu_quota_threads("");
    return ERR_OK;
}

/* ---- progress ---- */

struct progress {
    const char *dtype;
    size_t total;
    uint64_t start_ns, shown_ns;
};

/* One line that overwrites itself. */
static void show_progress(void *context, size_t done)
{
    struct progress *progress = context;
    uint64_t now = clock_now_ns();
    if (clock_ms_between(progress->shown_ns, now) < PROGRESS_MS)
        return;
    progress->shown_ns = now;
    double rate = (double)done / (clock_ms_between(progress->start_ns, now) / 1e3);
    unsigned left = rate > 0 ? (unsigned)((double)(progress->total - done) / rate) : 0;
    fprintf(stderr, "\r\033[K%s: %zu of %zu inputs, %.1f a second, %u:%02u left", progress->dtype,
            done, progress->total, rate, left / 60, left % 60);
}

/* ---- runs ---- */

static enum err_code run_pass(const struct eval *eval, const struct engine_model *model,
                              struct pass *pass, struct err *err)
{
    const struct engine_info *info = engine_describe(model);
    bool is_watched = isatty(STDERR_FILENO) == 1;
    struct progress progress = {
        .dtype = pass->dtype, .total = eval->dataset.count, .start_ns = clock_now_ns()};
    struct evaluation_options how = {.threads = eval->threads,
                                     .progress = is_watched ? show_progress : NULL,
                                     .context = &progress};
    pass->linear_backend = info->linear_backend;
    evaluation_run(&pass->evaluation, model, &eval->dataset, &how, err);
    if (is_watched)
        fputs("\r\033[K", stderr);
    if (err->code != ERR_OK)
        return err->code;
    return evaluation_measure(&pass->evaluation, eval->classes, &pass->confusion, err);
}

static enum err_code find(struct eval *eval, struct err *err)
{
    const struct engine_info *info = engine_describe(eval->model);
    struct findings_options how = {.purity = eval->purity,
                                   .temperature = info->temperature,
                                   .sigmoid = strcmp(info->scores, "sigmoid") == 0,
                                   .seed = SEED};
    return findings_open(&eval->findings, &eval->run.evaluation, eval->classes,
                         &eval->run.confusion, &how, err);
}

static enum err_code run_all(struct eval *eval, struct err *err)
{
    if (eval->against != NULL && run_pass(eval, eval->other_model, &eval->other, err))
        return err->code;
    engine_close(eval->other_model);
    eval->other_model = NULL;
    if (run_pass(eval, eval->model, &eval->run, err))
        return err->code;
    if (eval->against != NULL)
        agreement_measure(&eval->agreement, &eval->run.evaluation, &eval->other.evaluation);
    return find(eval, err);
}

static enum err_code open_models(struct eval *eval, struct err *err)
{
    struct engine_options other = {.dtype = eval->against};
    if (engine_open(&eval->model, eval->dir, &eval->options, err) ||
        (eval->against != NULL && engine_open(&eval->other_model, eval->dir, &other, err)))
        return err_prefix(err, "%s: ", eval->dir);
    const struct engine_info *info = engine_describe(eval->model);
    if (strcmp(info->scores, "none") == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: a regression has no classes to evaluate",
                       eval->dir);
    eval->fields.kind = info->kind;
    eval->run.dtype = info->dtype;
    eval->other.dtype = eval->against;
    return ERR_OK;
}

static enum err_code open_data(struct eval *eval, struct err *err)
{
    const struct engine_info *info = engine_describe(eval->model);
    if (dataset_open(&eval->dataset, eval->data, &eval->fields, err))
        return err->code;
    eval->classes = calloc(eval->dataset.count, sizeof *eval->classes);
    eval->scratch = calloc(info->label_count, sizeof *eval->scratch);
    if (eval->classes == NULL || eval->scratch == NULL)
        return err_no_memory(err, eval->dataset.count * sizeof *eval->classes);
    if (dataset_match(&eval->dataset, info->labels, info->label_count, eval->classes, err))
        return err_prefix(err, "%s: ", eval->data);
    return ERR_OK;
}

/* Before anything is computed: a run of an hour must not end with a folder that is not there. */
static enum err_code open_page(struct eval *eval, struct err *err)
{
    if (eval->html == NULL)
        return ERR_OK;
    if (asprintf(&eval->html_part, "%s.part", eval->html) < 0) {
        eval->html_part = NULL;
        return err_no_memory(err, strlen(eval->html));
    }
    eval->page = fopen(eval->html_part, "w");
    if (eval->page == NULL)
        return err_set(err, ERR_IO, "%s: cannot be written: %s", eval->html_part, strerror(errno));
    return ERR_OK;
}

/* A page that was not finished is taken away. */
static void close_page(struct eval *eval)
{
    if (eval->page != NULL) {
        fclose(eval->page);
        unlink(eval->html_part);
    }
    free(eval->html_part);
}

static void close_all(struct eval *eval)
{
    close_page(eval);
    findings_close(&eval->findings);
    struct pass *passes[] = {&eval->run, &eval->other};
    for (size_t i = 0; i < 2; i++) {
        evaluation_close(&passes[i]->evaluation);
        confusion_close(&passes[i]->confusion);
    }
    dataset_close(&eval->dataset);
    engine_close(eval->other_model);
    engine_close(eval->model);
    free(eval->classes);
    free(eval->scratch);
}

/* ---- output ---- */

static struct report_run report_of(const struct pass *pass)
{
    return (struct report_run){.dtype = pass->dtype,
                               .linear_backend = pass->linear_backend,
                               .evaluation = &pass->evaluation,
                               .confusion = &pass->confusion};
}

static enum err_code write_page(struct eval *eval, const struct report *report, struct err *err)
{
    if (report_print_html(report, eval->page, err))
        return err_prefix(err, "%s: ", eval->html);
    bool closed = fclose(eval->page) == 0;
    eval->page = NULL;
    if (!closed || rename(eval->html_part, eval->html) != 0)
        return err_set(err, ERR_IO, "%s: cannot be written: %s", eval->html, strerror(errno));
    return ERR_OK;
}

static enum err_code print_report(struct eval *eval, struct err *err)
{
    struct report report = {.model_dir = eval->dir,
                            .data_path = eval->data,
                            .model = eval->model,
                            .dataset = &eval->dataset,
                            .classes = eval->classes,
                            .threads = eval->threads,
                            .run = report_of(&eval->run),
                            .findings = &eval->findings,
                            .agreement = &eval->agreement,
                            .scratch = eval->scratch};
    if (eval->against != NULL)
        report.against = report_of(&eval->other);
    if (eval->page != NULL && write_page(eval, &report, err))
        return err->code;
    if (eval->json)
        return report_print_json(&report, stdout, err);
    report_print(&report, stdout);
    return ERR_OK;
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
    if (!parse(eval, argc, argv, &action, &err) && action == CLI_RUN && !open_models(eval, &err) &&
        !open_data(eval, &err))
        open_page(eval, &err);
    if (err.code != ERR_OK)
        return fail(&err, EXIT_USAGE);
    if (action == CLI_HELP)
        cli_print_help(&cli, stdout);
    if (action == CLI_VERSION)
        cli_print_version(&cli, stdout);
    if (action == CLI_RUN && !run_all(eval, &err) && !print_report(eval, &err))
        judge(eval, &err);
    if (err.code != ERR_OK)
        return fail(&err, EXIT_RUNTIME);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_RUNTIME;
}

int main(int argc, char **argv)
{
    blas_core_repair(argv);
    struct eval eval = {0};
    int status = run(&eval, argc, argv);
    close_all(&eval);
    return status;
}
