/* attnd-fit - a new head on a checkpoint whose encoder stays: labels corrected or added, in
 * seconds. The work is learn/fit's; this file has the options, the sequence of steps and progress.
 *
 * Errors in options, models and data are found before anything is computed; the exit status is then
 * 2. A head that is worse than what it replaces is status 1, and nothing is written. */
#include "learn/fit/fit.h"
#include "engine/base/clock.h"
#include "engine/base/cpu.h"
#include "engine/cli/cli_main.h"
#include "engine/cli/cli_rows.h"
#include "engine/cli/screen.h"
#include "learn/eval/report/report.h"
#include "learn/fit/fit_decide.h"
#include "learn/fit/fit_heads.h"
#include "learn/fit/fit_write.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { KNOWN_SHARE = 20 }; /* one in so many may be there by chance: blank wafers, empty logs */

struct program {
    struct fit_options options;
    bool quiet, tells_progress, in_background;
    struct fit fit;
};

/* ---- options ---- */

#define ROW(member, ...) CLI_ROW(struct program, options.member, __VA_ARGS__)
#define FLAG(member, name, help) CLI_ROW_FLAG(struct program, member, name, help)

static const struct cli_option options[] = {
    ROW(model, "model", "DIR", .apply = shipped_option, .is_required = true,
        .help =
            "The checkpoint directory, or the shipped model, to begin with; it stays as it is."),
    ROW(data, "data", "PATH", .is_required = true,
        .help =
            "Labelled inputs, of every label that the model has and of new ones: .jsonl, .csv or "
            "a folder."),
    ROW(out, "out", "DIR", .is_required = true,
        .help = "The new checkpoint directory, which must not exist yet."),
    ROW(loss_max, "loss-max", "POINTS", .fallback = "2", .max = 100,
        .help = "Exits 1 and writes nothing if a label of the model loses more points of F1 than "
                "these."),
    ROW(automatic_max, "automatic-max", "POINTS", .fallback = "2", .max = 100,
        .help = "Exits 1 and writes nothing if the automatic answers to the model's own examples, "
                "with labels that it had before, would rise by more points than these."),
    ROW(prior, "prior", "PRIOR", .fallback = "natural",
        .help = "How often each label is to be expected: natural, as in the data; equal; or a file "
                "with {label: count}."),
    CLI_ROW_TARGET_PRECISION(struct program, options.target_precision),
    ROW(version, "model-version", "TEXT",
        .help = "The new model's version (default: one more than the old one's)."),
    CLI_ROWS_FIELDS(struct program, options.fields),
    CLI_ROW_LIMIT(struct program, options.fields.items_max),
    ROW(usable_min, "usable-min", "SHARE", .fallback = DATASET_USABLE_MIN, .max = 1,
        .help = DATASET_USABLE_HELP),
    CLI_ROW_THREADS(struct program, options.threads),
    FLAG(quiet, "quiet", "Prints no report."),
    FLAG(tells_progress, "progress-lines",
         "Prints its progress instead of the report, as JSON, a line at a time."),
    FLAG(in_background, "background",
         "Yields processors and memory to all others, and ends when the process that started "
         "it does."),
};

static const struct cli cli = {
    .program = "attnd-fit",
    .usage = "attnd-fit --model DIR --data FILE.jsonl|FILE.csv|FOLDER --out DIR [OPTION]...",
    .summary =
        "Fits a new classifier on what a model's encoder makes of labelled inputs, in seconds\n"
        "and without a training run: labels are corrected, or new ones added from five inputs\n"
        "on. The report is of answers to inputs that were left out of the fit, beside those of\n"
        "the model as it was. Writes a checkpoint directory that attnd and transformers open,\n"
        "with temperature, thresholds and OOD score fitted anew.",
    .examples = "  attnd-fit --model wafer-vit --data corrected/ --out models/wafers",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};

/* ---- beside a server ---- */

/* Steps that the system refuses are left out. */
static void yield_to_all(void)
{
    const struct sched_param param = {0};
    setpriority(PRIO_PROCESS, 0, 19);
    sched_setscheduler(0, SCHED_IDLE, &param);
    FILE *file = fopen("/proc/self/oom_score_adj", "we");
    if (file == NULL)
        return;
    fputs("1000", file); /* the first to go when memory runs out */
    fclose(file);
}

enum { TOLD_EVERY_MS = 100 };

/* A step on its way. */
struct told {
    const char *step;
    size_t total;
    uint64_t told_ns;
};

static void tell(const char *step, size_t done, size_t total)
{
    printf("{\"step\":\"%s\",\"done\":%zu,\"total\":%zu}\n", step, done, total);
    fflush(stdout);
}

static void tell_progress(void *context, size_t done)
{
    struct told *told = context;
    uint64_t now = clock_now_ns();
    if (clock_ms_between(told->told_ns, now) < TOLD_EVERY_MS)
        return;
    told->told_ns = now;
    tell(told->step, done, told->total);
}

