/* cli.h - a program's command line as one table: the parser and --help both come from it.
 *
 *     static const struct cli cli = {.program = "mill", .options = options, .option_count = 3};
 *     if (cli_parse(&cli, argc, argv, &mill, &action, &err))
 *         return fail(&err);
 *
 * Options are `--name VALUE`, `--name=VALUE` or plain `--name`; --help (-h) and --version are added
 * to every table. Threads: a struct cli is constant.
 */
#ifndef ATTND_ENGINE_CLI_CLI_H
#define ATTND_ENGINE_CLI_CLI_H

#include "engine/base/err.h"
#include "engine/cli/cli_option.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cli {
    const char *program, *usage, *summary;
    const char *examples; /* command lines, each line after two blanks; NULL: none */
    const struct cli_option *options;
    size_t option_count;
    const char *epilogue;   /* the end of --help; NULL: what the exit statuses of a tool are */
    bool positional_stream; /* an argument that is no option may be "-", standard input */
    /* Called for an argument that is no option (`option` is NULL then); NULL: such arguments are
     * errors. */
    enum err_code (*positional)(const struct cli_option *option, void *target, const char *value,
                                struct err *err);
};

enum cli_action { CLI_RUN, CLI_HELP, CLI_VERSION };

/* The defaults, then each argument in its order. ERR_UNUSABLE: an unknown option (with the nearest
 * known one), a missing or superfluous value, a value that its row refuses (the text begins with
 * the option), standard input named twice, a missing required option, or a library of another
 * version than is tested (engine/base/versions.h). --help and --version end the reading: arguments
 * after them are not checked. */
enum err_code cli_parse(const struct cli *cli, int argc, char *const *argv, void *target,
                        enum cli_action *action, struct err *err);

/* One argument taken apart. Borrows argv. */
struct cli_argument {
    enum cli_action action;          /* CLI_RUN but for --help and --version */
    const struct cli_option *option; /* NULL: it is none */
    const char *value;               /* NULL: a flag */
};

/* Reads argv[*at], and the argument after it if that is its value, and moves *at behind; applies
 * nothing. For programs that read their arguments more than once. Errors are cli_parse's, except
 * those of values. */
enum err_code cli_next(const struct cli *cli, int argc, char *const *argv, int *at,
                       struct cli_argument *out, struct err *err);

enum { CLI_NAME_BYTES = 64 }; /* longest name of an option, with its NUL */

/* The option as it is typed, without the dashes. */
void cli_spell(const struct cli_option *option, char out[CLI_NAME_BYTES]);

/* `name` made safe for an error text: printable ASCII, cut at 64 bytes. `out` may be `name`. */
const char *cli_printable(const char *name, char out[CLI_NAME_BYTES + 1]);

void cli_print_version(const struct cli *cli, FILE *file);

/* The name by which a user can call another program of attnd: "build/attnd" if this one was called
 * as build/attnd-fit, "attnd" if it was found on the PATH. */
enum { CLI_COMMAND_BYTES = 512 };
const char *cli_command(const char *program, char out[CLI_COMMAND_BYTES]);

/* Prints the text as one word of a shell's command: in quotes, if it has a character that a shell
 * would take for more than itself. */
void cli_print_word(const char *text, FILE *file);

/* Prints the command that serves a checkpoint, "next: attnd --model NAME=DIR", on standard error.
 * The name is the directory's, with '_' in place of what a model's name may not have. */
void cli_print_serve(const char *dir);

/* Tells on standard error what to do with a checkpoint that was written to `out`. */
void cli_print_next(const char *out);

/* --help, in lines of at most 100 columns (cli_help.c). */
void cli_help(const struct cli *cli, FILE *file);

#endif
