/* writing_options.h - how a model writes texts, as the options of a program say it: those of a
 * request (wire/codec_writing.h) by their names, and lists of allowed texts.
 *
 *     struct program { struct writing_options write; };                          zeros: none
 *     static const struct cli_option options[] = {WRITING_ROWS("-", set_writing), ...};
 *     writing_options_set(&program.write, option->name, value, &err);            in set_writing
 *     if (program.write.is_given) ... &program.write.writing ...
 *     writing_options_close(&program.write);                                     of copies, once
 *
 * Threads: one at a time.
 */
#ifndef ATTND_TOOLS_ANSWERS_WRITING_OPTIONS_H
#define ATTND_TOOLS_ANSWERS_WRITING_OPTIONS_H

#include "engine/base/arena.h"
#include "engine/cli/cli_option.h"
#include "engine/engine.h"

struct writing_options {
    struct engine_writing writing; /* if it is given */
    bool is_given;
    const char *unrecorded; /* one that is given and has no place in attnd.json; NULL: none */
    const char **allowed;   /* the writing's, with room for ENGINE_ALLOWED_MAX; NULL: any */
    struct arena arena;     /* theirs */
};

/* Sets an option; '-' in its name counts as '_'. Name and value are borrowed. allow: one more text
 * that is allowed; allowed: each line of a file that is not blank, "-" for standard input. Value
 * NULL: a flag that is given. ERR_UNUSABLE says what is expected, or file and limit; ERR_IO of the
 * file; ERR_INTERNAL for a name that is none. */
enum err_code writing_options_set(struct writing_options *options, const char *name,
                                  const char *value, struct err *err);
/* The options, which are given from now on, with nothing said if nothing was. */
struct engine_writing *writing_options_give(struct writing_options *options);
void writing_options_close(struct writing_options *options);

/* Rows of a table of options. S is the sign between two words, SET the row's apply. */
#define WRITING_ROW(SET, name_, value_, help_)                                                     \
    {                                                                                              \
        .name = name_, .type = CLI_OTHER, .apply = SET, .value = value_, .help = "Writing: " help_ \
    }
#define WRITING_ROWS(S, SET)                                                                       \
    WRITING_ROW(SET, "max" S "new" S "tokens", "N",                                                \
                "most tokens of the text (default: as the checkpoint says, else 64)."),            \
        WRITING_ROW(SET, "min" S "new" S "tokens", "N", "fewest tokens."),                         \
        WRITING_ROW(SET, "num" S "beams", "N",                                                     \
                    "hypotheses that are followed at once, 1 to 8 (beam search)."),                \
        WRITING_ROW(SET, "num" S "return" S "sequences", "N",                                      \
                    "texts that are answered, the best first."),                                   \
        WRITING_ROW(SET, "no" S "repeat" S "ngram" S "size", "N",                                  \
                    "no sequence of so many tokens twice."),                                       \
        WRITING_ROW(SET, "length" S "penalty", "X", "scores are divided by length^X."),            \
        WRITING_ROW(SET, "source" S "language", "CODE",                                            \
                    "the language of the texts, as the checkpoint's tokenizer calls it."),         \
        WRITING_ROW(SET, "target" S "language", "CODE", "the language to write in."),              \
        WRITING_ROW(SET, "pattern", "REGEX", "a regular expression that the whole text matches."), \
        {.name = "allowed",                                                                        \
         .type = CLI_OTHER,                                                                        \
         .apply = SET,                                                                             \
         .value = "FILE",                                                                          \
         .stream = CLI_STDIN,                                                                      \
         .help = "Writing: the text is one of the file's lines that are not blank; - is standard " \
                 "input."},                                                                        \
        WRITING_ROW(SET, "checksum", "NAME",                                                       \
                    "the text ends with its check characters: " ENGINE_CHECKSUM_NAMES ".")
#define WRITING_ROW_ALLOW(SET)                                                                     \
    WRITING_ROW(SET, "allow", "S", "the text is this one, or another that is allowed.")
#define WRITING_ROW_COPY_NUMBERS(SET)                                                              \
    {                                                                                              \
        .name = "copy-numbers", .type = CLI_FLAG, .apply = SET,                                    \
        .help = "Writing: each number of the text stands in the source text."                      \
    }

#endif
