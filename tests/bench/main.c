/* attnd-bench - what this machine can do, and how near to it the kernels and the models come.
 *
 *     attnd-bench                  everything, in some minutes
 *     attnd-bench machine          one part: machine, kernels, training, models, explain, http
 *     attnd-bench serve --models DIR
 *                                  a co-process for tests/bench/peer.py
 *     attnd-bench steps            one for tests/bench/train_peer.py
 *     attnd-bench writing --models DIR [--dtype int8]
 *                                  one for tests/bench/writing.py
 *     attnd-bench index            an index of a million vectors; not a part of everything
 */
#include "engine/base/cpu.h"
#include "engine/base/openblas.h"
#include "engine/cli/cli.h"
#include "tests/bench/backward_lines.h"
#include "tests/bench/checkpoints.h"
#include "tests/bench/explain_lines.h"
#include "tests/bench/http_lines.h"
#include "tests/bench/index_lines.h"
#include "tests/bench/kernel_lines.h"
#include "tests/bench/local_lines.h"
#include "tests/bench/machine.h"
#include "tests/bench/offline.h"
#include "tests/bench/serve.h"
#include "tests/bench/steps.h"
#include "tests/bench/writing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_USAGE = 2 };

enum {
    PART_MACHINE = 1,
    PART_KERNELS = 2,
    PART_MODELS = 4,
    PART_HTTP = 8,
    PART_SERVE = 16,
    PART_TRAINING = 32,
    PART_STEPS = 64,
    PART_EXPLAIN = 128,
    PART_INDEX = 256,
    PART_WRITING = 512,
    PARTS_ALL = PART_MACHINE | PART_KERNELS | PART_TRAINING | PART_MODELS | PART_EXPLAIN | PART_HTTP
};

struct bench {
    unsigned parts, threads;
    const char *bert, *vit, *models, *dtype, *work, *texts;
    double seconds, ort_ms;
    char bert_made[256], vit_made[256];
};

/* ---- options ---- */

static enum err_code add_part(const struct cli_option *option, void *target, const char *value,
                              struct err *err)
{
    static const struct {
        const char *name;
        unsigned part;
    } parts[] = {{"machine", PART_MACHINE}, {"kernels", PART_KERNELS}, {"training", PART_TRAINING},
                 {"models", PART_MODELS},   {"http", PART_HTTP},       {"serve", PART_SERVE},
                 {"steps", PART_STEPS},     {"explain", PART_EXPLAIN}, {"index", PART_INDEX},
                 {"writing", PART_WRITING}};
    (void)option;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(value, parts[i].name) == 0) {
            ((struct bench *)target)->parts |= parts[i].part;
            return ERR_OK;
        }
    return err_set(
        err, ERR_UNUSABLE,
        "parts are machine, kernels, training, models, explain, http, serve, steps, index and "
        "writing");
}

#define FIELD(field) CLI_FIELD(struct bench, field)

static const struct cli_option options[] = {
    {.name = "bert",
     FIELD(bert),
     .value = "DIR",
     .help = "A BERT checkpoint (default: BERT-base of random weights, made once)."},
    {.name = "vit",
     FIELD(vit),
     .value = "DIR",
     .help = "A ViT checkpoint (default: ViT-B/16 of random weights, made once)."},
    {.name = "models",
     FIELD(models),
     .value = "DIR",
     .help = "serve: where KIND-base lies for each kind that is asked for. writing: a model that "
             "writes."},
    {.name = "dtype", FIELD(dtype), .value = "NAME", .help = "writing: f32, bf16 or int8."},
    {.name = "threads",
     FIELD(threads),
     .value = "N",
     .min = 1,
     .max = 1024,
     .help = "Compute threads (default: what the cgroup quota allows)."},
    {.name = "work",
     FIELD(work),
     .value = "DIR",
     .fallback = "build/bench",
     .help = "Where made checkpoints and logs are kept."},
    {.name = "texts",
     FIELD(texts),
     .value = "FILE",
     .help = "HTTP: JSON lines of texts, the first of 126 tokens (default: made)."},
    {.name = "seconds",
     FIELD(seconds),
     .value = "S",
     .fallback = "10",
     .min = 0.1,
     .max = 1e6,
     .help = "HTTP: the duration of each load."},
    {.name = "ort-ms",
     FIELD(ort_ms),
     .value = "MS",
     .min = 0.1,
     .max = 1e6,
     .help = "ONNX Runtime's fp32 time of BERT 1 x 128 now, to scale recorded figures by."},
};

