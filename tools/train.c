/* attnd-train - fine-tunes a checkpoint, or trains one from its config.json, on labelled inputs,
 * and writes a checkpoint directory that attnd serves. The work is learn/train's; this file has the
 * options, the display of progress, and Ctrl-C.
 *
 * On a terminal one line shows the epoch as a bar and overwrites itself; each epoch leaves a line.
 * A file gets the lines of the epochs, and the bar's text once a minute. */
#include "engine/cli/cli_main.h"
#include "engine/cli/screen.h"
#include "engine/cli/shipped.h"
#include "learn/train/trainer.h"

#include <string.h>

enum { BAR_WIDTH = 24 };

struct display {
    struct screen screen;
    enum train_task task; /* told with the plan */
};

static const char summary[] =
    "Trains an attnd checkpoint, on this machine and without a network. Lists and folders are as\n"
    "attnd-eval reads them. Ctrl-C saves; the same command goes on where it stopped.";

static const char examples[] =
    "  attnd-train --model testlog-bert --data logs.csv --out models/logs --epochs 8 --rate 1e-4\n"
    "  attnd-train --model vit-scratch --data wafers/ --out models/wafers --epochs 40 \\\n"
    "              --rate 1e-3 --mirror --turn --average 0.999";

/* ---- progress ---- */

static void format_time(char out[16], double seconds)
{
    unsigned long s = seconds > 0 ? (unsigned long)seconds : 0;
    if (seconds < 0)
        snprintf(out, 16, "-:--");
    else if (s < 3600)
        snprintf(out, 16, "%lu:%02lu", s / 60, s % 60);
    else
        snprintf(out, 16, "%lu:%02lu:%02lu", s / 3600 % 10000, s / 60 % 60, s % 60);
}

static void show_plan(void *context, const struct trainer_plan *plan)
{
    struct display *display = context;
    screen_clear(&display->screen);
    display->task = plan->task;
    fprintf(stderr, "%s, %zu weights, %s, %u thread%s\n", plan->family, plan->parameters,
            plan->precision, plan->threads, plan->threads == 1 ? "" : "s");
    if (plan->task == TRAIN_EMBED)
        fprintf(stderr, "%zu texts to learn, %zu to judge by, %zu pairs an epoch, %u epochs\n",
                plan->train, plan->validation, plan->pairs, plan->epochs);
    else if (plan->task == TRAIN_WRITE)
        fprintf(stderr, "%zu texts to learn to write, %zu to judge by, %u epochs\n", plan->train,
                plan->validation, plan->epochs);
    else
        fprintf(stderr, "%zu inputs to learn, %zu to judge by, %u %s, %u epochs\n", plan->train,
                plan->validation, plan->labels,
                plan->task == TRAIN_PAIR      ? "score"
                : plan->task == TRAIN_TAG     ? "labels of spans"
                : plan->task != TRAIN_REGRESS ? "labels"
                : plan->labels == 1           ? "number"
                                              : "numbers",
                plan->epochs);
    if (plan->tensors_missing > 0)
        fprintf(stderr, "%u tensors are not in the source and begin at random\n",
                plan->tensors_missing);
    if (plan->unusable > 0)
        fprintf(stderr, "%zu inputs cannot be used; the first is %.80s: %s\n", plan->unusable,
                plan->unusable_name, plan->unusable_reason);
    if (plan->remarks != NULL)
        fputs(plan->remarks, stderr);
    if (plan->replaced_version != NULL)
        fprintf(stderr,
                "attnd.json there has version '%.80s' or class codes, which this run does not "
                "write: it is kept as attnd.json.before (--model-version sets the version)\n",
                plan->replaced_version);
    if (plan->resumed)
        fprintf(stderr, "goes on after step %llu of %llu\n", (unsigned long long)plan->step,
                (unsigned long long)plan->steps);
}

