/* http_lines.c - see http_lines.h. For each dtype: three starts for the time from exec to the ready
 * line; then, against one server, one connection and thirty-two with texts of 126 tokens, and
 * thirty-two with mixed lengths; between them nothing else runs. The engine's offline rate is taken
 * in this process right before and right after, and the better one counts, so that a neighbour's
 * burst does not flatter the server. The load generator shares the server's cores: its own CPU
 * time, spread over the compute threads, is taken off the duration.
 *
 * The recorded figures are those of text-embeddings-inference on another day's machine; they are
 * scaled by how ONNX Runtime's fp32 time of the same model then compares with now.
 */
#include "tests/bench/http_lines.h"

#include "engine/base/clock.h"
#include "engine/base/doc.h"
#include "tests/bench/process.h"
#include "tests/bench/runner.h"
#include "tests/bench/samples.h"
#include "tests/bench/stopwatch.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 512, REPORT_BYTES = 1 << 20, STARTS = 3, SATURATED = 32, OFFLINE_ROWS = 16 };

static const double recorded_ort_ms = 142, recorded_mixed_tokens_per_s = 576,
                    recorded_single_p50_ms = 114, recorded_resident_mb = 812;
static const double weights_slack_mb = 64, share_of_offline_min = 0.95;
static const double overhead_text_ms_max = 0.3, overhead_image_ms_max = 1;

/* Against the recorded figures; 0: no target. */
static const struct target {
    double mixed_min, single_max, resident_max, ready_ms_max;
} targets[PEAK_TYPES] = {
    [PEAK_F32] = {2.0, 0.95, 0.65, 300}, [PEAK_BF16] = {0}, [PEAK_INT8] = {6.0, 0.35, 0.35, 1000}};

struct bench {
    const struct http_options *options;
    FILE *file;
    enum peak_type type;
    const char *model; /* the served directory */
    struct runner runner;
    struct process server;
    unsigned port;
    char all[PATH_BYTES], first[PATH_BYTES], picture[PATH_BYTES], log[PATH_BYTES];
    struct samples samples;
    double resident_mb;
};

/* ---- printing ---- */

static void print_value(struct bench *bench, const char *what, double value, const char *unit)
{
    fprintf(bench->file, "%-4s %-36s %10.2f %-9s", peak_type_name(bench->type), what, value, unit);
}

static void print_at_most(struct bench *bench, const char *what, double value, const char *unit,
                          double limit)
{
    print_value(bench, what, value, unit);
    if (limit > 0)
        fprintf(bench->file, "  target <= %.2f: %s", limit, value <= limit ? "met" : "MISSED");
    fprintf(bench->file, "\n");
}

static void print_at_least(struct bench *bench, const char *what, double value, const char *unit,
                           double limit)
{
    print_value(bench, what, value, unit);
    if (limit > 0)
        fprintf(bench->file, "  target >= %.2f: %s", limit, value >= limit ? "met" : "MISSED");
    fprintf(bench->file, "\n");
}

/* Time of the same work now over the recorded time; 0: unknown. */
static double slowness(const struct bench *bench)
{
    return bench->options->ort_ms / recorded_ort_ms;
}

/* ---- the server ---- */

static enum err_code start_server(struct bench *bench, double *ready_ms, struct err *err)
{
    char model[PATH_BYTES + 32], line[512];
    snprintf(model, sizeof model, "model=%s,dtype=%s", bench->model, runner_dtypes[bench->type]);
    const char *const arguments[] = {"--listen",    "127.0.0.1:0", "--model", model,
                                     "--log-level", "warn",        NULL};
    if (process_start(&bench->server, "attnd", arguments, bench->log, err))
        return err->code;
    if (process_line(&bench->server, line, sizeof line, err)) {
        process_stop(&bench->server);
        return err_prefix(err, "see %s: ", bench->log);
    }
    *ready_ms = clock_ms_between(bench->server.start_ns, clock_now_ns());
    const char *port = strstr(line, "127.0.0.1:");
    if (port == NULL)
        return err_set(err, ERR_INTERNAL, "attnd said no port");
    bench->port = (unsigned)strtoul(port + strlen("127.0.0.1:"), NULL, 10);
    return ERR_OK;
}

static enum err_code measure_start(struct bench *bench, struct err *err)
{
    double times[STARTS];
    for (unsigned i = 0; i < STARTS; i++) {
        if (start_server(bench, &times[i], err))
            return err->code;
        process_stop(&bench->server);
    }
    struct stopwatch time = stopwatch_summary(times, STARTS);
    print_at_most(bench, "ready after exec, median of 3", time.median_ms, "ms",
                  targets[bench->type].ready_ms_max);
    return ERR_OK;
}

/* ---- one load ---- */

struct load {
    double answers, seconds, cpu_seconds;
    double p50_ms, p99_ms, overhead_p50_ms, prepare_p50_ms;
};

