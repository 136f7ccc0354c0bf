/* attnd-prune - a smaller, faster checkpoint: whole attention heads and MLP columns are cut out by
 * importance, and what is left is fine-tuned with the model as it was for a teacher. The work is
 * learn/prune's; this file has the options, the display of progress, the table and Ctrl-C.
 *
 * Errors in options, models and data are found before anything is computed; the exit status is then
 * 2. */
#include "learn/prune/prune.h"
#include "engine/cli/cli_main.h"
#include "engine/cli/screen.h"
#include "engine/cli/shipped.h"

static const char summary[] =
    "Removes the attention heads and MLP columns of a checkpoint that change the answers least,\n"
    "and fine-tunes the rest with the whole model as its teacher. Writes a checkpoint that attnd\n"
    "and transformers open, and prints what it gains and costs. Ctrl-C saves; the same command\n"
    "goes on where it stopped.";

static const char examples[] =
    "  attnd-prune --model kernel-bert --data logs.jsonl --out models/small --mlp 0.5 --heads "
    "0.25\n"
    "  attnd-prune --model wafer-vit --data wafers/ --out models/quick --mlp 0.5 --mirror --turn";

/* ---- progress ---- */

static void show_phase(void *context, enum prune_phase phase, size_t done, size_t total)
{
    static const char *const names[] = {
        [PRUNE_BEFORE] = "judging the model as it is",
        [PRUNE_IMPORTANCE] = "measuring importance",
        [PRUNE_CUT] = "judging what is left",
        [PRUNE_AFTER] = "judging the result",
    };
    struct screen *screen = context;
    if (screen->is_terminal && done == total)
        screen->shown_ns = 0; /* the end of a phase is always shown */
    if (!screen_begin(screen))
        return;
    fprintf(stderr, "%s %zu/%zu", names[phase], done, total);
    screen_end(screen);
}

static void show_plan(void *context, const struct trainer_plan *plan)
{
    screen_clear(context);
    if (plan->unusable > 0)
        fprintf(stderr, "%zu inputs cannot be used; the first is %.80s: %s\n", plan->unusable,
                plan->unusable_name, plan->unusable_reason);
    if (plan->remarks != NULL)
        fputs(plan->remarks, stderr);
    if (plan->resumed)
        fprintf(stderr, "the fine-tuning goes on after step %llu of %llu\n",
                (unsigned long long)plan->step, (unsigned long long)plan->steps);
}

static void show_learning(void *context, const struct trainer_progress *progress)
{
    static const char *const verbs[] = {"reading", "learning", "judging", "concluding"};
    struct screen *screen = context;
    if (!screen_begin(screen))
        return;
    fprintf(stderr, "%s %zu/%zu", verbs[progress->phase], progress->done, progress->total);
    if (progress->phase == TRAINER_LEARNING)
        fprintf(stderr, ", epoch %u of %u, loss %.4f, %.0f/s", progress->epoch, progress->epochs,
                progress->loss, progress->inputs_per_second);
    if (progress->seconds_left >= 0)
        fprintf(stderr, ", %.0f s left", progress->seconds_left);
    screen_end(screen);
}

static void show_epoch(void *context, const struct history_epoch *epoch, bool is_best, bool rises)
{
    (void)rises;
    screen_clear(context);
    fprintf(stderr, "epoch %3.0f  loss %.4f  validation %.4f  accuracy %.4f  macro-F1 %.4f%s\n",
            epoch->epoch, epoch->train_loss, epoch->validation_loss, epoch->accuracy,
            epoch->macro_f1, is_best ? "  *" : "");
}

/* ---- the table ---- */

static void print_row(const char *name, const struct prune_figures *figures)
{
    const struct interval *accuracy = &figures->accuracy_interval;
    const struct interval *macro_f1 = &figures->macro_f1_interval;
    printf("%-11s  %.4f [%.4f, %.4f]  %.4f [%.4f, %.4f]  %10zu  %8.3f\n", name, figures->accuracy,
           accuracy->low, accuracy->high, figures->macro_f1, macro_f1->low, macro_f1->high,
           figures->parameters, figures->ms);
}

/* ---- main ---- */

static enum err_code prune(struct cli_run *run, struct err *err)
{
    struct prune_options *options = run->target;
    struct screen screen;
    screen_open(&screen, SCREEN_MS, SCREEN_FILE_MS);
    const struct prune_hooks hooks = {.progress = show_phase,
                                      .context = &screen,
                                      .trainer = {.plan = show_plan,
                                                  .progress = show_learning,
                                                  .epoch = show_epoch,
                                                  .context = &screen,
                                                  .stop = cli_main_stop()}};
    struct prune_result result;
    if (shipped_dir(&options->train.model, err) || prune_options_check(options, err))
        return err->code;
    prune_run(options, &hooks, &result, err);
    screen_clear(&screen);
    if (err->code == ERR_OK && result.interrupted) {
        fprintf(stderr, "stopped; the same command goes on from %s\n", options->train.out);
        run->status = CLI_STOPPED;
    } else if (err->code == ERR_OK) {
        printf("%u of %u heads and %u of %u MLP columns a layer cut, by their importance for %zu "
               "inputs\n",
               result.heads_gone, result.heads, result.columns_gone, result.columns, result.inputs);
        printf("on %zu validation inputs, with 95 %% intervals:\n", result.before.inputs);
        printf("%-11s  %-24s  %-24s  %10s  %8s\n", "", "accuracy", "macro-F1", "weights", "CPU ms");
        print_row("as it was", &result.before);
        print_row("cut", &result.cut);
        print_row("fine-tuned", &result.tuned);
        fflush(stdout); /* the next lines go to stderr */
        cli_print_next(options->train.out);
    }
    prune_result_free(&result);
    return err->code;
}

int main(int argc, char **argv)
{
    struct cli cli = {.program = "attnd-prune",
                      .usage = "attnd-prune --model DIR --data PATH --out DIR --heads SHARE --mlp "
                               "SHARE [OPTION]...",
                      .summary = summary,
                      .examples = examples};
    struct prune_options options;
    cli.options = prune_cli_options(&cli.option_count);
    prune_options_default(&options);
    return cli_main(&(struct cli_program){.cli = &cli, .run = prune}, 1, argc, argv, &options);
}
