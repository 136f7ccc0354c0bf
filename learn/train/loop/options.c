/* options.c - see options.h. One function a row applies it: cli.h calls it without saying for which
 * option, so that each must know its own field and bounds. */
#include "learn/train/loop/options.h"

#include <stdlib.h>
#include <string.h>

/* ---- a value ---- */

static enum err_code parse_PATH(const char *text, double min, double max, const char *choices,
                                const char **out, struct err *err)
{
    (void)min;
    (void)max;
    (void)choices;
    if (text[0] == '\0')
        return err_set(err, ERR_UNUSABLE, "must not be empty");
    *out = text;
    return ERR_OK;
}

/* Is `text` one of the words between the bars? */
static bool is_choice(const char *text, const char *choices)
{
    size_t len = strcspn(text, "|");
    if (text[len] != '\0') /* two of them are none */
        return false;
    for (const char *word = choices; word != NULL; word = strchr(word, '|')) {
        word += *word == '|';
        if (len > 0 && strncmp(word, text, len) == 0 && (word[len] == '|' || word[len] == '\0'))
            return true;
    }
    return false;
}

static enum err_code parse_WORD(const char *text, double min, double max, const char *choices,
                                const char **out, struct err *err)
{
    (void)min;
    (void)max;
    if (!is_choice(text, choices))
        return err_set(err, ERR_UNUSABLE, "must be one of %s", choices);
    *out = text;
    return ERR_OK;
}

static enum err_code parse_COUNT(const char *text, double min, double max, const char *choices,
                                 unsigned *out, struct err *err)
{
    (void)choices;
    return cli_parse_unsigned(text, (unsigned)min, (unsigned)max, out, err);
}

static enum err_code parse_REAL(const char *text, double min, double max, const char *choices,
                                float *out, struct err *err)
{
    char *end;
    double value = strtod(text, &end);
    (void)choices;
    if (end == text || *end != '\0' || !(value >= min && value <= max))
        return err_set(err, ERR_UNUSABLE, "must be a number from %g to %g", min, max);
    *out = (float)value;
    return ERR_OK;
}

static enum err_code parse_FLAG(const char *text, double min, double max, const char *choices,
                                bool *out, struct err *err)
{
    (void)text;
    (void)min;
    (void)max;
    (void)choices;
    (void)err;
    *out = true;
    return ERR_OK;
}

enum { SIZE_MAX_PIXELS = 4096, EPOCHS_MAX = 100000 };

/* "48:20" at *text; moves it behind. */
static bool parse_stage(const char **text, struct train_stage *stage)
{
    char *end;
    unsigned long size = strtoul(*text, &end, 10);
    if (**text < '0' || **text > '9' || *end != ':' || end[1] < '0' || end[1] > '9')
        return false;
    unsigned long epochs = strtoul(end + 1, &end, 10);
    *stage = (struct train_stage){(unsigned)size, (unsigned)epochs};
    *text = end;
    return size >= 1 && size <= SIZE_MAX_PIXELS && epochs >= 1 && epochs <= EPOCHS_MAX;
}

static enum err_code parse_STAGES(const char *text, double min, double max, const char *choices,
                                  struct train_stages *out, struct err *err)
{
    (void)min;
    (void)max;
    (void)choices;
    for (out->count = 0; out->count < TRAIN_STAGES_MAX; text++) {
        if (!parse_stage(&text, &out->stage[out->count++]))
            break;
        if (*text == '\0')
            return ERR_OK;
        if (*text != ',')
            break;
    }
    return err_set(
        err, ERR_UNUSABLE,
        "must be at most %d stages SIZE:EPOCHS with commas between them, as in 48:20,96:5",
        TRAIN_STAGES_MAX);
}

/* ---- the rows ---- */

#define GROUP(title)
#define OPTION(field, flag, type, fallback, min, max, value, sentence)                             \
    static enum err_code set_##field(void *target, const char *text, struct err *err)              \
    {                                                                                              \
        return parse_##type(text, min, max, value, &((struct train_options *)target)->field, err); \
    }
#include "learn/train/loop/options.def"
#undef OPTION
#undef GROUP