static enum err_code read_quantile(const struct json_t *root, const char *member,
                                   const char *quantile, double *out, struct err *err)
{
    const struct json_t *quantiles = doc_member(root, member);
    if (quantiles == NULL)
        return err_set(err, ERR_INTERNAL, "attnd-load reports no %s", member);
    return doc_get_number(quantiles, member, quantile, out, err);
}

static enum err_code read_report(const char *report, struct load *out, struct err *err)
{
    struct json_t *root;
    *out = (struct load){0};
    if (doc_parse(&root, report, strlen(report), &doc_limits_file, err))
        return err_prefix(err, "attnd-load: ");
    const struct json_t *outcomes = doc_member(root, "outcomes");
    if (outcomes == NULL)
        err_set(err, ERR_INTERNAL, "attnd-load reports no outcomes");
    else if (!doc_get_number(outcomes, "$.outcomes", "ok", &out->answers, err) &&
             !doc_get_number(root, "$", "seconds", &out->seconds, err) &&
             !doc_get_number(root, "$", "cpu_seconds", &out->cpu_seconds, err) &&
             !read_quantile(root, "latency_ms", "p50", &out->p50_ms, err) &&
             !read_quantile(root, "latency_ms", "p99", &out->p99_ms, err) &&
             !read_quantile(root, "overhead_ms", "p50", &out->overhead_p50_ms, err))
        read_quantile(root, "server_prepare_ms", "p50", &out->prepare_p50_ms, err);
    doc_free(root);
    return err->code;
}

static enum err_code run_load(struct bench *bench, unsigned connections, const char *source,
                              const char *path, struct load *out, struct err *err)
{
    char url[64], count[16], seconds[16], log[PATH_BYTES + 16];
    struct process load;
    snprintf(url, sizeof url, "http://127.0.0.1:%u/predict", bench->port);
    snprintf(count, sizeof count, "%u", connections);
    snprintf(seconds, sizeof seconds, "%.1f", bench->options->seconds);
    snprintf(log, sizeof log, "%s.load", bench->log);
    const char *const arguments[] = {
        "--url",  url,      "--connections", count,  "--duration", seconds, "--timeout-ms",
        "120000", "--json", "--quiet",       source, path,         NULL};
    char *report = malloc(REPORT_BYTES);
    if (report == NULL)
        return err_no_memory(err, REPORT_BYTES);
    if (!process_start(&load, "attnd-load", arguments, log, err) &&
        !process_output(&load, report, REPORT_BYTES, err))
        read_report(report, out, err);
    free(report);
    return err->code != ERR_OK ? err_prefix(err, "see %s and %s: ", log, bench->log) : ERR_OK;
}

/* Seconds of the load, less what its generator took of the server's cores. */
static double server_seconds(const struct bench *bench, const struct load *load)
{
    return load->seconds - load->cpu_seconds / bench->options->threads;
}

/* ---- texts ---- */

struct offline {
    struct bench *bench;
    struct inputs inputs;
};

static void run_offline(void *context)
{
    struct offline *offline = context;
    runner_run(&offline->bench->runner, &offline->inputs);
}

/* Tokens a second of a packed batch of sixteen. */
static double offline_rate(struct bench *bench, unsigned tokens, struct err *err)
{
    struct offline offline = {.bench = bench};
    static const struct stopwatch_plan plan = {
        .budget_ms = 2000, .timing_ms = 0, .timings_min = 3, .untimed = 1};
    double rate = 0;
    if (!inputs_texts(&offline.inputs, bench->runner.info, OFFLINE_ROWS, tokens, err))
        rate = (double)offline.inputs.tokens * 1e3 /
               stopwatch_take(run_offline, &offline, plan).median_ms;
    inputs_free(&offline.inputs);
    return rate;
}

static enum err_code single_connection(struct bench *bench, struct err *err)
{
    struct load load;
    const struct target *target = &targets[bench->type];
    if (run_load(bench, 1, "--texts-jsonl", bench->first, &load, err))
        return err->code;
    print_at_most(bench, "1 connection, 126 tokens, p50", load.p50_ms, "ms",
                  target->single_max * recorded_single_p50_ms * slowness(bench));
    print_at_most(bench, "1 connection, 126 tokens, p99", load.p99_ms, "ms", 0);
    print_at_most(bench, "overhead of a text, p50", load.overhead_p50_ms, "ms",
                  overhead_text_ms_max);
    return ERR_OK;
}

