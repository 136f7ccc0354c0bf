#include "engine/cli/cli_option.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *field_of(const struct cli_option *option, void *target)
{
    return (char *)target + option->offset;
}

/* ---- numbers ---- */

/* SIZE_MAX stands for anything larger. */
static bool read_digits(const char *text, size_t *out)
{
    *out = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9')
            return false;
        size_t digit = (size_t)(*at - '0');
        *out = *out > (SIZE_MAX - digit) / 10 ? SIZE_MAX : *out * 10 + digit;
    }
    return text[0] != '\0';
}

static enum err_code refuse_whole(double min, double max, struct err *err)
{
    return err_set(err, ERR_UNUSABLE, "must be a whole number from %.0f to %.0f", min, max);
}

enum err_code cli_option_parse_whole(const char *text, double min, double max, size_t *out,
                                     struct err *err)
{
    size_t number;
    if (!read_digits(text, &number) || (double)number < min || (double)number > max)
        return refuse_whole(min, max, err);
    *out = number;
    return ERR_OK;
}

enum err_code cli_option_set_whole(const struct cli_option *option, void *target, size_t number,
                                   struct err *err)
{
    if ((double)number < option->min || (double)number > option->max)
        return refuse_whole(option->min, option->max, err);
    if (option->type == CLI_UNSIGNED)
        *(unsigned *)field_of(option, target) = (unsigned)number;
    else
        *(size_t *)field_of(option, target) = number;
    return ERR_OK;
}

enum err_code cli_option_set_real(const struct cli_option *option, void *target, double number,
                                  struct err *err)
{
    if (!(number >= option->min && number <= option->max))
        return err_set(err, ERR_UNUSABLE, "must be a number from %.12g to %.12g", option->min,
                       option->max);
    if (option->type == CLI_FLOAT)
        *(float *)field_of(option, target) = (float)number;
    else
        *(double *)field_of(option, target) = number;
    return ERR_OK;
}

/* ---- texts ---- */

bool cli_option_is_choice(const char *choices, const char *text)
{
    size_t len = strlen(text);
    for (const char *at = choices; *at != '\0';) {
        size_t choice_len = strcspn(at, "|");
        if (choice_len == len && memcmp(at, text, len) == 0)
            return true;
        at += choice_len + (at[choice_len] == '|');
    }
    return false;
}

/* ---- paths ---- */

bool cli_option_is_path(const struct cli_option *option)
{
    return option->value != NULL && cli_option_is_choice("F|FILE|DIR|PATH", option->value);
}

static enum err_code check_stream(const struct cli_option *option, const char *value,
                                  struct err *err)
{
    if (value == NULL || strcmp(value, "-") != 0 || !cli_option_is_path(option) ||
        option->stream != CLI_NO_STREAM)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "- is standard input or output, which this option does not take; a file or "
                   "folder of this name is ./-");
}

/* ---- any ---- */

enum err_code cli_option_set(const struct cli_option *option, void *target, const char *value,
                             struct err *err)
{
    size_t whole = 0;
    double real;
    char *end;
    if (check_stream(option, value, err))
        return err->code;
    if (option->apply != NULL)
        return option->apply(option, target, value, err);
    switch (option->type) {
    case CLI_FLAG:
        *(bool *)field_of(option, target) = true;
        return ERR_OK;
    case CLI_TEXT:
        if (option->choices != NULL && !cli_option_is_choice(option->choices, value))
            return err_set(err, ERR_UNUSABLE, "must be one of %s", option->choices);
        if (value[0] == '\0')
            return err_set(err, ERR_UNUSABLE, "must not be empty");
        *(const char **)field_of(option, target) = value;
        return ERR_OK;
    case CLI_UNSIGNED:
    case CLI_SIZE:
        if (cli_option_parse_whole(value, option->min, option->max, &whole, err))
            return err->code;
        return cli_option_set_whole(option, target, whole, err);
    case CLI_FLOAT:
    case CLI_DOUBLE:
        real = strtod(value, &end);
        return cli_option_set_real(option, target, end == value || *end != '\0' ? NAN : real, err);
    default:
        return ERR_OK;
    }
}

enum err_code cli_option_set_fallbacks(const struct cli_option *options, size_t count, void *target,
                                       struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *fallback = options[i].fallback;
        if (fallback != NULL && fallback[0] != '\0' &&
            cli_option_set(&options[i], target, fallback, err))
            return err_prefix(err, "default of %s: ", options[i].name);
    }
    return ERR_OK;
}

bool cli_option_is_whole(const struct cli_option *option)
{
    return option->type == CLI_UNSIGNED || option->type == CLI_SIZE;
}

bool cli_option_is_real(const struct cli_option *option)
{
    return option->type == CLI_FLOAT || option->type == CLI_DOUBLE;
}

double cli_option_real(const struct cli_option *option, const void *target)
{
    const void *field = (const char *)target + option->offset;
    return option->type == CLI_FLOAT ? (double)*(const float *)field : *(const double *)field;
}

size_t cli_option_whole(const struct cli_option *option, const void *target)
{
    const void *field = (const char *)target + option->offset;
    return option->type == CLI_UNSIGNED ? *(const unsigned *)field : *(const size_t *)field;
}

const char *cli_option_text(const struct cli_option *option, const void *target)
{
    const void *field = (const char *)target + option->offset;
    return *(const char *const *)field;
}
