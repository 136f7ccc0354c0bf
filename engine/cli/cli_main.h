/* cli_main.h - the main of a program: command line, --help, --version, error texts, exit statuses
 * and Ctrl-C.
 *
 *     static const struct cli_program programs[] = {
 *         {.cli = &cli, .prepare = open_all, .run = grind, .close = close_all}};
 *
 *     int main(int argc, char **argv)
 *     {
 *         static struct mill mill;
 *         return cli_main(programs, 1, argc, argv, &mill);
 *     }
 *
 * A program with commands ("attnd-keys add ...") has one row for each command. An error text goes
 * to standard error, after the name of the program. Threads: the main thread; the flag of
 * cli_main_stop is atomic.
 */
#ifndef ATTND_ENGINE_CLI_CLI_MAIN_H
#define ATTND_ENGINE_CLI_CLI_MAIN_H

#include "engine/cli/cli.h"

#include <signal.h>
#include <stdatomic.h>

/* Exit statuses. */
enum { CLI_SUCCESS = 0, CLI_FAILURE = 1, CLI_WRONG_USE = 2, CLI_STOPPED = 128 + SIGINT };

/* The status for an error's code: ERR_UNUSABLE and ERR_UNSUPPORTED are wrong use. */
int cli_main_status(const struct err *err);

struct cli_run {
    void *target;
    int status; /* exit status; CLI_SUCCESS at first */
};

/* Functions may be NULL. */
struct cli_program {
    const struct cli *cli;
    const char *command; /* the first argument; NULL: the program has no commands */
    /* Reads the command line instead of cli_parse. An error is wrong use. */
    enum err_code (*read)(void *target, enum cli_action *action, int argc, char *const *argv,
                          struct err *err);
    /* Checks and opens what the run needs. An error is wrong use. */
    enum err_code (*prepare)(void *target, struct err *err);
    /* The work; it may set the status. The status of an error that it leaves at CLI_SUCCESS: by the
     * error's code, or CLI_FAILURE if there is a `prepare`, which has found wrong use. */
    enum err_code (*run)(struct cli_run *run, struct err *err);
    /* After all other calls, and in any case. */
    void (*close)(void *target);
};

/* Returns the exit status of the program. `target` is filled by the options. Output that cannot be
 * written is a failure. */
int cli_main(const struct cli_program *programs, size_t count, int argc, char *const *argv,
             void *target);

/* Catches Ctrl-C and SIGTERM from now on, for a program that saves before it ends. The first signal
 * sets the flag, which stays set; the second ends the process at once with CLI_STOPPED. Call it
 * once, before other threads start. */
const atomic_bool *cli_main_stop(void);

#endif