/* Once, when the first step has been measured; what takes no minute needs no word. */
static void show_estimate(void *context, const struct trainer_estimate *estimate)
{
    enum { MINUTE = 60, HOUR = 3600 };
    double seconds = estimate->seconds;
    if (seconds < MINUTE)
        return;
    screen_clear(context);
    fprintf(stderr, "%.3g M weights, about %.0f %s here", (double)estimate->parameters / 1e6,
            seconds / (seconds < 2 * HOUR ? MINUTE : HOUR), seconds < 2 * HOUR ? "minutes" : "h");
    if (seconds >= HOUR)
        fprintf(stderr, "; Ctrl-C saves. Did you mean --model %s or %s, or fewer --epochs?",
                estimate->is_image ? "vit-small" : "bert-small",
                estimate->is_image ? "vit-scratch" : "bert-scratch");
    fputc('\n', stderr);
}

static void show_bar(const struct trainer_progress *progress)
{
    size_t full = progress->total > 0 ? progress->done * BAR_WIDTH / progress->total : 0;
    fputc('[', stderr);
    for (size_t i = 0; i < BAR_WIDTH; i++)
        fputc(i < full ? '=' : i == full ? '>' : ' ', stderr);
    fputc(']', stderr);
}

static void describe(const struct trainer_progress *progress, bool is_terminal)
{
    static const char *const verbs[] = {"reading", "learning", "judging", "concluding"};
    char left[16];
    bool in_epoch = progress->phase == TRAINER_LEARNING || progress->phase == TRAINER_JUDGING;
    if (in_epoch)
        fprintf(stderr, "epoch %u/%u ", progress->epoch, progress->epochs);
    if (progress->image_size > 0)
        fprintf(stderr, "%u px ", progress->image_size);
    if (is_terminal)
        show_bar(progress);
    fprintf(stderr, " %s %zu/%zu", verbs[progress->phase], progress->done, progress->total);
    if (in_epoch) {
        format_time(left, progress->seconds_left);
        fprintf(stderr, "  loss %.4f  rate %.2e  %.0f/s  %s left", progress->loss, progress->rate,
                progress->inputs_per_second, left);
    }
}

static void show_progress(void *context, const struct trainer_progress *progress)
{
    struct screen *screen = &((struct display *)context)->screen;
    if (!screen_begin(screen))
        return;
    describe(progress, screen->is_terminal);
    screen_end(screen);
}

static void show_epoch(void *context, const struct history_epoch *epoch, bool is_best, bool rises)
{
    struct display *display = context;
    char took[16];
    screen_clear(&display->screen);
    format_time(took, epoch->seconds);
    fprintf(stderr, "epoch %3.0f  loss %.4f  validation %.4f", epoch->epoch, epoch->train_loss,
            epoch->validation_loss);
    if (display->task == TRAIN_EMBED)
        fprintf(stderr, "  nDCG@10 %.4f", epoch->ndcg);
    else if (display->task == TRAIN_TAG)
        fprintf(stderr, "  span F1 %.4f", epoch->span_f1);
    else if (display->task == TRAIN_WRITE)
        fprintf(stderr, "  exact %.4f  tokens %.4f", epoch->exact, epoch->accuracy);
    else if (display->task == TRAIN_REGRESS)
        fprintf(stderr, "  RMSE %.4g (the mean as answer: %.4g)", epoch->rmse, epoch->rmse_mean);
    else
        fprintf(stderr, "  accuracy %.4f", epoch->accuracy);
    if (epoch->macro_f1 > 0)
        fprintf(stderr, "  macro-F1 %.4f", epoch->macro_f1);
    if (epoch->image_size > 0)
        fprintf(stderr, "  %.0f px", epoch->image_size);
    fprintf(stderr, "  %s%s", took, is_best ? "  *" : "");
    if (epoch->skipped > 0)
        fprintf(stderr, "  %.0f steps skipped: gradients not finite", epoch->skipped);
    fputc('\n', stderr);
    if (rises)
        fprintf(stderr,
                "note: the validation loss has risen for %d epochs while the training loss fell: "
                "these inputs are learnt by heart; fewer --epochs or --patience %d end it sooner, "
                "more inputs or --dropout help\n",
                HISTORY_RISES, HISTORY_RISES);
}

