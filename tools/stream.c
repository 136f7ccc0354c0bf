/* attnd-stream - verdicts for the messages of Kafka topics; see tools/stream/. */
#include "engine/cli/cli_main.h"
#include "tools/stream/stream_http.h"
#include "tools/stream/stream_options.h"
#include "tools/stream/stream_run.h"

struct program {
    struct stream_options options;
    struct stream_metrics metrics;
    struct stream_http *http;
    struct answers_model model;
    struct stream_batch *batch;
    struct kafka *kafka;
    const atomic_bool *stop;
};

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
static void close_all(void *target)
{
    struct program *program = target;
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

static enum err_code read_options(void *target, enum cli_action *action, int argc,
                                  char *const *argv, struct err *err)
{
    return stream_options_read(&((struct program *)target)->options, action, argc, argv, err);
}

static enum err_code run(struct cli_run *run, struct err *err)
{
    struct program *program = run->target;
    program->stop = cli_main_stop();
    if (open_all(program, err)) {
        if (atomic_load(program->stop))
            *err = (struct err){0};
        return err->code;
    }
    if (!announce(program))
        return ERR_OK; /* cli_main sees that the output was not taken */
    atomic_store(&program->metrics.is_ready, true);
    stream_run(program->kafka, program->batch, &program->options, &program->metrics, program->stop,
               err);
    atomic_store(&program->metrics.is_ready, false);
    return err->code;
}

static const struct cli_program programs[] = {
    {.cli = &stream_options_cli, .read = read_options, .run = run, .close = close_all}};

int main(int argc, char **argv)
{
    static struct program program;
    return cli_main(programs, 1, argc, argv, &program);
}
