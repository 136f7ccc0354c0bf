#include "tests/bench/offline.h"

#include "tests/bench/runner.h"
#include "tests/bench/stopwatch.h"

static const struct row {
    const char *name;
    bool is_image;
    unsigned batch, tokens;
    /* Targets of int8; 0: none. The other targets are ratios to a peer's time: peer.py. */
    double share_min, ms_max;
} rows[] = {
    {"BERT 1 x 16", false, 1, 16, 0, 0},
    {"BERT 1 x 128", false, 1, 128, 0.75, 0},
    {"BERT 8 x 128", false, 8, 128, 0, 0},
    {"BERT 16 x 8-256", false, INPUTS_MIXED_ROWS, INPUTS_MIXED, 0, 0},
    {"ViT 1", true, 1, 0, 0.75, 50},
    {"ViT 8", true, 8, 0, 0, 0},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

struct work {
    struct runner *runner;
    struct inputs *inputs;
};

static void run_once(void *context)
{
    struct work *work = context;
    runner_run(work->runner, work->inputs);
}

static enum err_code make_inputs(struct inputs *out, const struct row *row,
                                 const struct engine_info *info, struct err *err)
{
    return row->is_image ? inputs_images(out, info, row->batch, err)
                         : inputs_texts(out, info, row->batch, row->tokens, err);
}

static void print_targets(const struct row *row, enum peak_type type, double ms, double share,
                          FILE *file)
{
    if (type != PEAK_INT8)
        return;
    if (row->share_min > 0)
        fprintf(file, "  target >= %.0f %%: %s", row->share_min * 100,
                share >= row->share_min ? "met" : "MISSED");
    if (row->ms_max > 0)
        fprintf(file, "  target < %.0f ms: %s", row->ms_max, ms < row->ms_max ? "met" : "MISSED");
}

/* fp32: the same batch in fp32, for the difference; NULL if this is it. */
static void print_line(const struct row *row, enum peak_type type, struct runner *runner,
                       struct inputs *inputs, const struct inputs *fp32,
                       const struct machine *machine, FILE *file)
{
    struct work work = {runner, inputs};
    struct stopwatch time = stopwatch_take(run_once, &work, STOPWATCH_MODEL);
    double rate = runner_operations(runner->info, inputs) * 1e-6 / time.median_ms;
    double peak = machine->peak[type].all;
    fprintf(file, "%-16s %-4s %9.2f ms (%.2f)  %8.0f tokens/s  %7.1f Gop/s", row->name,
            peak_type_name(type), time.median_ms, time.minimum_ms,
            (double)inputs->tokens * 1e3 / time.median_ms, rate);
    if (peak > 0)
        fprintf(file, "  %5.1f %% of peak", 100 * rate / peak);
    if (fp32 != NULL)
        fprintf(file, "  logits differ %.1e", runner_difference(runner->info, inputs, fp32));
    print_targets(row, type, time.median_ms, peak > 0 ? rate / peak : 0, file);
    fprintf(file, "\n");
    fflush(file);
}

/* Every row of one model in one dtype. fp32[ROWS] is filled by fp32 and read by the others. */
static enum err_code print_rows(bool is_image, enum peak_type type, struct runner *runner,
                                struct inputs fp32[ROWS], const struct machine *machine, FILE *file,
                                struct err *err)
{
    for (unsigned i = 0; i < ROWS; i++) {
        if (rows[i].is_image != is_image)
            continue;
        struct inputs own;
        struct inputs *inputs = type == PEAK_F32 ? &fp32[i] : &own;
        fprintf(stderr, "offline: %s %s\n", rows[i].name, runner_dtypes[type]);
        if (!make_inputs(inputs, &rows[i], runner->info, err))
            print_line(&rows[i], type, runner, inputs, type == PEAK_F32 ? NULL : &fp32[i], machine,
                       file);
        if (type != PEAK_F32)
            inputs_free(inputs);
        if (err->code != ERR_OK)
            return err->code;
    }
    return ERR_OK;
}

static enum err_code print_model(const char *dir, bool is_image, unsigned threads,
                                 const struct machine *machine, FILE *file, struct err *err)
{
    struct inputs fp32[ROWS] = {{.count = 0}};
    for (unsigned type = 0; type < PEAK_TYPES && err->code == ERR_OK; type++) {
        struct runner runner;
        struct err refusal = {0};
        if (!runner_open(&runner, dir, runner_dtypes[type], threads, &refusal))
            print_rows(is_image, type, &runner, fp32, machine, file, err);
        else if (type == PEAK_F32)
            err_set(err, refusal.code, "%s: %s", dir, refusal.text);
        else
            fprintf(file, "%-16s %-4s refused: %s\n", is_image ? "ViT" : "BERT",
                    runner_dtypes[type], refusal.text);
        runner_close(&runner);
    }
    for (unsigned i = 0; i < ROWS; i++)
        inputs_free(&fp32[i]);
    return err->code;
}

enum err_code offline_print(const struct offline_options *options, const struct machine *machine,
                            FILE *file, struct err *err)
{
    fprintf(file, "## Models, offline\n");
    if (print_model(options->bert, false, options->threads, machine, file, err) ||
        print_model(options->vit, true, options->threads, machine, file, err))
        return err->code;
    fprintf(file, "\n");
    return ERR_OK;
}