static const struct cli cli = {
    .program = "attnd-bench",
    .usage =
        "attnd-bench [machine|kernels|training|models|explain|http|serve|steps|index|writing]... "
        "[OPTION]...",
    .summary = "Measures the machine, the kernels and the models, each beside its limit.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .positional = add_part,
};

/* ---- the parts ---- */

static enum err_code make_checkpoints(struct bench *bench, struct err *err)
{
    if (mkdir(bench->work, 0777) != 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "%s: %s", bench->work, strerror(errno));
    snprintf(bench->bert_made, sizeof bench->bert_made, "%s/bert-base", bench->work);
    snprintf(bench->vit_made, sizeof bench->vit_made, "%s/vit-base", bench->work);
    if (bench->bert == NULL) {
        bench->bert = bench->bert_made;
        checkpoints_bert(bench->bert, &checkpoints_base, err);
    }
    if (bench->vit == NULL) {
        bench->vit = bench->vit_made;
        checkpoints_vit(bench->vit, &checkpoints_base, err);
    }
    return err->code;
}

static enum err_code measure(struct bench *bench, struct err *err)
{
    struct machine machine;
    fprintf(stderr, "machine: peaks and bandwidths\n");
    if (machine_measure(&machine, bench->threads, err))
        return err->code;
    machine_print(&machine, stdout);
    fflush(stdout);
    if ((bench->parts & PART_KERNELS) &&
        (kernel_lines_print(&machine, stdout, err) || local_lines_print(stdout, err)))
        return err->code;
    if ((bench->parts & PART_TRAINING) && backward_lines_print(&machine, stdout, err))
        return err->code;
    struct offline_options offline = {bench->bert, bench->vit, bench->threads};
    if ((bench->parts & PART_MODELS) && offline_print(&offline, &machine, stdout, err))
        return err->code;
    struct explain_lines_options explain = {bench->bert, bench->vit, bench->threads};
    if ((bench->parts & PART_EXPLAIN) && explain_lines_print(&explain, stdout, err))
        return err->code;
    struct http_options http = {.bert = bench->bert,
                                .vit = bench->vit,
                                .work = bench->work,
                                .texts = bench->texts,
                                .threads = bench->threads,
                                .seconds = bench->seconds,
                                .ort_ms = bench->ort_ms};
    if (bench->parts & PART_HTTP)
        http_lines_print(&http, stdout, err);
    return err->code;
}

static enum err_code run(struct bench *bench, struct err *err)
{
    if (bench->parts & PART_SERVE) {
        struct serve_options serve = {bench->models, bench->threads};
        return serve_run(&serve, stdin, stdout, err);
    }
    if (bench->parts & PART_WRITING) {
        struct writing_options writing = {bench->models, bench->dtype, bench->threads};
        return writing_run(&writing, stdin, stdout, err);
    }
    if (bench->parts & PART_STEPS)
        return steps_run(bench->threads, stdin, stdout, err);
    if (bench->parts == 0)
        bench->parts = PARTS_ALL;
    if (bench->parts == PART_INDEX && mkdir(bench->work, 0777) != 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "%s: %s", bench->work, strerror(errno));
    if (bench->parts == PART_INDEX)
        return index_lines_print(bench->work, bench->threads, stdout, err);
    if ((bench->parts & ~(PART_MACHINE | PART_KERNELS | PART_TRAINING)) &&
        make_checkpoints(bench, err))
        return err->code;
    return measure(bench, err);
}

int main(int argc, char **argv)
{
    openblas_set_environment();
    struct bench bench = {.threads = cpu_quota_threads("")};
    struct err err = {0};
    enum cli_action action;
    if (cli_parse(&cli, argc, argv, &bench, &action, &err)) {
        fprintf(stderr, "attnd-bench: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (action == CLI_HELP)
        cli_help(&cli, stdout);
    else if (action == CLI_VERSION)
        cli_print_version(&cli, stdout);
    else if (run(&bench, &err))
        fprintf(stderr, "attnd-bench: %s\n", err.text);
    return fflush(stdout) == 0 && err.code == ERR_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
