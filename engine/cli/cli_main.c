#include "engine/cli/cli_main.h"

#include "engine/base/file.h"
#include "engine/base/openblas.h"

#include <string.h>
#include <unistd.h>

int cli_main_status(const struct err *err)
{
    if (err->code == ERR_OK)
        return CLI_SUCCESS;
    return err->code == ERR_UNUSABLE || err->code == ERR_UNSUPPORTED ? CLI_WRONG_USE : CLI_FAILURE;
}

/* ---- commands ---- */

static enum err_code refuse_command(const struct cli_program *programs, size_t count,
                                    struct err *err)
{
    char names[256] = "";
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(names);
        snprintf(names + len, sizeof names - len, "%s%s",
                 i == 0          ? ""
                 : i + 1 < count ? ", "
                                 : " or ",
                 programs[i].command);
    }
    return err_set(err, ERR_UNUSABLE, "expected %s; --help shows the usage", names);
}

/* Without a command there are --help, which shows all of them, and --version. */
static int run_none(const struct cli_program *programs, size_t count, const char *argument,
                    struct err *err)
{
    bool is_help = strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
    if (strcmp(argument, "--version") == 0)
        cli_print_version(programs->cli, stdout);
    else if (!is_help && refuse_command(programs, count, err))
        return CLI_WRONG_USE;
    for (size_t i = 0; is_help && i < count; i++) {
        fputs(i > 0 ? "\n" : "", stdout);
        cli_help(programs[i].cli, stdout);
    }
    return CLI_SUCCESS;
}

/* ---- a run ---- */

static int run_one(const struct cli_program *program, int argc, char *const *argv, void *target,
                   struct err *err)
{
    struct cli_run run = {.target = target};
    enum cli_action action = CLI_RUN;
    if (program->read != NULL)
        program->read(target, &action, argc, argv, err);
    else
        cli_parse(program->cli, argc, argv, target, &action, err);
    if (err->code == ERR_OK && action == CLI_RUN && program->prepare != NULL)
        program->prepare(target, err);
    if (err->code != ERR_OK)
        return CLI_WRONG_USE;
    if (action == CLI_HELP)
        cli_help(program->cli, stdout);
    if (action == CLI_VERSION)
        cli_print_version(program->cli, stdout);
    if (action != CLI_RUN || program->run == NULL)
        return CLI_SUCCESS;
    if (program->run(&run, err) && run.status == CLI_SUCCESS)
        return program->prepare != NULL ? CLI_FAILURE : cli_main_status(err);
    return run.status;
}

int cli_main(const struct cli_program *programs, size_t count, int argc, char *const *argv,
             void *target)
{
    file_open_standard();
    openblas_set_environment();
    const char *name = programs->cli->program, *first = argc > 1 ? argv[1] : "";
    const struct cli_program *program = NULL;
    for (size_t i = count; i > 0; i--)
        if (programs[i - 1].command == NULL || strcmp(programs[i - 1].command, first) == 0)
            program = &programs[i - 1];
    struct err err = {0};
    int skipped = program != NULL && program->command != NULL;
    int status = program != NULL ? run_one(program, argc - skipped, argv + skipped, target, &err)
                                 : run_none(programs, count, first, &err);
    bool is_whole = fflush(stdout) == 0 && !ferror(stdout);
    if (err.code != ERR_OK)
        fprintf(stderr, "%s: %s\n", name, err.text);
    else if (!is_whole)
        fprintf(stderr, "%s: standard output: cannot be written\n", name);
    if (program != NULL && program->close != NULL)
        program->close(target);
    return !is_whole && status == CLI_SUCCESS ? CLI_FAILURE : status;
}

/* ---- Ctrl-C ---- */

static atomic_bool stop; /* set by the handler, read by the threads that work */

static void on_signal(int number)
{
    (void)number;
    if (atomic_exchange(&stop, true))
        _exit(CLI_STOPPED);
}

const atomic_bool *cli_main_stop(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &stop;
}