#define VALUE_PATH(value) value
#define VALUE_WORD(value) value
#define VALUE_COUNT(value) value
#define VALUE_REAL(value) value
#define VALUE_STAGES(value) value
#define VALUE_FLAG(value) NULL

const struct cli_option train_cli_options[] = {
#define GROUP(title) {.help = title},
#define OPTION(field, flag, type, fallback, min, max, value, sentence)                             \
    {flag, VALUE_##type(value), sentence, set_##field},
#include "learn/train/loop/options.def"
#undef OPTION
#undef GROUP
};

const char *const train_cli_defaults[] = {
#define GROUP(title) "",
#define OPTION(field, flag, type, fallback, min, max, value, sentence) fallback,
#include "learn/train/loop/options.def"
#undef OPTION
#undef GROUP
};

const size_t train_cli_option_count = sizeof train_cli_options / sizeof train_cli_options[0];

void train_options_default(struct train_options *options)
{
    struct err err = {0};
    *options = (struct train_options){0};
    for (size_t i = 0; i < train_cli_option_count; i++)
        if (train_cli_defaults[i][0] != '\0')
            train_cli_options[i].apply(options, train_cli_defaults[i], &err);
}

/* ---- the whole ---- */

static enum err_code check_required(const struct train_options *options, struct err *err)
{
    const char *missing = options->model == NULL  ? "model DIR"
                          : options->data == NULL ? "data PATH"
                          : options->out == NULL  ? "out DIR"
                                                  : NULL;
    if (missing != NULL)
        return err_set(err, ERR_UNUSABLE, "--%s is missing; --help shows the usage", missing);
    if (strcmp(options->out, options->model) == 0)
        return err_set(err, ERR_UNUSABLE, "--out must not be --model, which it would replace");
    return ERR_OK;
}

enum err_code train_options_check(struct train_options *options, struct err *err)
{
    bool is_mlm = strcmp(options->task, "mlm") == 0;
    if (check_required(options, err))
        return err->code;
    if (is_mlm && (options->teacher != NULL || options->multi_label || options->stages.count > 0))
        return err_set(err, ERR_UNUSABLE,
                       "--task mlm goes with none of --teacher, --multi-label and --stages");
    if (options->multi_label && options->teacher != NULL)
        return err_set(err, ERR_UNUSABLE, "--teacher does not go with --multi-label");
    if (options->balance > 0 && options->multi_label)
        return err_set(err, ERR_UNUSABLE, "--balance does not go with --multi-label");
    for (unsigned i = 0, sum = 0; i < options->stages.count; i++) {
        sum += options->stages.stage[i].epochs;
        options->epochs = sum;
    }
    return ERR_OK;
}

/* Each type as it is typed; what only says where things lie or how fast is left out. */

static bool decides_weights(const char *field)
{
    static const char *const others[] = {"out",   "restart",          "threads",
                                         "store", "target_precision", "version"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(field, others[i]) == 0)
            return false;
    return true;
}

static void print_PATH(FILE *file, const char *const *value)
{
    fputs(*value != NULL ? *value : "", file);
}

static void print_WORD(FILE *file, const char *const *value)
{
    print_PATH(file, value);
}

static void print_COUNT(FILE *file, const unsigned *value)
{
    fprintf(file, "%u", *value);
}

static void print_REAL(FILE *file, const float *value)
{
    fprintf(file, "%.9g", (double)*value);
}

static void print_FLAG(FILE *file, const bool *value)
{
    fputs(*value ? "1" : "", file);
}

static void print_STAGES(FILE *file, const struct train_stages *value)
{
    for (unsigned i = 0; i < value->count; i++)
        fprintf(file, "%s%u:%u", i > 0 ? "," : "", value->stage[i].image_size,
                value->stage[i].epochs);
}

void train_options_print(const struct train_options *options, FILE *file)
{
#define GROUP(title)
#define OPTION(field, flag, type, fallback, min, max, value, sentence)                             \
    if (decides_weights(#field)) {                                                                 \
        fputs(#field "=", file);                                                                   \
        print_##type(file, &options->field);                                                       \
        fputc('\n', file);                                                                         \
    }
#include "learn/train/loop/options.def"
#undef OPTION
#undef GROUP
}
