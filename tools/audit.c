/* attnd-audit - checks, shows and exports an audit log (server/audit).
 *
 *     attnd-audit verify DIR|FILE...        "ok: 12 lines, 1 to 12, head 7cb8e627bffb..."
 *     attnd-audit show DIR|FILE... [FILTER]...
 *     attnd-audit export DIR|FILE... [FILTER]... [--format jsonl|csv]
 *
 * All three follow the chain while they read, and end with 1 at the first line that breaks it; what
 * was printed before it holds. Memory does not grow with the log. */
#include "engine/base/doc.h"
#include "engine/base/doc_string.h"
#include "engine/cli/cli_main.h"
#include "server/audit/audit_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PLACES_MAX = 4096 };

struct tool {
    const char *places[PLACES_MAX]; /* files and directories */
    size_t place_count;
    const char *key_file, *type, *id, *model, *since, *until, *format;
    char **paths; /* all files, in order */
    size_t path_count;
    size_t printed;
};

/* ---- options ---- */

static enum err_code add_place(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    struct tool *tool = target;
    (void)option;
    if (tool->place_count == PLACES_MAX)
        return err_set(err, ERR_UNUSABLE, "more than %d files", PLACES_MAX);
    tool->places[tool->place_count++] = value;
    return ERR_OK;
}

#define FIELD(field) CLI_FIELD(struct tool, field)
#define KEY_FILE                                                                                   \
    .name = "key-file", FIELD(key_file), .value = "FILE", .stream = CLI_STDIN,                     \
    .help =                                                                                        \
        "The key that the log was written with (audit_key_file of attnd); - is standard input."
#define TYPE                                                                                       \
    .name = "type", FIELD(type),                                                                   \
    .choices = "prediction|repeat|feedback|feedback_removed|reload|rollout|fit|start|stop|begin|"  \
               "lost|expired",                                                                     \
    .help = "Only lines of this type."
#define ID .name = "id", FIELD(id), .value = "ID", .help = "Only lines with this id."
#define MODEL .name = "model", FIELD(model), .value = "NAME", .help = "Only lines of this model."
#define SINCE                                                                                      \
    .name = "since", FIELD(since), .value = "TIME",                                                \
    .help = "Only lines from this time on, as far as it is given: 2026-11-22, 2026-11-22T17:30."
#define UNTIL .name = "until", FIELD(until), .value = "TIME", .help = "Only lines before this time."

static const struct cli_option verify_options[] = {{KEY_FILE}};
static const struct cli_option show_options[] = {{TYPE},  {ID},    {MODEL},
                                                 {SINCE}, {UNTIL}, {KEY_FILE}};
static const struct cli_option export_options[] = {
    {.name = "format",
     FIELD(format),
     .choices = "jsonl|csv",
     .fallback = "jsonl",
     .help = "A line as it is, or a row of a table."},
    {TYPE},
    {ID},
    {MODEL},
    {SINCE},
    {UNTIL},
    {KEY_FILE}};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
static const struct cli verify_cli = {
    .program = "attnd-audit",
    .usage = "attnd-audit verify DIR|FILE... [--key-file FILE]",
    .summary =
        "Follows the chain of an audit log from its oldest line to its newest. A line that was\n"
        "changed, removed or added in between breaks it. Lines that are missing at the end, and\n"
        "a log that was written anew as a whole, do not: compare the number and the head with\n"
        "those that attnd_audit_sequence and attnd_audit_head, or attnd's own log, have told. A\n"
        "log with a key can be written anew only with the key: verify tells the line from which\n"
        "on it has one, and fails if the log goes on without it.",
    .examples = "  attnd-audit verify /var/log/attnd --key-file audit.key",
    .options = verify_options,
    .option_count = COUNT(verify_options),
    .positional = add_place,
};
static const struct cli show_cli = {
    .program = "attnd-audit",
    .usage = "attnd-audit show DIR|FILE... [OPTION]...",
    .summary = "Prints the lines of an audit log for people, one a line.",
    .examples = "  attnd-audit show /var/log/attnd --model wafer-vit",
    .options = show_options,
    .option_count = COUNT(show_options),
    .positional = add_place,
};
static const struct cli export_cli = {
    .program = "attnd-audit",
    .usage = "attnd-audit export DIR|FILE... [OPTION]...",
    .summary = "Prints the lines of an audit log for programs.",
    .examples = "  attnd-audit export /var/log/attnd > audit.jsonl",
    .options = export_options,
    .option_count = COUNT(export_options),
    .positional = add_place,
};

/* ---- files ---- */

static enum err_code add_path(struct tool *tool, char *path, struct err *err)
{
    char **paths = realloc(tool->paths, (tool->path_count + 1) * sizeof *paths);
    if (paths == NULL || path == NULL) {
        free(path);
        return err_no_memory(err, (tool->path_count + 1) * sizeof *paths);
    }
    tool->paths = paths;
    tool->paths[tool->path_count++] = path;
    return ERR_OK;
}