/* ---- steps ---- */

static void print_labels(const struct fit *fit)
{
    const struct fit_labels *labels = &fit->labels;
    char left_out[DATASET_SENTENCE_BYTES];
    dataset_describe_left_out(&fit->dataset, left_out);
    if (left_out[0] != '\0')
        fprintf(stderr, "attnd-fit: %s: %s\n", fit->options.data, left_out);
    for (unsigned i = 0; i < labels->rare_count; i++)
        fprintf(stderr, "attnd-fit: new label '%s' has %zu inputs and is left out: it needs %d\n",
                labels->rare[i].name, labels->rare[i].count, FIT_EXAMPLES_MIN);
    for (unsigned c = labels->old_count; c < labels->count; c++)
        fprintf(stderr, "attnd-fit: new label '%s', %zu inputs\n", labels->name[c],
                labels->examples[c]);
}

static enum err_code watched(struct program *program, const char *name, size_t total,
                             enum err_code (*step)(struct fit *, const struct fit_progress *,
                                                   struct err *),
                             struct err *err)
{
    struct fit *fit = &program->fit;
    struct screen_counter counter;
    if (program->tells_progress) {
        struct told told = {.step = name, .total = total};
        tell(name, 0, total);
        return step(fit, &(struct fit_progress){tell_progress, &told}, err);
    }
    screen_counter_open(&counter, name, total);
    step(fit, &(struct fit_progress){screen_counter_show, &counter}, err);
    screen_clear(&counter.screen);
    return err->code;
}

/* A moment in which Ctrl-C waits, so that nothing is left behind. */
static enum err_code write_whole(struct program *program, struct err *err)
{
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, &before);
    if (program->tells_progress)
        tell("writing", 0, 1);
    fit_write(&program->fit, program->quiet || program->tells_progress ? NULL : stdout, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    fflush(stdout); /* the next lines go to stderr */
    return err->code;
}

static enum err_code prepare(void *target, struct err *err)
{
    struct program *program = target;
    if (program->options.threads == 0)
        program->options.threads = cpu_quota_threads("");
    if (program->in_background) {
        /* a parent that ended before this call is noticed by the closed end of the output */
        struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0)
            raise(SIGKILL);
        yield_to_all();
    }
    return fit_open(&program->fit, &program->options, err);
}

static enum err_code run_all(struct cli_run *run, struct err *err)
{
    struct program *program = run->target;
    struct fit *fit = &program->fit;
    print_labels(fit);
    if (watched(program, "features", fit->dataset.count, fit_features, err) ||
        watched(program, "fits", FIT_HEADS_USUAL, fit_head, err) || fit_accept(fit, err) ||
        write_whole(program, err)) {
        if (fit->is_refused && program->tells_progress)
            tell("refused", 0, 0); /* no failure for who reads the lines */
        return err->code;
    }
    /* Figures on inputs that the encoder has learnt flatter whatever is fitted on it. */
    size_t read = fit->evaluation.count - fit->evaluation.failed;
    if (fit->fresh_count * KNOWN_SHARE < read * (KNOWN_SHARE - 1))
        fprintf(stderr,
                "attnd-fit: %zu of %zu inputs are among those that this model learnt: on them the "
                "figures before and after are better than on new inputs\n",
                read - fit->fresh_count, read);
    /* New labels that are rarely found. Each input was judged by a head that had not learnt it. */
    for (unsigned c = fit->labels.old_count; c < fit->labels.count; c++) {
        const struct confusion_class *of = &fit->after.confusion.classes[c];
        if (2 * of->hits < of->support)
            fprintf(stderr,
                    "attnd-fit: warning: new label '%s' was found in %zu of its %zu inputs by a "
                    "model that had not learnt them: look whether they have something in common, "
                    "or give more\n",
                    fit->labels.name[c], of->hits, of->support);
    }
    if (fit_decides_anew(fit))
        fprintf(stderr,
                "attnd-fit: temperature and thresholds are fitted on the %zu inputs that the model "
                "had not learnt; no threshold became less strict\n",
                fit->fresh_count);
    else
        fprintf(stderr,
                "attnd-fit: the model decides as before, and a new label is always reviewed: "
                "thresholds need %d inputs with old labels that the model has not learnt, and "
                "there are %zu\n",
                FIT_FRESH_MIN, fit->fresh_known);
    if (fit->old.class_prior.kind != CLASS_PRIOR_NATURAL)
        fprintf(stderr, "attnd-fit: class_prior is left out: it has no count for a new label, and "
                        "the head is fitted for --prior\n");
    cli_print_next(program->options.out);
    return ERR_OK;
}

static void close_fit(void *target)
{
    fit_close(&((struct program *)target)->fit);
}

static const struct cli_program programs[] = {
    {.cli = &cli, .prepare = prepare, .run = run_all, .close = close_fit}};

int main(int argc, char **argv)
{
    struct program program = {0};
    return cli_main(programs, 1, argc, argv, &program);
}
