/* attnd-batch - answers of a model for a million inputs, one result a line; see tools/batch/. */
#include "engine/cli/cli_main.h"
#include "tools/batch/batch_run.h"

struct program {
    struct batch_options options; /* the first member, which the table of options fills */
    struct local_model local;
    struct remote_server remote;
    struct output output;
    struct batch_run_result result;
};

/* Sources before the model, which takes longer. */
static enum err_code open_all(void *target, struct err *err)
{
    struct program *program = target;
    struct batch_options *options = &program->options;
    struct output_state state;
    if (batch_options_settle(options, err))
        return err->code;
    options->remote.stop = options->sources.stop = options->local.answers.stop = cli_main_stop();
    if (sources_open(&options->sources, options->text_field, options->image_field,
                     options->id_field, err))
        return err->code;
    for (unsigned i = 0; i < options->sources.count; i++)
        if (options->sources.items[i].files.notes != NULL)
            fprintf(stderr, "attnd-batch: %s\n", options->sources.items[i].files.notes);
    bool is_remote = options->remote.url != NULL;
    if (is_remote ? remote_server_open(&program->remote, &options->remote, err)
                  : local_model_open(&program->local, &options->local, err))
        return err->code;
    const char *model = is_remote ? program->remote.identity.bytes : program->local.answers.digest;
    const struct engine_info *info =
        is_remote ? NULL : engine_describe(program->local.answers.engine);
    options->local.format.texts = options->remote.format.texts =
        asking_texts(&options->local.answers.asking, info != NULL && info->writes != NULL
                                                         ? info->writes->config->sequences
                                                         : program->remote.texts);
    if (info != NULL && (info->task == ENGINE_EMBED || info->row_size > 0) &&
        options->local.format.is_csv)
        return err_set(err, ERR_UNSUPPORTED,
                       "--format csv: the model answers %s, which a table does not hold. Take "
                       "--format jsonl",
                       info->task == ENGINE_EMBED ? "vectors" : "parts of texts");
    if (info != NULL && info->dtype_reason != NULL)
        fprintf(stderr, "attnd-batch: dtype %s\n", info->dtype_reason);
    if (batch_options_state(&state, options, model, info != NULL ? info->dtype : NULL, err))
        output_state_free(&state);
    else
        output_open(&program->output, options->out, &state, err);
    return err->code;
}

static void close_all(void *target)
{
    struct program *program = target;
    output_close(&program->output);
    local_model_close(&program->local);
    remote_server_close(&program->remote);
    writing_options_close(&program->options.local.answers.asking.write);
    sources_close(&program->options.sources);
}

static enum err_code run(struct cli_run *run, struct err *err)
{
    struct program *program = run->target;
    const struct batch_options *options = &program->options;
    const struct batch_run_options how = {
        .local = options->remote.url == NULL ? &program->local : NULL,
        .remote = options->remote.url != NULL ? &program->remote : NULL,
        .format = &options->local.format,
        .threads = options->threads,
        .rate = options->rate,
        .stop = options->remote.stop};
    if (batch_run(&program->options.sources, &program->output, &how, &program->result, err)) {
        run->status = cli_main_status(err); /* a server may refuse the key or the model */
        return err->code;
    }
    const struct batch_run_result *result = &program->result;
    uint64_t now = result->inputs - result->before;
    if (result->is_stopped)
        fprintf(stderr, "stopped; %s\n",
                program->options.out != NULL ? "the same command goes on"
                                             : "with --out the same command would go on");
    fprintf(stderr, "attnd-batch: %llu inputs", (unsigned long long)result->inputs);
    if (result->before > 0)
        fprintf(stderr, " (%llu of them before)", (unsigned long long)result->before);
    fprintf(stderr, ", %llu failed, %.1f s, %.1f inputs a second\n",
            (unsigned long long)result->failed, result->seconds,
            result->seconds > 0 ? (double)now / result->seconds : 0.0);
    if (result->failure[0] != '\0')
        fprintf(stderr, "attnd-batch: the first that failed: %s\n", result->failure);
    if (program->result.is_stopped)
        run->status = CLI_STOPPED;
    else if (program->result.failed > 0)
        run->status = CLI_FAILURE;
    return ERR_OK;
}

static const struct cli_program programs[] = {
    {.cli = &batch_options_cli, .prepare = open_all, .run = run, .close = close_all}};

int main(int argc, char **argv)
{
    static struct program program = {.options.local.format.top_k = 1, .output.fd = -1};
    return cli_main(programs, 1, argc, argv, &program);
}
