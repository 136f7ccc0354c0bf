#include "tests/bench/explain_lines.h"

#include "engine/base/clock.h"
#include "tests/bench/runner.h"
#include "tests/bench/stopwatch.h"
#include "tests/support/run_logits.h"

enum { TURNS = 15, BERT_TOKENS = 128, BERT_TOKENS_LONG = 512 };

/* Rollout's share of the time without it, at most. */
static const double rollout_share_max = 0.10;

struct bout {
    struct runner *runner;
    const struct inputs *inputs;
    const char *name;
    struct err *err;
};

/* One input with its explanation, as POST /predict computes it. */
static double explained_ms(const struct bout *bout, const struct explain_options *how)
{
    struct arena arena;
    struct engine_input input = *bout->inputs->rows[0];
    const struct engine_model *model = bout->runner->model;
    const float *relevance;
    uint64_t start = clock_now_ns();
    arena_init(&arena);
    if (!engine_capture(model, &input, how, &arena, bout->err)) {
        run_logits(bout->runner->session, &(const struct engine_input *){&input}, 1,
                   bout->inputs->logits);
        engine_relevance(model, &input, how, 0, &arena, &relevance, bout->err);
    }
    arena_deinit(&arena);
    return clock_ms_between(start, clock_now_ns());
}

static void print_method(const struct bout *bout, enum explain_method method, FILE *file)
{
    const struct explain_options how = {.method = method};
    double plain[TURNS], explained[TURNS];
    runner_run(bout->runner, bout->inputs);
    explained_ms(bout, &how);
    for (unsigned i = 0; i < TURNS; i++) {
        plain[i] = runner_run(bout->runner, bout->inputs);
        explained[i] = explained_ms(bout, &how);
    }
    struct stopwatch without = stopwatch_summary(plain, TURNS);
    struct stopwatch with = stopwatch_summary(explained, TURNS);
    double share = with.median_ms / without.median_ms - 1;
    fprintf(file, "%-12s %-4s %-9s %8.2f ms (%.2f)  without %8.2f (%.2f)  %+6.1f %% (%+.1f)",
            bout->name, bout->runner->info->dtype, method_name(method), with.median_ms,
            with.minimum_ms, without.median_ms, without.minimum_ms, 100 * share,
            100 * (with.minimum_ms / without.minimum_ms - 1));
    if (method == EXPLAIN_ROLLOUT)
        fprintf(file, "  target <= %.0f %%: %s", 100 * rollout_share_max,
                share <= rollout_share_max ? "met" : "MISSED");
    fprintf(file, "\n");
    fflush(file);
}

static enum err_code print_input(struct bout *bout, unsigned tokens, FILE *file)
{
    struct inputs inputs;
    const struct engine_info *info = bout->runner->info;
    bout->inputs = &inputs;
    enum err_code code = info->kind == ENGINE_IMAGE
                             ? inputs_images(&inputs, info, 1, bout->err)
                             : inputs_texts(&inputs, info, 1, tokens, bout->err);
    for (int m = 0; code == ERR_OK && m < EXPLAIN_LABEL_METHODS; m++)
        print_method(bout, (enum explain_method)m, file);
    inputs_free(&inputs);
    return bout->err->code;
}

static enum err_code print_model(const char *dir, bool is_image, unsigned threads, FILE *file,
                                 struct err *err)
{
    for (unsigned type = 0; type < PEAK_TYPES && err->code == ERR_OK; type++) {
        struct runner runner;
        struct err refusal = {0};
        struct bout bout = {.runner = &runner, .err = err};
        fprintf(stderr, "explanations: %s %s\n", is_image ? "ViT" : "BERT", runner_dtypes[type]);
        if (runner_open(&runner, dir, runner_dtypes[type], threads, &refusal)) {
            fprintf(file, "%s: refused: %s\n", runner_dtypes[type], refusal.text);
        } else if (is_image) {
            bout.name = "ViT 1";
            print_input(&bout, 0, file);
        } else {
            bout.name = "BERT 1 x 128";
            if (!print_input(&bout, BERT_TOKENS, file)) {
                bout.name = "BERT 1 x 512";
                print_input(&bout, BERT_TOKENS_LONG, file);
            }
        }
        runner_close(&runner);
    }
    return err->code;
}

enum err_code explain_lines_print(const struct explain_lines_options *options, FILE *file,
                                  struct err *err)
{
    fprintf(file, "## Explanations, offline\n");
    if (print_model(options->bert, false, options->threads, file, err) ||
        print_model(options->vit, true, options->threads, file, err))
        return err->code;
    fprintf(file, "\n");
    return ERR_OK;
}
