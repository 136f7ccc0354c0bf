/* cli_option.h - the row of an option: what it is called, what it takes, where its value goes.
 *
 *     struct mill { unsigned teeth; const char *dust; bool is_loud; };
 *     static const struct cli_option options[] = {
 *         {.name = "teeth", CLI_FIELD(struct mill, teeth), .value = "N", .min = 1, .max = 99,
 *          .fallback = "24", .help = "How many cut at once."},
 *         {.name = "dust", CLI_FIELD(struct mill, dust), .choices = "keep|blow",
 *          .fallback = "blow", .help = "What to do with it."},
 *         {.name = "loud", CLI_FIELD(struct mill, is_loud), .help = "Prints every cut."},
 *     };
 *
 * A table of such rows is all that cli.h needs for the command line and --help, and config/ for
 * files and variables. The type of a row follows from its field, so the two cannot disagree.
 * Threads: rows are constant; a target belongs to the thread that fills it.
 */
#ifndef ATTND_ENGINE_CLI_CLI_OPTION_H
#define ATTND_ENGINE_CLI_CLI_OPTION_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum cli_type {
    CLI_HEADING, /* a heading in --help: `help` is its text, and it has no name */
    CLI_ALIAS,   /* another name of the option called `value`, accepted but not in --help */
    CLI_FLAG,    /* a bool that becomes true; takes no value */
    CLI_TEXT,    /* a const char *, which borrows the value */
    CLI_UNSIGNED,
    CLI_SIZE,
    CLI_FLOAT,
    CLI_DOUBLE,
    CLI_OTHER /* a value that `apply` converts */
};

/* The standard stream that "-" names as the value of a path. */
enum cli_stream { CLI_NO_STREAM, CLI_STDIN, CLI_STDOUT };

struct cli_option {
    /* Words joined by '-' or '_', without the leading dashes. The command line has '-' between. */
    const char *name;
    enum cli_type type;
    const char *value;    /* name of the value in --help */
    const char *choices;  /* words that a CLI_TEXT may be: "a|b|c"; NULL: any */
    const char *fallback; /* the default, as it would be typed; NULL or "": the field stays */
    double min, max;      /* limits of a number */
    size_t offset;        /* place of the field in the target */
    /* Puts the value into the target instead of the type's own writer; NULL: none. */
    enum err_code (*apply)(const struct cli_option *option, void *target, const char *value,
                           struct err *err);
    /* A path, whose `value` is F, FILE, DIR or PATH, may be this stream, which the help names.
     * Without one "-" is refused, so that nobody finds a file of this name who meant a stream. */
    enum cli_stream stream;
    int tag; /* the table's own; not used by cli.h */
    bool is_required;
    const char *help; /* one sentence */
};

/* .type and .offset of a row whose value goes to a field. */
#define CLI_FIELD(structure, field)                                                                \
    .offset = offsetof(structure, field),                                                          \
    .type = _Generic(((structure *)0)->field,                                                      \
        bool: CLI_FLAG,                                                                            \
        const char *: CLI_TEXT,                                                                    \
        unsigned: CLI_UNSIGNED,                                                                    \
        size_t: CLI_SIZE,                                                                          \
        float: CLI_FLOAT,                                                                          \
        double: CLI_DOUBLE,                                                                        \
        default: CLI_OTHER)

/* Puts `value` (NULL for a flag) into the option's field. ERR_UNUSABLE says what is expected and
 * the limits; the field is then as before. */
enum err_code cli_option_set(const struct cli_option *option, void *target, const char *value,
                             struct err *err);

/* The same from a number, for a CLI_UNSIGNED or a CLI_SIZE. */
enum err_code cli_option_set_whole(const struct cli_option *option, void *target, size_t number,
                                   struct err *err);

/* Sets every fallback of the table. An error names an option whose fallback is outside its
 * limits. */
enum err_code cli_option_set_fallbacks(const struct cli_option *options, size_t count, void *target,
                                       struct err *err);

/* The same from a number, for a CLI_FLOAT or a CLI_DOUBLE. */
enum err_code cli_option_set_real(const struct cli_option *option, void *target, double number,
                                  struct err *err);

bool cli_option_is_path(const struct cli_option *option); /* by the name of its value */
bool cli_option_is_real(const struct cli_option *option); /* a CLI_FLOAT or a CLI_DOUBLE */
double cli_option_real(const struct cli_option *option, const void *target);
bool cli_option_is_whole(const struct cli_option *option); /* a CLI_UNSIGNED or a CLI_SIZE */
size_t cli_option_whole(const struct cli_option *option, const void *target);
const char *cli_option_text(const struct cli_option *option,
                            const void *target); /* value of a CLI_TEXT */

/* A whole number in decimal digits, nothing else. */
enum err_code cli_option_parse_whole(const char *text, double min, double max, size_t *out,
                                     struct err *err);

/* Is `text` one of the words between the bars? */
bool cli_option_is_choice(const char *choices, const char *text);

#endif
