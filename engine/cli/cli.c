#include "engine/cli/cli.h"

#include "engine/base/nearest.h"
#include "engine/base/versions.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { OPTIONS_MAX = 128 };

/* Options that every program has. */
static const struct cli_option help_option = {.name = "help", .type = CLI_FLAG};
static const struct cli_option version_option = {.name = "version", .type = CLI_FLAG};

/* ---- names ---- */

static char spelled(char c)
{
    return (char)(c == '_' ? '-' : c);
}

void cli_spell(const struct cli_option *option, char out[CLI_NAME_BYTES])
{
    size_t len = 0;
    assert(strlen(option->name) < CLI_NAME_BYTES);
    for (; option->name[len] != '\0'; len++)
        out[len] = spelled(option->name[len]);
    out[len] = '\0';
}

const char *cli_printable(const char *name, char out[CLI_NAME_BYTES + 1])
{
    size_t len = 0;
    for (; len < CLI_NAME_BYTES && name[len] != '\0'; len++)
        out[len] = (char)(name[len] >= 0x20 && name[len] < 0x7F ? name[len] : '?');
    out[len] = '\0';
    return out;
}

static bool is_named(const char *name, const char *argument, size_t len)
{
    if (name == NULL || strlen(name) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (spelled(name[i]) != argument[i])
            return false;
    return true;
}

static const struct cli_option *find(const struct cli *cli, const char *argument, size_t len)
{
    for (size_t i = 0; i < cli->option_count; i++) {
        const struct cli_option *option = &cli->options[i];
        if (is_named(option->name, argument, len))
            return option->type == CLI_ALIAS ? find(cli, option->value, strlen(option->value))
                                             : option;
    }
    if (is_named(help_option.name, argument, len))
        return &help_option;
    return is_named(version_option.name, argument, len) ? &version_option : NULL;
}

static enum err_code unknown_option(const struct cli *cli, const char *argument, size_t len,
                                    struct err *err)
{
    char spellings[OPTIONS_MAX][CLI_NAME_BYTES], printable[CLI_NAME_BYTES + 1];
    int shown = len < CLI_NAME_BYTES ? (int)len : CLI_NAME_BYTES;
    const char *names[OPTIONS_MAX + 2] = {help_option.name, version_option.name};
    size_t count = 0;
    assert(cli->option_count <= OPTIONS_MAX);
    for (size_t i = 0; i < cli->option_count; i++)
        if (cli->options[i].name != NULL && cli->options[i].type != CLI_ALIAS) {
            cli_spell(&cli->options[i], spellings[count]);
            names[2 + count] = spellings[count];
            count++;
        }
    snprintf(printable, sizeof printable, "%.*s", shown, argument);
    const char *nearest = nearest_name(cli_printable(printable, printable), names, 2 + count);
    if (nearest == NULL)
        return err_set(err, ERR_UNUSABLE, "unknown option '--%s'; --help lists the known ones",
                       printable);
    return err_set(err, ERR_UNUSABLE, "unknown option '--%s'; did you mean '--%s'?", printable,
                   nearest);
}

/* ---- arguments ---- */

/* Puts the option before the text of an error: "--queue-limit: ". */
static enum err_code prefix(const struct cli_option *option, struct err *err)
{
    char name[CLI_NAME_BYTES];
    cli_spell(option, name);
    return err_prefix(err, "--%s: ", name);
}

static enum err_code take_value(struct cli_argument *out, int argc, char *const *argv, int *at,
                                struct err *err)
{
    const struct cli_option *option = out->option;
    if (option->type == CLI_FLAG && out->value != NULL) {
        err_set(err, ERR_UNUSABLE, "takes no value");
        return prefix(option, err);
    }
    if (option->type == CLI_FLAG || out->value != NULL)
        return ERR_OK;
    if (*at >= argc) {
        err_set(err, ERR_UNUSABLE, "needs a value: %s",
                option->choices != NULL ? option->choices : option->value);
        return prefix(option, err);
    }
    out->value = argv[(*at)++];
    return ERR_OK;
}

enum err_code cli_next(const struct cli *cli, int argc, char *const *argv, int *at,
                       struct cli_argument *out, struct err *err)
{
    const char *argument = argv[(*at)++];
    if (strcmp(argument, "-h") == 0)
        argument = "--help";
    if (strncmp(argument, "--", 2) != 0) {
        char printable[CLI_NAME_BYTES + 1];
        *out = (struct cli_argument){.value = argument};
        if (cli->positional != NULL)
            return ERR_OK;
        return err_set(err, ERR_UNUSABLE, "unexpected argument '%s'; --help shows the usage",
                       cli_printable(argument, printable));
    }
    argument += 2;
    size_t len = strcspn(argument, "=");
    *out = (struct cli_argument){.option = find(cli, argument, len),
                                 .value = argument[len] == '=' ? argument + len + 1 : NULL};
    if (out->option == NULL)
        return unknown_option(cli, argument, len, err);
    out->action = out->option == &help_option      ? CLI_HELP
                  : out->option == &version_option ? CLI_VERSION
                                                   : CLI_RUN;
    return take_value(out, argc, argv, at, err);
}

/* Counts the arguments that name standard input. */
static enum err_code check_stream(const struct cli *cli, const struct cli_argument *argument,
                                  unsigned *stdins, struct err *err)
{
    const struct cli_option *option = argument->option;
    if (argument->value == NULL || strcmp(argument->value, "-") != 0)
        return ERR_OK;
    if (option == NULL && !cli->positional_stream)
        return err_set(err, ERR_UNUSABLE,
                       "'-': standard input is read only where --help says so; a file or folder of "
                       "this name is ./-");
    *stdins += option == NULL || option->stream == CLI_STDIN;
    return *stdins < 2 ? ERR_OK
                       : err_set(err, ERR_UNUSABLE, "standard input (-) can be read only once");
}

enum err_code cli_parse(const struct cli *cli, int argc, char *const *argv, void *target,
                        enum cli_action *action, struct err *err)
{
    bool given[OPTIONS_MAX] = {false};
    unsigned stdins = 0;
    assert(cli->option_count <= OPTIONS_MAX);
    *action = CLI_RUN;
    if (cli_option_set_fallbacks(cli->options, cli->option_count, target, err))
        return err->code;
    for (int at = 1; at < argc;) {
        struct cli_argument argument;
        if (cli_next(cli, argc, argv, &at, &argument, err))
            return err->code;
        *action = argument.action;
        if (*action != CLI_RUN)
            return ERR_OK;
        if (check_stream(cli, &argument, &stdins, err))
            return err->code;
        if (argument.option == NULL) {
            if (cli->positional(NULL, target, argument.value, err))
                return err->code;
            continue;
        }
        if (cli_option_set(argument.option, target, argument.value, err))
            return prefix(argument.option, err);
        given[argument.option - cli->options] = true;
    }
    for (size_t i = 0; i < cli->option_count; i++)
        if (cli->options[i].is_required && !given[i]) {
            char name[CLI_NAME_BYTES];
            cli_spell(&cli->options[i], name);
            return err_set(err, ERR_UNUSABLE, "--%s %s is missing; --help shows the usage", name,
                           cli->options[i].value);
        }
    return versions_check(err);
}

void cli_print_version(const struct cli *cli, FILE *file)
{
    fprintf(file, "%s %s\n", cli->program, ATTND_VERSION);
}