static void show_errors(const struct train_options *options, const struct number_errors *errors)
{
    fprintf(stderr,
            "RMSE %.4g (answering the validation part's mean: %.4g), mean absolute error %.4g, "
            "bias %+.4g\nreport: %s/report.json\n",
            errors->root_mean_square, errors->standard_deviation, errors->mean_absolute,
            errors->bias, options->out);
}

/* Tells the share of automatic answers (spans, of a model of tags), and where the report lies. */
static void show_automatic(const struct train_options *options, const struct conclusion *found)
{
    if (found->automatic > 0)
        fprintf(stderr, "automatic %.1f %%, of which %.1f %% right\n", 100 * found->automatic,
                100 * found->right);
    else
        fputs("no answer is automatic yet\n", stderr);
    fprintf(stderr, "report: %s/report.html\n", options->out);
}

static void show_judgement(const struct train_options *options, const struct conclusion *found)
{
    fprintf(stderr, "accuracy %.4f, macro-F1 %.4f, calibration error %.4f; ", found->accuracy,
            found->macro_f1, found->ece);
    show_automatic(options, found);
    if (found->remarks != NULL)
        fputs(found->remarks, stderr);
}

/* Names of the data's fields that were given: fresh data are of the same shape. */
static void print_fields(const struct train_options *options)
{
    const struct {
        const char *flag, *value, *fallback;
    } fields[] = {{"--text-field", options->text_field, "text"},
                  {"--image-field", options->image_field, "image"},
                  {"--label-field", options->label_field, "label"}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].value == NULL || strcmp(fields[i].value, fields[i].fallback) == 0)
            continue;
        fprintf(stderr, " %s ", fields[i].flag);
        cli_print_word(fields[i].value, stderr);
    }
}

static void print_command(const char *before, const char *program, const char *model)
{
    char attnd[CLI_COMMAND_BYTES]; /* the other programs lie beside it */
    fprintf(stderr, "%s%s%s --model ", before, cli_command("attnd", attnd), program);
    cli_print_word(model, stderr);
}

/* Commands that can be copied, but for the words in capitals. */
static void show_next(const struct train_options *options, const struct trainer_result *result)
{
    const char *out = options->out;
    if (result->task == TRAIN_MLM) {
        print_command("next, with labels: ", "-train", out);
        fputs(" --data LABELLED", stderr);
        print_fields(options);
        fputs(" --out DIR\n", stderr);
        return;
    }
    cli_print_serve(out);
    fputs("                  serve it\n", stderr);
    if (result->task == TRAIN_WRITE) {
        print_command("      ", "-eval", out);
        fputs(" --data FRESH", stderr);
        print_fields(options);
        fputs(" --calibrate    measure and calibrate it: until then all its texts are for review\n",
              stderr);
        print_command("      ", "-predict", out);
        fprintf(stderr, " --%s --json    write a text\n",
                result->is_image ? "image FILE" : "text-file FILE");
        return;
    }
    print_command("      ", "-eval", out);
    fputs(" --data FRESH", stderr);
    print_fields(options);
    const bool is_embedding = result->task == TRAIN_EMBED, is_pair = result->task == TRAIN_PAIR;
    const bool is_tagger = result->task == TRAIN_TAG;
    fputs(is_embedding || is_pair || result->task == TRAIN_REGRESS ? "                measure it\n"
          : options->multi_label                                   ? " --multi-label  measure it\n"
                                 : " --calibrate    calibrate it\n",
          stderr);
    print_command("      ", "-predict", out);
    if (is_embedding || is_pair || is_tagger) {
        fputs(is_embedding ? " --text-file FILE --json    a text's vector\n"
              : is_tagger  ? " --text-file FILE --json    a text's spans\n"
                           : " --text TEXT --text-pair TEXT --json    a pair's score\n",
              stderr);
        return;
    }
    fprintf(stderr, " --%s --explain %s    explain an answer\n",
            result->is_image ? "image FILE" : "text-file FILE",
            result->is_image ? "rollout" : "gradient-last");
}

