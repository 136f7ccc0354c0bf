#include "engine/base/clock.h"
#include "engine/cli/cli_main.h"
#include "loadtest/answer.h"
#include "loadtest/client.h"
#include "loadtest/options.h"
#include "loadtest/tally.h"
#include "loadtest/workload.h"

struct program {
    struct options options;
    struct workload *workload;
    struct answer_book *book;
    struct tally *tally;
};

static enum err_code load(void *target, enum cli_action *action, int argc, char *const *argv,
                          struct err *err)
{
    return options_load(&((struct program *)target)->options, action, argc, argv, err);
}

static enum err_code open_all(void *target, struct err *err)
{
    struct program *program = target;
    const struct options *options = &program->options;
    if (workload_open(&program->workload, options, err) ||
        (options->expect != NULL &&
         answer_book_open(&program->book, options->expect, workload_items(program->workload), err)))
        return err->code;
    return tally_open(&program->tally, options, clock_now_ns(), err);
}

static enum err_code run(struct cli_run *run, struct err *err)
{
    struct program *program = run->target;
    const struct tally *tally = program->tally;
    if (client_run(&program->options, program->workload, program->book, program->tally, err)) {
        run->status = cli_main_status(err); /* certificates are read by now */
        return err->code;
    }
    if (!program->options.json)
        report_text(tally, stdout);
    else if (report_json(tally, stdout, err))
        return err->code;
    if (tally->requests == 0 || tally->unaccepted > 0)
        run->status = CLI_FAILURE;
    return ERR_OK;
}

static void close_all(void *target)
{
    struct program *program = target;
    tally_close(program->tally);
    answer_book_close(program->book);
    workload_close(program->workload);
}

static const struct cli_program programs[] = {
    {.cli = &options_cli, .read = load, .prepare = open_all, .run = run, .close = close_all}};

int main(int argc, char **argv)
{
    struct program program = {0};
    return cli_main(programs, 1, argc, argv, &program);
}
