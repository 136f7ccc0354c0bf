/* attnd-stream - verdicts for the messages of Kafka topics; see tools/stream/. */
#include "engine/base/file.h"
#include "tools/stream/stream_http.h"
#include "tools/stream/stream_options.h"
#include "tools/stream/stream_run.h"

#include "engine/base/openblas.h"
#include "engine/cli/ctrl_c.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXIT_RUNTIME = 1, EXIT_USAGE = 2 };

/* All of a run; zero to begin with. */
struct program {
    struct stream_options options;
    struct stream_metrics metrics;
    struct stream_http *http;
    struct answers_model model;
    struct stream_batch *batch;
    struct kafka *kafka;
    const atomic_bool *stop;
};

static int fail(const struct err *err)
{
    bool is_usage = err->code == ERR_UNUSABLE || err->code == ERR_UNSUPPORTED;
    fprintf(stderr, "attnd-stream: %s\n", err->text);
    return is_usage ? EXIT_USAGE : EXIT_RUNTIME;
}

/* The observers' address first: a start that waits for brokers can be looked at. */
static enum err_code open_all(struct program *program, struct err *err)
{
    struct stream_options *options = &program->options;
    if (options->metrics_host[0] != '\0' &&
        stream_http_start(&program->http, options->metrics_host, options->metrics_port,
                          &program->metrics, err))
        return err_prefix(err, "metrics_listen: ");
    if (answers_model_open(&program->model, &options->answers, err))
        return err->code;
    const struct engine_info *info = engine_describe(program->model.engine);
    if (info->dtype_reason != NULL)
        fprintf(stderr, "attnd-stream: dtype_chosen: %s\n", info->dtype_reason);
    if (stream_batch_open(&program->batch, options, &program->model, err))
        return err->code;
    return kafka_open(&program->kafka, options, &program->metrics.kafka, program->stop, err);
}

/* Messages are the library's, so the batch goes first. */
static void close_all(struct program *program)
{
    stream_batch_close(program->batch);
    kafka_close(program->kafka);
    answers_model_close(&program->model);
    stream_http_stop(program->http);
    stream_options_free(&program->options);
}

/* One line on standard output once it reads. */
static bool announce(const struct program *program)
{
    printf("attnd-stream: reading %s as %s in group %s", program->options.topics,
           program->options.member, program->options.group);
    if (program->http != NULL)
        printf(", metrics on http://%s:%u/metrics", program->options.metrics_host,
               stream_http_port(program->http));
    return printf("\n") > 0 && fflush(stdout) == 0;
}

static int run(struct program *program)
{
    struct err err = {0};
    program->stop = ctrl_c_catch();
    if (open_all(program, &err))
        return atomic_load(program->stop) ? EXIT_SUCCESS : fail(&err);
    if (!announce(program))
        return EXIT_RUNTIME;
    atomic_store(&program->metrics.is_ready, true);
    stream_run(program->kafka, program->batch, &program->options, &program->metrics, program->stop,
               &err);
    atomic_store(&program->metrics.is_ready, false);
    return err.code != ERR_OK ? fail(&err) : EXIT_SUCCESS;
}

static int start(struct program *program, int argc, char **argv)
{
    enum cli_action action;
    struct err err = {0};
    if (stream_options_read(&program->options, &action, argc, argv, &err))
        return fail(&err);
    if (action == CLI_HELP)
        cli_help(&stream_options_cli, stdout);
    if (action == CLI_VERSION)
        cli_print_version(&stream_options_cli, stdout);
    if (action != CLI_RUN)
        return cli_printed() ? EXIT_SUCCESS : EXIT_RUNTIME;
    return run(program);
}

int main(int argc, char **argv)
{
    file_open_standard();
    static struct program program;
    openblas_set_environment();
    int status = start(&program, argc, argv);
    close_all(&program);
    return status;
}