static enum err_code saturated(struct bench *bench, bool mixed, struct err *err)
{
    struct load load;
    char what[64];
    unsigned tokens = mixed ? INPUTS_MIXED : SAMPLES_TOKENS;
    const struct target *target = &targets[bench->type];
    double before = offline_rate(bench, tokens, err);
    if (err->code != ERR_OK ||
        run_load(bench, SATURATED, "--texts-jsonl", mixed ? bench->all : bench->first, &load, err))
        return err->code;
    double after = offline_rate(bench, tokens, err), offline = before > after ? before : after;
    double sent = mixed ? samples_tokens(&bench->samples, load.answers)
                        : load.answers * bench->samples.tokens[0];
    double faster = slowness(bench) > 0 ? 1 / slowness(bench) : 0;
    const char *lengths = mixed ? "mixed lengths" : "126 tokens";
    snprintf(what, sizeof what, "32 connections, %s", lengths);
    print_at_least(bench, what, load.answers / load.seconds, "answers/s", 0);
    print_at_least(bench, what, sent / load.seconds, "tokens/s",
                   mixed ? target->mixed_min * recorded_mixed_tokens_per_s * faster : 0);
    print_at_most(bench, "  latency p50", load.p50_ms, "ms", 0);
    print_at_most(bench, "  latency p99", load.p99_ms, "ms", 0);
    print_at_least(bench, "  offline, batch of 16", offline, "tokens/s", 0);
    print_at_least(bench, "  share of offline, generator's CPU off",
                   sent / server_seconds(bench, &load) / offline, "", share_of_offline_min);
    fflush(bench->file);
    return err->code;
}

static void print_memory(struct bench *bench)
{
    double weights = (double)bench->runner.info->weight_bytes * 1e-6;
    print_at_most(bench, "resident after the loads", bench->resident_mb, "MB",
                  weights + weights_slack_mb);
    print_at_most(bench, "resident against the recorded 812 MB",
                  bench->resident_mb / recorded_resident_mb, "", targets[bench->type].resident_max);
}

static enum err_code bench_texts(struct bench *bench, struct err *err)
{
    double ready_ms;
    if (samples_read(&bench->samples, bench->all, bench->runner.model, err) ||
        measure_start(bench, err) || start_server(bench, &ready_ms, err))
        return err->code;
    if (!single_connection(bench, err) && !saturated(bench, false, err) &&
        !saturated(bench, true, err))
        bench->resident_mb = (double)process_resident_bytes(&bench->server) * 1e-6;
    process_stop(&bench->server);
    if (err->code == ERR_OK)
        print_memory(bench);
    return err->code;
}

/* ---- a picture ---- */

static enum err_code bench_picture(struct bench *bench, struct err *err)
{
    struct load load;
    double ready_ms;
    if (start_server(bench, &ready_ms, err))
        return err->code;
    if (!run_load(bench, 1, "--image", bench->picture, &load, err)) {
        print_at_most(bench, "PNG of 224 x 224, p50", load.p50_ms, "ms", 0);
        print_at_most(bench, "  of which decoding and resizing", load.prepare_p50_ms, "ms", 0);
        print_at_most(bench, "  overhead without those, p50",
                      load.overhead_p50_ms - load.prepare_p50_ms, "ms", overhead_image_ms_max);
    }
    process_stop(&bench->server);
    return err->code;
}

/* ---- the whole ---- */

static enum err_code prepare_files(struct bench *bench, struct err *err)
{
    const struct http_options *options = bench->options;
    snprintf(bench->all, sizeof bench->all, "%s/texts.jsonl", options->work);
    snprintf(bench->first, sizeof bench->first, "%s/text.jsonl", options->work);
    snprintf(bench->picture, sizeof bench->picture, "%s/wafer.png", options->work);
    snprintf(bench->log, sizeof bench->log, "%s/attnd.log", options->work);
    if (options->texts != NULL)
        snprintf(bench->all, sizeof bench->all, "%s", options->texts);
    else if (samples_write(bench->all, options->bert, err))
        return err->code;
    if (samples_first(bench->all, bench->first, err))
        return err->code;
    return samples_png(bench->picture, err);
}

/* Measures one model in one dtype. */
static enum err_code bench_model(struct bench *bench, const char *dir, enum peak_type type,
                                 enum err_code (*measure)(struct bench *bench, struct err *err),
                                 struct err *err)
{
    struct err refusal = {0};
    bench->model = dir;
    bench->type = type;
    fprintf(stderr, "http: %s %s\n", dir, runner_dtypes[type]);
    if (runner_open(&bench->runner, dir, runner_dtypes[type], bench->options->threads, &refusal))
        fprintf(bench->file, "%-4s %s refused: %s\n", peak_type_name(type),
                measure == bench_texts ? "BERT" : "ViT", refusal.text);
    else
        measure(bench, err);
    runner_close(&bench->runner);
    fflush(bench->file);
    return err->code;
}

enum err_code http_lines_print(const struct http_options *options, FILE *file, struct err *err)
{
    struct bench *bench = calloc(1, sizeof *bench);
    if (bench == NULL)
        return err_no_memory(err, sizeof *bench);
    *bench = (struct bench){.options = options, .file = file, .server = {.pid = -1}};
    fprintf(file, "## HTTP, loopback, the load generator on the same cores\n");
    if (options->ort_ms <= 0)
        fprintf(file, "(targets against recorded figures need --ort-ms: see make bench-peer)\n");
    prepare_files(bench, err);
    for (unsigned type = 0; type < PEAK_TYPES && err->code == ERR_OK; type++)
        if (!bench_model(bench, options->bert, type, bench_texts, err))
            bench_model(bench, options->vit, type, bench_picture, err);
    fprintf(file, "\n");
    free(bench);
    return err->code;
}
