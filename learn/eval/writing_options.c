#include "learn/eval/writing_options.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct writing_options writing_options_empty = {
    .writing.asked = {LLONG_MIN, LLONG_MIN, LLONG_MIN, LLONG_MIN, LLONG_MIN, NAN, UINT32_MAX}};

static struct writing_options *options_of(const struct cli_option *option, void *target)
{
    struct writing_options *options = (void *)((char *)target + option->offset);
    options->is_given = true;
    if (option->tag != WRITING_CHECKSUM || strcmp(option->name, "checksum") != 0)
        options->unrecorded = option->name;
    return options;
}

enum err_code writing_options_count(const struct cli_option *option, void *target,
                                    const char *value, struct err *err)
{
    struct writing_options *options = options_of(option, target);
    char *end;
    const long long number = strtoll(value, &end, 10);
    if (end == value || *end != '\0')
        return err_set(err, ERR_UNUSABLE, "expected a whole number");
    *(long long *)(void *)((char *)&options->writing.asked + option->tag) = number;
    return ERR_OK;
}

static enum err_code set_penalty(double *penalty, const char *value, struct err *err)
{
    char *end;
    *penalty = strtod(value, &end);
    return end != value && *end == '\0' && isfinite(*penalty)
               ? ERR_OK
               : err_set(err, ERR_UNUSABLE, "expected a number");
}

enum err_code writing_options_set(const struct cli_option *option, void *target, const char *value,
                                  struct err *err)
{
    struct writing_options *options = options_of(option, target);
    struct engine_writing *writing = &options->writing;
    const struct listed_input text = {.text = value, .text_len = value != NULL ? strlen(value) : 0};
    switch ((enum writing_option)option->tag) {
    case WRITING_LENGTH_PENALTY:
        return set_penalty(&writing->asked.length_penalty, value, err);
    case WRITING_SOURCE_LANGUAGE:
        writing->source_language = value;
        return ERR_OK;
    case WRITING_TARGET_LANGUAGE:
        writing->target_language = value;
        return ERR_OK;
    case WRITING_PATTERN:
        writing->pattern = value;
        writing->pattern_len = text.text_len;
        return ERR_OK;
    case WRITING_ALLOW:
        options->has_allowed = true;
        return input_list_add(&options->allowed, &text, err);
    case WRITING_ALLOWED:
        options->has_allowed = true;
        return input_list_add_lines(&options->allowed, value, err);
    case WRITING_COPY_NUMBERS:
        writing->copies_numbers = true;
        return ERR_OK;
    case WRITING_CHECKSUM:
        return engine_checksum_find(value, text.text_len, &writing->checksum)
                   ? ERR_OK
                   : err_set(err, ERR_UNUSABLE, "expected " ENGINE_CHECKSUM_NAMES);
    }
    return ERR_OK;
}

enum err_code writing_options_take(struct writing_options *options, struct arena *arena,
                                   const struct engine_writing **out, struct err *err)
{
    const struct input_list *list = &options->allowed;
    *out = options->is_given ? &options->writing : NULL;
    if (!options->has_allowed)
        return ERR_OK;
    const char **texts = arena_alloc_array(arena, list->count + 1u, sizeof *texts);
    if (texts == NULL)
        return err_no_memory(err, list->count * sizeof *texts);
    for (unsigned i = 0; i < list->count; i++) {
        texts[i] = list->items[i].text;
        if (strlen(texts[i]) != list->items[i].text_len)
            return err_set(err, ERR_UNUSABLE, "%s:%u: a NUL in a text that is allowed",
                           list->items[i].file, list->items[i].line);
    }
    options->writing.allowed = texts;
    options->writing.allowed_count = list->count;
    return ERR_OK;
}

void writing_options_close(struct writing_options *options)
{
    input_list_close(&options->allowed);
}