/* A directory stands for its files, the oldest first. What is named itself may be a FIFO: an old
 * file that `<(zcat ...)` unpacks. */
static enum err_code add_files_of(struct tool *tool, const char *place, struct err *err)
{
    struct stat status;
    char **paths;
    size_t count;
    if (stat(place, &status) != 0 || !S_ISDIR(status.st_mode))
        return add_path(tool, strdup(place), err);
    if (audit_files_list(&paths, &count, place, err))
        return err->code;
    if (count == 0)
        err_set(err, ERR_UNUSABLE, "%s: there is no file of an audit log in it", place);
    for (size_t i = 0; i < count && err->code == ERR_OK; i++)
        if (stat(paths[i], &status) == 0 && !S_ISREG(status.st_mode))
            err_set(err, ERR_UNUSABLE, "%s: is no regular file", paths[i]);
        else
            add_path(tool, strdup(paths[i]), err);
    audit_files_free(paths, count);
    return err->code;
}

/* ---- lines ---- */

/* A member's text; NULL: there is none. */
static const char *text_of(const struct json_t *line, const char *name)
{
    const char *text = NULL;
    struct err ignored = {0};
    doc_get_string(line, "$", name, &text, &ignored);
    return text;
}

static bool is_wanted_text(const struct json_t *line, const char *name, const char *wanted)
{
    const char *text = text_of(line, name);
    return wanted == NULL || (text != NULL && strcmp(text, wanted) == 0);
}

/* Times of one form sort as texts do, and a time that is given in part is its beginning. */
static bool is_wanted(const struct tool *tool, const struct json_t *line)
{
    const char *time = text_of(line, "time");
    if (time == NULL)
        time = "";
    return is_wanted_text(line, "type", tool->type) && is_wanted_text(line, "id", tool->id) &&
           is_wanted_text(line, "model", tool->model) &&
           (tool->since == NULL || strcmp(time, tool->since) >= 0) &&
           (tool->until == NULL || strcmp(time, tool->until) < 0);
}

/* ---- show ---- */

static void print_member(const struct json_t *line, const char *name)
{
    const char *text = text_of(line, name);
    if (text == NULL)
        return;
    putchar(' ');
    /* Other programs of the terminal must not see what a client wrote as anything but text. */
    size_t len = strlen(text);
    for (size_t at = 0; at < len;) {
        const struct doc_string_piece piece =
            doc_string_next(text + at, len - at, DOC_STRING_FOR_TERMINAL);
        fwrite(piece.bytes, 1, piece.len, stdout);
        at += piece.taken;
    }
}

static void show_line(const struct json_t *line)
{
    static const char *const before[] = {"action", "id", "model", "version", "label", "output"};
    static const char *const behind[] = {"decision", "reason", "failed", "attnd", "chain"};
    const char *time = text_of(line, "time"), *type = text_of(line, "type");
    printf("%s  %-10s", time != NULL ? time : "", type != NULL ? type : "");
    for (size_t i = 0; i < COUNT(before); i++)
        print_member(line, before[i]);
    /* The score of a label, or the value of a regression. */
    double number;
    if (doc_as_number(doc_member(line, "score"), &number))
        printf(" %.4f", number);
    else if (doc_as_number(doc_member(line, "value"), &number))
        printf(" %.6g", number);
    for (size_t i = 0; i < COUNT(behind); i++)
        print_member(line, behind[i]);
    putchar('\n');
}

/* ---- export ---- */

static const char *const columns[] = {"seq",     "time",  "type",     "id",       "index",
                                      "item_id", "input", "model",    "version",  "digest",
                                      "label",   "score", "decision", "ood_score"};
static const char *const contexts[] = {"lot",  "wafer",   "die_x",  "die_y",
                                       "tool", "chamber", "recipe", "step"};
static const char *const last_columns[] = {"output", "action", "reason", "key"};

/* RFC 4180; a cell that a spreadsheet would compute gets a quote before it. */
static void print_cell(const char *text)
{
    bool is_formula = text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL;
    bool is_plain = !is_formula && strpbrk(text, ",\"\r\n") == NULL;
    if (is_plain) {
        fputs(text, stdout);
        return;
    }
    fputs(is_formula ? "\"'" : "\"", stdout);
    for (const char *at = text; *at != '\0'; at++)
        fputs(*at == '"' ? "\"\"" : (const char[]){*at, '\0'}, stdout);
    putchar('"');
}

static void print_value(const struct json_t *object, const char *name)
{
    const char *text = text_of(object, name);
    double number = 0;
    struct err ignored = {0};
    if (text != NULL)
        print_cell(text);
    else if (doc_member(object, name) != NULL &&
             doc_get_number(object, "$", name, &number, &ignored) == ERR_OK)
        printf(number == floor(number) ? "%.0f" : "%.9g", number);
}

