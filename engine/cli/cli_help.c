#include "engine/cli/cli.h"

#include "engine/base/file.h"

#include <errno.h>
#include <string.h>

/* GAP: least blanks before a sentence; help2man takes a single one for a part of the value. */
enum { COLUMN = 28, GAP = 2, COLUMNS = 100, SENTENCE_BYTES = 512 };

static const char tool_epilogue[] =
    "Exit status: 0 success, 1 a run-time failure, 2 wrong use or an unusable model.\n";

/* The text in lines of at most COLUMNS, each after the first behind COLUMN blanks. */
static void print_wrapped(FILE *file, const char *text)
{
    while (strlen(text) > COLUMNS - COLUMN) {
        int cut = COLUMNS - COLUMN;
        while (cut > 1 && text[cut] != ' ')
            cut--;
        fprintf(file, "%.*s\n%*s", cut, text, COLUMN, "");
        text += cut + 1;
    }
    fprintf(file, "%s\n", text);
}

static void print_option(FILE *file, const struct cli_option *option)
{
    char name[CLI_NAME_BYTES], sentence[SENTENCE_BYTES];
    const char *value = option->choices != NULL ? option->choices : option->value;
    if (option->type == CLI_FLAG)
        value = "";
    bool has_fallback = option->fallback != NULL && option->fallback[0] != '\0';
    cli_spell(option, name);
    snprintf(sentence, sizeof sentence, "%s%s%s%s", option->help,
             option->is_required ? " (required)"
             : has_fallback      ? " (default "
                                 : "",
             has_fallback ? option->fallback : "", has_fallback ? ")" : "");
    int used = fprintf(file, "  --%s%s%s", name, value[0] != '\0' ? " " : "", value);
    if (used > COLUMN - GAP)
        used = fprintf(file, "\n") - 1;
    fprintf(file, "%*s", COLUMN - used, "");
    print_wrapped(file, sentence);
}

void cli_help(const struct cli *cli, FILE *file)
{
    static const struct cli_option last[] = {
        {.name = "help", .type = CLI_FLAG, .help = "Prints this page."},
        {.name = "version", .type = CLI_FLAG, .help = "Prints the version."}};
    fprintf(file, "usage: %s\n\n%s\n\n", cli->usage, cli->summary);
    if (cli->examples != NULL)
        fprintf(file, "%s\n\n", cli->examples);
    for (size_t i = 0; i < cli->option_count; i++) {
        const struct cli_option *option = &cli->options[i];
        if (option->type == CLI_HEADING)
            fprintf(file, "%s%s:\n", i > 0 ? "\n" : "", option->help);
        else if (option->type != CLI_ALIAS)
            print_option(file, option);
    }
    if (cli->option_count > 0 && cli->options[0].type == CLI_HEADING)
        fputc('\n', file);
    print_option(file, &last[0]);
    print_option(file, &last[1]);
    fprintf(file, "\n%s", cli->epilogue != NULL ? cli->epilogue : tool_epilogue);
}

const char *cli_command(const char *program, char out[CLI_COMMAND_BYTES])
{
    const char *slash = strrchr(program_invocation_name, '/');
    int folder = slash != NULL ? (int)(slash + 1 - program_invocation_name) : 0;
    int used = snprintf(out, CLI_COMMAND_BYTES, "%.*s%s", folder, program_invocation_name, program);
    return used < CLI_COMMAND_BYTES ? out : program;
}

void cli_print_word(const char *text, FILE *file)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%";
    if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
        fputs(text, file);
        return;
    }
    fputc('\'', file);
    for (const char *at = text; *at != '\0'; at++)
        if (*at == '\'')
            fputs("'\\''", file);
        else
            fputc(*at, file);
    fputc('\'', file);
}

void cli_print_serve(const char *dir)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-.";
    enum { MODEL_NAME_CHARACTERS = 64 };
    char attnd[CLI_COMMAND_BYTES], name[NAME_MAX + 1];
    file_last_part(dir, name);
    for (size_t at; name[at = strspn(name, allowed)] != '\0';)
        name[at] = '_';
    fprintf(stderr, "next: %s --model %.*s=", cli_command("attnd", attnd), MODEL_NAME_CHARACTERS,
            name[strspn(name, ".")] != '\0' ? name : "model");
    cli_print_word(dir, stderr);
}

void cli_print_next(const char *out)
{
    cli_print_serve(out);
    fprintf(stderr, "    serve it\n      %s/report.html    what it can do\n", out);
}
