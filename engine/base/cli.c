#include "engine/base/cli.h"

#include "engine/base/nearest.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 128, HELP_COLUMN = 28 };

static const struct cli_option *find(const struct cli *cli, const char *name, size_t len)
{
    for (size_t i = 0; i < cli->option_count; i++)
        if (cli->options[i].name != NULL && strlen(cli->options[i].name) == len &&
            memcmp(cli->options[i].name, name, len) == 0)
            return &cli->options[i];
    return NULL;
}

static enum err_code unknown_option(const struct cli *cli, const char *argument, struct err *err)
{
    const char *names[OPTIONS_MAX + 2] = {"help", "version"};
    size_t count = 2;
    for (size_t i = 0; i < cli->option_count && count < OPTIONS_MAX; i++)
        if (cli->options[i].name != NULL)
            names[count++] = cli->options[i].name;
    const char *nearest = nearest_name(argument + 2, names, count);
    if (nearest == NULL)
        return err_set(err, ERR_UNUSABLE, "unknown option '%s'; --help lists the known ones",
                       argument);
    return err_set(err, ERR_UNUSABLE, "unknown option '%s'; did you mean '--%s'?", argument,
                   nearest);
}

/* One option at argv[*at]; moves *at past a value that is an argument of its own. */
static enum err_code parse_option(const struct cli *cli, int argc, char *const *argv, int *at,
                                  void *target, struct err *err)
{
    const char *name = argv[*at] + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] == '=' ? name + len + 1 : NULL;
    const struct cli_option *option = find(cli, name, len);
    if (option == NULL)
        return unknown_option(cli, argv[*at], err);
    if (option->value == NULL && value != NULL)
        return err_set(err, ERR_UNUSABLE, "--%s takes no value", option->name);
    if (option->value != NULL && value == NULL) {
        if (*at + 1 >= argc)
            return err_set(err, ERR_UNUSABLE, "--%s needs a value: %s", option->name,
                           option->value);
        value = argv[++*at];
    }
    if (option->apply(target, value, err))
        err_prefix(err, "--%s: ", option->name);
    return err->code;
}

enum err_code cli_parse(const struct cli *cli, int argc, char *const *argv, void *target,
                        enum cli_action *action, struct err *err)
{
    *action = CLI_RUN;
    for (int at = 1; at < argc; at++) {
        const char *argument = argv[at];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            *action = CLI_HELP;
            return ERR_OK;
        }
        if (strcmp(argument, "--version") == 0) {
            *action = CLI_VERSION;
            return ERR_OK;
        }
        if (strncmp(argument, "--", 2) == 0)
            parse_option(cli, argc, argv, &at, target, err);
        else if (cli->positional != NULL)
            cli->positional(target, argument, err);
        else
            err_set(err, ERR_UNUSABLE, "unexpected argument '%s'; --help shows the usage",
                    argument);
        if (err->code != ERR_OK)
            return err->code;
    }
    return ERR_OK;
}

static void print_row(FILE *file, const char *name, const char *value, const char *help,
                      const char *fallback)
{
    bool has_fallback = fallback != NULL && fallback[0] != '\0';
    int used =
        fprintf(file, "  --%s%s%s", name, value != NULL ? " " : "", value != NULL ? value : "");
    if (used >= HELP_COLUMN)
        used = fprintf(file, "\n") - 1;
    fprintf(file, "%*s%s%s%s%s\n", HELP_COLUMN - used, "", help, has_fallback ? " (default " : "",
            has_fallback ? fallback : "", has_fallback ? ")" : "");
}

void cli_print_help(const struct cli *cli, FILE *file)
{
    fprintf(file, "usage: %s\n\n%s\n\n", cli->usage, cli->summary);
    for (size_t i = 0; i < cli->option_count; i++) {
        const struct cli_option *option = &cli->options[i];
        if (option->name == NULL)
            fprintf(file, "%s%s:\n", i > 0 ? "\n" : "", option->help);
        else
            print_row(file, option->name, option->value, option->help,
                      cli->defaults != NULL ? cli->defaults[i] : NULL);
    }
    if (cli->option_count > 0 && cli->options[0].name == NULL)
        fputc('\n', file);
    print_row(file, "help", NULL, "Prints this page.", NULL);
    print_row(file, "version", NULL, "Prints the version.", NULL);
    fprintf(file, "\nExit status: 0 success, 1 a run-time failure, 2 wrong use or an unusable "
                  "model.\n");
}

void cli_print_version(const struct cli *cli, FILE *file)
{
    fprintf(file, "%s %s\n", cli->program, ATTND_VERSION);
}

enum err_code cli_parse_unsigned(const char *text, unsigned min, unsigned max, unsigned *out,
                                 struct err *err)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < min || value > max)
        return err_set(err, ERR_UNUSABLE, "must be a number from %u to %u", min, max);
    *out = (unsigned)value;
    return ERR_OK;
}
