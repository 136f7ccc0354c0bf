/* writing_options.h - how a model writes texts, as a command line says it.
 *
 *     struct program { struct writing_options write; };         begins as writing_options_empty
 *     static const struct cli_option options[] = {
 *         CLI_ROWS_WRITING(struct program, write),
 *     };
 *     writing_options_take(&program.write, &arena, &writing, &err);     after the command line
 *     writing_options_close(&program.write);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_WRITING_OPTIONS_H
#define ATTND_LEARN_EVAL_WRITING_OPTIONS_H

#include "engine/cli/cli_option.h"
#include "engine/engine.h"
#include "learn/data/input_list.h"

struct writing_options {
    struct engine_writing writing;
    struct input_list allowed; /* texts of --allow and --allowed */
    bool is_given, has_allowed;
    const char *unrecorded; /* one that is given and has no place in attnd.json; NULL: none */
};
extern const struct writing_options writing_options_empty;

/* *out: the options, in the struct and the arena; NULL: none is given. ERR_UNUSABLE for a text that
 * is allowed and has a NUL; ERR_NO_MEMORY. */
enum err_code writing_options_take(struct writing_options *options, struct arena *arena,
                                   const struct engine_writing **out, struct err *err);
void writing_options_close(struct writing_options *options);

/* The rows' apply. A tag is the member of generation_request, or the option. */
enum err_code writing_options_count(const struct cli_option *option, void *target,
                                    const char *value, struct err *err);
enum err_code writing_options_set(const struct cli_option *option, void *target, const char *value,
                                  struct err *err);

enum writing_option {
    WRITING_LENGTH_PENALTY,
    WRITING_SOURCE_LANGUAGE,
    WRITING_TARGET_LANGUAGE,
    WRITING_PATTERN,
    WRITING_ALLOW,
    WRITING_ALLOWED,
    WRITING_COPY_NUMBERS,
    WRITING_CHECKSUM
};

#define CLI_ROW_WRITING_COUNT(type_, member, name_, request, help_)                                \
    {                                                                                              \
        .name = name_, .type = CLI_OTHER, .value = "N", .offset = offsetof(type_, member),         \
        .apply = writing_options_count, .tag = offsetof(struct generation_request, request),       \
        .help = help_                                                                              \
    }
#define CLI_ROW_WRITING(type_, member, name_, value_, tag_, help_)                                 \
    {                                                                                              \
        .name = name_, .type = CLI_OTHER, .value = value_, .offset = offsetof(type_, member),      \
        .apply = writing_options_set, .tag = tag_, .help = help_                                   \
    }

/* Options of the search for a text, its languages, and rules that it obeys. */
#define CLI_ROWS_WRITING(type_, member)                                                            \
    CLI_ROW_WRITING_COUNT(                                                                         \
        type_, member, "max-new-tokens", max_new_tokens,                                           \
        "Writing: most tokens of the text (default: as the checkpoint says, else 64)."),           \
        CLI_ROW_WRITING_COUNT(type_, member, "min-new-tokens", min_new_tokens,                     \
                              "Writing: fewest tokens."),                                          \
        CLI_ROW_WRITING_COUNT(                                                                     \
            type_, member, "num-beams", num_beams,                                                 \
            "Writing: hypotheses that are followed at once, 1 to 8 (beam search)."),               \
        CLI_ROW_WRITING_COUNT(type_, member, "num-return-sequences", num_return_sequences,         \
                              "Writing: texts that are answered, the best first."),                \
        CLI_ROW_WRITING_COUNT(type_, member, "no-repeat-ngram-size", no_repeat_ngram_size,         \
                              "Writing: no sequence of so many tokens twice."),                    \
        CLI_ROW_WRITING(type_, member, "length-penalty", "X", WRITING_LENGTH_PENALTY,              \
                        "Writing: scores are divided by length^X."),                               \
        CLI_ROW_WRITING(                                                                           \
            type_, member, "source-language", "CODE", WRITING_SOURCE_LANGUAGE,                     \
            "Writing: the language of the texts, as the checkpoint's tokenizer calls it."),        \
        CLI_ROW_WRITING(type_, member, "target-language", "CODE", WRITING_TARGET_LANGUAGE,         \
                        "Writing: the language to write in."),                                     \
        CLI_ROW_WRITING(type_, member, "pattern", "REGEX", WRITING_PATTERN,                        \
                        "Writing: a regular expression that the whole text matches."),             \
        CLI_ROW_WRITING(type_, member, "allow", "S", WRITING_ALLOW,                                \
                        "Writing: the text is this one, or another that is allowed."),             \
        CLI_ROW_WRITING(type_, member, "allowed", "F", WRITING_ALLOWED,                            \
                        "Writing: the same for each line of the file that is not blank."),         \
        {.name = "copy-numbers",                                                                   \
         .type = CLI_FLAG,                                                                         \
         .offset = offsetof(type_, member),                                                        \
         .apply = writing_options_set,                                                             \
         .tag = WRITING_COPY_NUMBERS,                                                              \
         .help = "Writing: each number of the text stands in the source text."},                   \
        CLI_ROW_WRITING(type_, member, "checksum", "NAME", WRITING_CHECKSUM,                       \
                        "Writing: the text ends with its check characters: " ENGINE_CHECKSUM_NAMES \
                        ".")

#endif
