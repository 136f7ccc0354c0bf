#include "tests/bench/runner.h"

#include "engine/base/clock.h"
#include "tests/support/run_logits.h"

#include <math.h>

const char *const runner_dtypes[PEAK_TYPES] = {"f32", "bf16", "int8"};

enum err_code runner_open(struct runner *out, const char *dir, const char *dtype, unsigned threads,
                          struct err *err)
{
    *out = (struct runner){0};
    struct engine_options options = {.dtype = dtype};
    if (engine_open(&out->model, dir, &options, err))
        return err->code;
    out->info = engine_describe(out->model);
    return engine_session_open(&out->session, out->model, RUNNER_TOKENS_MAX, threads, err);
}

void runner_close(struct runner *runner)
{
    engine_session_close(runner->session);
    engine_close(runner->model);
    *runner = (struct runner){0};
}

double runner_run(struct runner *runner, const struct inputs *inputs)
{
    uint64_t start = clock_now_ns();
    run_logits(runner->session, inputs->rows, inputs->count, inputs->logits);
    return clock_ms_between(start, clock_now_ns());
}

static double row_operations(const struct engine_info *info, double n)
{
    double hidden = info->hidden_size, mlp = info->intermediate_size;
    double block = 2 * n * hidden * (4 * hidden + 2 * mlp) + 4 * n * n * hidden;
    double head = 2 * hidden * info->label_count;
    if (info->kind == ENGINE_TEXT)
        return info->layers * block + head + 2 * hidden * hidden;
    double pixels = (double)info->image_height * info->image_width;
    return info->layers * block + head + 2 * 3 * pixels * hidden;
}

double runner_operations(const struct engine_info *info, const struct inputs *inputs)
{
    double sum = 0;
    for (unsigned r = 0; r < inputs->count; r++)
        sum += row_operations(info, inputs->rows[r]->tokens);
    return sum;
}

double runner_difference(const struct engine_info *info, const struct inputs *a,
                         const struct inputs *b)
{
    double difference = 0, scale = 0;
    for (unsigned r = 0; r < b->count; r++)
        for (unsigned i = 0; i < info->label_count; i++) {
            double x = (double)a->logits[r][i], y = (double)b->logits[r][i];
            difference = fmax(difference, fabs(x - y));
            scale = fmax(scale, fabs(y));
        }
    return scale > 0 ? difference / scale : difference;
}