static void print_header(void)
{
    for (size_t i = 0; i < COUNT(columns); i++)
        printf("%s%s", i > 0 ? "," : "", columns[i]);
    for (size_t i = 0; i < COUNT(contexts); i++)
        printf(",%s", contexts[i]);
    for (size_t i = 0; i < COUNT(last_columns); i++)
        printf(",%s", last_columns[i]);
    putchar('\n');
}

static void export_row(const struct json_t *line)
{
    const struct json_t *context = doc_member(line, "context");
    for (size_t i = 0; i < COUNT(columns); i++) {
        if (i > 0)
            putchar(',');
        const bool is_value = strcmp(columns[i], "score") == 0 && doc_member(line, "value") != NULL;
        print_value(line, is_value ? "value" : columns[i]);
    }
    for (size_t i = 0; i < COUNT(contexts); i++) {
        putchar(',');
        if (context != NULL)
            print_value(context, contexts[i]);
    }
    for (size_t i = 0; i < COUNT(last_columns); i++) {
        putchar(',');
        print_value(line, last_columns[i]);
    }
    putchar('\n');
}

/* ---- commands ---- */

/* A line whose chain holds is a JSON object, unless who wrote it had the key and wrote no log. */
static bool print_line(void *context, const char *text, size_t len)
{
    struct tool *tool = context;
    struct json_t *line = NULL;
    struct err ignored = {0};
    if (doc_parse(&line, text, len, &doc_limits_file, &ignored) == ERR_OK &&
        is_wanted(tool, line)) {
        tool->printed++;
        if (tool->format == NULL)
            show_line(line);
        else if (strcmp(tool->format, "csv") == 0)
            export_row(line);
        else
            puts(text);
    }
    doc_free(line);
    return !ferror(stdout);
}

static void tell_verified(const struct audit_reading *reading)
{
    char head[13];
    memcpy(head, reading->head, sizeof head - 1);
    head[sizeof head - 1] = '\0';
    char keyed[64] = "chained";
    if (reading->keyed_from == reading->first)
        snprintf(keyed, sizeof keyed, "chained with a key");
    else if (reading->keyed_from > 0)
        snprintf(keyed, sizeof keyed, "chained with a key from line %llu on",
                 (unsigned long long)reading->keyed_from);
    printf("ok: %llu lines, %llu to %llu, %s, head %s (%llu)\n", (unsigned long long)reading->lines,
           (unsigned long long)reading->first, (unsigned long long)reading->last, keyed,
           reading->head, strtoull(head, NULL, 16));
    if (reading->way == AUDIT_KEYED)
        printf("but line %llu, the last one, may have been changed: in format 1 only the next line "
               "proves a line. Compare the head\n",
               (unsigned long long)reading->last);
    if (reading->unfinished > 0)
        printf("and an unfinished line of %zu bytes, which attnd cuts off when it starts\n",
               reading->unfinished);
}

static enum err_code read_log(struct cli_run *run, bool verifies, struct err *err)
{
    struct tool *tool = run->target;
    struct audit_reading reading = {.visit = verifies ? NULL : print_line, .context = tool};
    if (tool->place_count == 0)
        return err_set(err, ERR_UNUSABLE, "DIR or FILE is missing; --help shows the usage");
    for (size_t i = 0; i < tool->place_count; i++)
        if (add_files_of(tool, tool->places[i], err))
            return err->code;
    if (tool->key_file != NULL && audit_key_read_given(&reading.key, tool->key_file, err))
        return err->code;
    if (tool->format != NULL && strcmp(tool->format, "csv") == 0)
        print_header();
    if (audit_read(&reading, tool->paths, tool->path_count, err) == ERR_OK && verifies)
        tell_verified(&reading);
    audit_key_forget(&reading.key);
    if (err->code == ERR_UNSUPPORTED)
        run->status = CLI_FAILURE; /* a newer attnd wrote the log: not wrong use */
    return err->code;
}

/* ---- main ---- */

static enum err_code verify(struct cli_run *run, struct err *err)
{
    return read_log(run, true, err);
}

static enum err_code print(struct cli_run *run, struct err *err)
{
    return read_log(run, false, err);
}

static void close_all(void *target)
{
    struct tool *tool = target;
    audit_files_free(tool->paths, tool->path_count);
}

static const struct cli_program commands[] = {
    {.command = "verify", .cli = &verify_cli, .run = verify, .close = close_all},
    {.command = "show", .cli = &show_cli, .run = print, .close = close_all},
    {.command = "export", .cli = &export_cli, .run = print, .close = close_all},
};

int main(int argc, char **argv)
{
    static struct tool tool;
    return cli_main(commands, COUNT(commands), argc, argv, &tool);
}