static void show_end(const struct train_options *options, const struct trainer_result *result)
{
    const struct conclusion *found = &result->conclusion;
    if (result->was_finished) {
        fprintf(stderr,
                "%s is finished: this command has trained it from these inputs, and nothing was "
                "changed; --restart trains it anew\n",
                options->out);
        return;
    }
    if (found->judged && result->task == TRAIN_EMBED)
        fprintf(stderr, "nDCG@10 %.4f (search by words, BM25: %.4f)\nreport: %s/report.json\n",
                found->ndcg, found->ndcg_words, options->out);
    else if (found->judged && result->task == TRAIN_PAIR)
        fprintf(stderr,
                "accuracy %.4f; nDCG@10 %.4f (search by words, BM25: %.4f)\n"
                "report: %s/report.json\n",
                found->accuracy, found->ndcg, found->ndcg_words, options->out);
    else if (found->judged && result->task == TRAIN_TAG) {
        fprintf(stderr, "F1 of spans %.4f (macro: %.4f), all spans right in %.1f %% of the texts; ",
                found->span_f1, found->span_macro_f1, 100 * found->exact);
        show_automatic(options, found);
    } else if (found->judged && result->task == TRAIN_WRITE)
        fprintf(stderr, "written exactly: %.2f %% of the texts\nreport: %s/report.json\n",
                100 * found->exact, options->out);
    else if (found->judged && result->task == TRAIN_REGRESS)
        show_errors(options, &found->errors);
    else if (found->judged)
        show_judgement(options, found);
    if (found->ngrams.weight > 0)
        fprintf(stderr, "n-grams weigh %.3g: the validation loss falls from %.4f to %.4f\n",
                found->ngrams.weight, found->ngrams.before, found->ngrams.after);
    if (found->macro_f1_crossed > 0)
        fprintf(stderr,
                "macro-F1 was %.4f without class biases, and %.4f with biases from other inputs\n",
                found->macro_f1_before, found->macro_f1_crossed);
    if (result->interrupted)
        fprintf(stderr, "stopped; the same command goes on from %s\n", options->out);
    else
        fprintf(stderr, "%s%s has the weights of epoch %u\n",
                result->early ? "no better epoch for a while: stopped early; " : "", options->out,
                result->best_epoch);
    if (!result->interrupted)
        show_next(options, result);
}

/* ---- main ---- */

static enum err_code train(struct cli_run *run, struct err *err)
{
    struct train_options *options = run->target;
    struct display display = {.task = TRAIN_CLASSIFY};
    screen_open(&display.screen, 0, SCREEN_FILE_MS);
    struct trainer_hooks hooks = {.plan = show_plan,
                                  .progress = show_progress,
                                  .epoch = show_epoch,
                                  .estimate = show_estimate,
                                  .context = &display,
                                  .stop = cli_main_stop()};
    struct trainer_result result;
    if (shipped_dir(&options->model, err) || train_options_check(options, err))
        return err->code;
    trainer_run(options, &hooks, &result, err);
    screen_clear(&display.screen);
    if (err->code != ERR_OK)
        return err->code;
    show_end(options, &result);
    if (result.interrupted)
        run->status = CLI_STOPPED;
    trainer_result_free(&result);
    return ERR_OK;
}

int main(int argc, char **argv)
{
    const struct cli cli = {.program = "attnd-train",
                            .usage = "attnd-train --model DIR --data PATH --out DIR [OPTION]...",
                            .summary = summary,
                            .examples = examples,
                            .options = train_cli_options,
                            .option_count = train_cli_option_count};
    struct train_options options = {0};
    return cli_main(&(struct cli_program){.cli = &cli, .run = train}, 1, argc, argv, &options);
}
