/* attnd-batch - answers of a model for a million inputs, one result a line; see tools/batch/. */
#include "engine/base/file.h"
#include "tools/batch/batch_options.h"
#include "tools/batch/batch_run.h"

#include "engine/base/openblas.h"
#include "engine/cli/ctrl_c.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_RUNTIME = 1, EXIT_USAGE = 2 };

/* All of a run; zero to begin with. */
struct program {
    struct batch_options options;
    struct local_model local;
    struct remote_server remote;
    struct output output;
    struct batch_run_result result;
};

static enum err_code open_model(struct program *program, struct err *err)
{
    const struct batch_options *options = &program->options;
    if (options->remote.url != NULL)
        return remote_server_open(&program->remote, &options->remote, err);
    return local_model_open(&program->local, &options->local, err);
}

/* Sources before the model, which takes longer. */
static enum err_code open_all(struct program *program, struct err *err)
{
    struct batch_options *options = &program->options;
    struct batch_state state;
    if (sources_open(&options->sources, options->text_field, options->image_field, err))
        return err->code;
    for (unsigned i = 0; i < options->sources.count; i++)
        if (options->sources.items[i].files.notes != NULL)
            fprintf(stderr, "attnd-batch: %s\n", options->sources.items[i].files.notes);
    if (open_model(program, err))
        return err->code;
    bool is_remote = options->remote.url != NULL;
    const char *model = is_remote ? program->remote.identity.bytes : program->local.answers.digest;
    const struct engine_info *info =
        is_remote ? NULL : engine_describe(program->local.answers.engine);
    if (info != NULL && info->dtype_reason != NULL)
        fprintf(stderr, "attnd-batch: dtype %s\n", info->dtype_reason);
    if (batch_options_state(&state, options, model, info != NULL ? info->dtype : NULL, err))
        batch_state_free(&state);
    else
        output_open(&program->output, options->out, &state, err);
    return err->code;
}

static void close_all(struct program *program)
{
    output_close(&program->output);
    local_model_close(&program->local);
    remote_server_close(&program->remote);
    sources_close(&program->options.sources);
}

static void tell(const struct program *program)
{
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
}

static int fail(const struct err *err, bool is_running)
{
    bool is_usage = !is_running || err->code == ERR_UNUSABLE || err->code == ERR_UNSUPPORTED;
    fprintf(stderr, "attnd-batch: %s\n", err->text);
    return is_usage ? EXIT_USAGE : EXIT_RUNTIME;
}

static int run(struct program *program)
{
    const struct batch_options *options = &program->options;
    const struct batch_run_options how = {
        .local = options->remote.url == NULL ? &program->local : NULL,
        .remote = options->remote.url != NULL ? &program->remote : NULL,
        .format = &options->local.format,
        .threads = options->threads,
        .rate = options->rate,
        .stop = options->remote.stop};
    struct err err = {0};
    batch_run(&program->options.sources, &program->output, &how, &program->result, &err);
    if (err.code != ERR_OK)
        return fail(&err, true);
    tell(program);
    if (program->result.is_stopped)
        return 128 + SIGINT;
    return program->result.failed > 0 ? EXIT_RUNTIME : EXIT_SUCCESS;
}

static int start(struct program *program, int argc, char **argv)
{
    enum cli_action action;
    struct err err = {0};
    if (batch_options_read(&program->options, &action, argc, argv, &err))
        return fail(&err, false);
    if (action == CLI_HELP)
        cli_help(&batch_options_cli, stdout);
    if (action == CLI_VERSION)
        cli_print_version(&batch_options_cli, stdout);
    if (action != CLI_RUN)
        return cli_printed() ? EXIT_SUCCESS : EXIT_RUNTIME;
    program->options.remote.stop = program->options.sources.stop = ctrl_c_catch();
    return open_all(program, &err) ? fail(&err, false) : run(program);
}

int main(int argc, char **argv)
{
    file_open_standard();
    openblas_set_environment();
    struct program *program = calloc(1, sizeof *program); /* the sources are many */
    if (program == NULL)
        return EXIT_RUNTIME;
    program->output.fd = -1;
    int status = start(program, argc, argv);
    close_all(program);
    free(program);
    return status;
}
