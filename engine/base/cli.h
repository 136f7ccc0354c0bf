/* cli.h - a program's command line as one table: the parser and --help both come from it.
 *
 * Options are `--name VALUE`, `--name=VALUE` or plain `--name`; --help and --version are in every
 * table by themselves. Threads: main only.
 */
#ifndef ATTND_ENGINE_BASE_CLI_H
#define ATTND_ENGINE_BASE_CLI_H

#include "engine/base/err.h"

#include <stddef.h>
#include <stdio.h>

struct cli_option {
    const char *name;  /* without the dashes; NULL: a heading of --help, which `help` is */
    const char *value; /* what the value is, for --help; NULL: the option takes none */
    const char *help;  /* one sentence */
    /* Applies the option; value is NULL if it takes none. Called in the order of the arguments. */
    enum err_code (*apply)(void *target, const char *value, struct err *err);
};

struct cli {
    const char *program, *usage, *summary;
    const struct cli_option *options;
    size_t option_count;
    /* [option_count] what each is without being given, for --help; "": nothing, or the sentence
     * says it. NULL: all sentences do. */
    const char *const *defaults;
    /* An argument that is no option; NULL: there may be none. */
    enum err_code (*positional)(void *target, const char *value, struct err *err);
};

enum cli_action { CLI_RUN, CLI_HELP, CLI_VERSION };

/* ERR_UNUSABLE: unknown option (with the nearest known one), missing or superfluous value, or what
 * `apply` said, prefixed by the option's name. */
enum err_code cli_parse(const struct cli *cli, int argc, char *const *argv, void *target,
                        enum cli_action *action, struct err *err);

void cli_print_help(const struct cli *cli, FILE *file);
void cli_print_version(const struct cli *cli, FILE *file);

/* A decimal number from min to max. */
enum err_code cli_parse_unsigned(const char *text, unsigned min, unsigned max, unsigned *out,
                                 struct err *err);

#endif
