#include "learn/train/loop/options.h"

#include "engine/base/file.h"

#include <stdlib.h>
#include <string.h>

/* ---- stages ---- */

enum { SIZE_MAX_PIXELS = 4096, EPOCHS_MAX = 100000 };

/* Parses "48:20" at *text and moves *text past it. */
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

static enum err_code set_stages(const struct cli_option *option, void *target, const char *text,
                                struct err *err)
{
    struct train_stages *out = &((struct train_options *)target)->stages;
    (void)option;
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

/* ---- paths ---- */

static enum err_code add_path(const struct cli_option *option, void *target, const char *text,
                              struct err *err)
{
    struct train_paths *out = (void *)((char *)target + option->offset);
    if (text[0] == '\0')
        return err_set(err, ERR_UNUSABLE, "must not be empty");
    if (out->count == TRAIN_PATHS_MAX)
        return err_set(err, ERR_UNUSABLE, "may be given at most %d times", TRAIN_PATHS_MAX);
    out->path[out->count++] = text;
    return ERR_OK;
}

/* ---- the rows ---- */

#define VALUE_PATH(value_) .value = value_
#define VALUE_NEEDED(value_) .value = value_, .is_required = true
#define VALUE_WORD(value_) .choices = value_
#define VALUE_COUNT(value_) .value = value_
#define VALUE_REAL(value_) .value = value_
#define VALUE_DOUBLE(value_) .value = value_
#define VALUE_STAGES(value_) .value = value_, .apply = set_stages
#define VALUE_PATHS(value_) .value = value_, .apply = add_path
#define VALUE_FLAG(value_) .value = NULL

const struct cli_option train_cli_options[] = {
#define GROUP(title) {.help = title},
#define ALIAS(flag, other) {.name = flag, .type = CLI_ALIAS, .value = other},
#define OPTION(field, flag, type_, fallback_, min_, max_, value_, sentence)                        \
    {.name = flag,                                                                                 \
     .fallback = fallback_,                                                                        \
     .min = min_,                                                                                  \
     .max = max_,                                                                                  \
     .help = sentence,                                                                             \
     VALUE_##type_(value_),                                                                        \
     CLI_FIELD(struct train_options, field)},
#include "engine/base/file.h"
#include "learn/train/loop/options.def"
#undef OPTION
#undef ALIAS
#undef GROUP
};

const size_t train_cli_option_count = sizeof train_cli_options / sizeof train_cli_options[0];

enum train_task train_task(const struct train_options *options)
{
    const char *task = options->task;
    return strcmp(task, "mlm") == 0                                   ? TRAIN_MLM
           : strcmp(task, "seq2seq") == 0                             ? TRAIN_WRITE
           : strcmp(task, "pair") == 0                                ? TRAIN_PAIR
           : strcmp(task, "embed") == 0                               ? TRAIN_EMBED
           : strcmp(task, "tag") == 0                                 ? TRAIN_TAG
           : strncmp(task, "regress", strlen("regress")) == 0         ? TRAIN_REGRESS
           : options->multi_label || strcmp(task, "multi-label") == 0 ? TRAIN_MULTI_LABEL
                                                                      : TRAIN_CLASSIFY;
}

void train_options_default(struct train_options *options)
{
    struct err err = {0};
    *options = (struct train_options){0};
    cli_option_set_fallbacks(train_cli_options, train_cli_option_count, options, &err);
}

/* ---- all options ---- */

struct ngram_settings train_ngrams(const struct train_options *options)
{
    return (struct ngram_settings){.characters = options->ngrams,
                                   .key_lines = options->ngram_lines,
                                   .key_words = options->ngram_words,
                                   .weight = options->ngram_weight};
}

static enum err_code check_ngrams(const struct train_options *options, bool is_mlm, struct err *err)
{
    const struct ngram_settings ngrams = train_ngrams(options);
    if (is_mlm || options->multi_label)
        return err_set(err, ERR_UNUSABLE,
                       "--ngrams goes with neither --task mlm nor --multi-label");
    return ngram_settings_check(&ngrams, err);
}

/* Refuses options of labels, of other losses, or of a head that the task does not have. An option
 * that has its default cannot be told from one that was not given, and is not applied. */
static enum err_code check_task(const struct train_options *options, struct err *err)
{
    enum { NUMBERS = 1, VECTORS = 2, SPANS = 4, LABELS = 7, TEXTS = 8, ALL = 15 };
    static const char *const names[] = {[TRAIN_REGRESS] = "regress",
                                        [TRAIN_PAIR] = "pair",
                                        [TRAIN_EMBED] = "embed",
                                        [TRAIN_TAG] = "tag",
                                        [TRAIN_WRITE] = "seq2seq"};
    const enum train_task task = train_task(options);
    const unsigned kind = task == TRAIN_REGRESS || task == TRAIN_PAIR ? NUMBERS
                          : task == TRAIN_EMBED                       ? VECTORS
                          : task == TRAIN_TAG                         ? SPANS
                          : task == TRAIN_WRITE                       ? TEXTS
                                                                      : 0;
    const struct {
        bool is_given;
        const char *name;
        unsigned kinds; /* that refuse it */
    } rows[] = {
        {options->multi_label, "multi-label", ALL},
        {options->label_smoothing > 0, "label-smoothing", LABELS},
        {options->balance > 0, "balance", NUMBERS | SPANS | TEXTS},
        {options->class_weight > 0, "class-weight", ALL},
        {options->logit_adjust > 0, "logit-adjust", ALL},
        {options->teacher.count > 0, "teacher", ALL},
        {options->teacher_logits.count > 0, "teacher-logits", ALL},
        {options->ngrams > 0, "ngrams", ALL},
        {options->freeze_epochs > 0, "freeze-epochs", VECTORS | TEXTS},
        {options->layer_decay < 1, "layer-decay", TEXTS},
        {options->entropy != 0, "entropy", TEXTS},
        {options->sparsity != 0, "sparsity", TEXTS},
        {options->stages.count > 0, "stages", TEXTS},
        {options->views > 0, "views", TEXTS},
        {strcmp(options->init, "plain") != 0, "init structured", TEXTS},
        {strcmp(options->grey16, "minmax") == 0, "grey16 minmax", TEXTS},
        {strcmp(options->reduction, "lines") == 0, "reduction lines", TEXTS},
        {strcmp(options->window, "head") != 0, "window any", TEXTS},
        {strcmp(options->long_text, "windows") == 0, "long-text windows", VECTORS | TEXTS},
        {strcmp(options->window_pooling, "max") != 0, "window-pooling", SPANS | TEXTS},
        {options->line_dropout > 0, "line-dropout", TEXTS},
        {options->word_dropout > 0, "word-dropout", TEXTS},
        {strcmp(options->truncation, "keep") != 0, "truncation", TEXTS},
        {strcmp(options->class_biases, "none") != 0, "class-biases", ALL},
        {strcmp(options->ood_method, "neighbours") != 0 && strcmp(options->ood_method, "none") != 0,
         "ood-method", ALL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].is_given && (rows[i].kinds & kind) != 0)
            return kind == NUMBERS
                       ? err_set(err, ERR_UNUSABLE, "--%s is for labels; --task %s learns numbers",
                                 rows[i].name, names[task])
                       : err_set(err, ERR_UNUSABLE, "--%s does not go with --task %s", rows[i].name,
                                 names[task]);
    if (task == TRAIN_EMBED && options->batch < 2)
        return err_set(err, ERR_UNUSABLE,
                       "--batch 1: --task embed compares each pair with the others of its batch; "
                       "give at least 2");
    return ERR_OK;
}

enum err_code train_options_check(struct train_options *options, struct err *err)
{
    /* Records of runs hold these names of the tasks. */
    if (strcmp(options->task, "multi-label") == 0) {
        options->task = "classify";
        options->multi_label = true;
    }
    if (strcmp(options->task, "regress") == 0)
        options->task = "regression";
    bool is_mlm = train_task(options) == TRAIN_MLM, adjusts = options->logit_adjust > 0;
    bool is_taught = options->teacher.count + options->teacher_logits.count > 0;
    if (strcmp(options->out, options->model) == 0)
        return err_set(err, ERR_UNUSABLE, "--out must not be --model, which it would replace");
    if (is_mlm && (is_taught || adjusts || options->multi_label || options->stages.count > 0))
        return err_set(err, ERR_UNUSABLE,
                       "--task mlm goes with none of --teacher, --teacher-logits, --logit-adjust, "
                       "--multi-label and --stages");
    if (options->multi_label && (is_taught || adjusts || options->balance > 0))
        return err_set(err, ERR_UNUSABLE, "%s does not go with --multi-label",
                       options->teacher.count > 0          ? "--teacher"
                       : options->teacher_logits.count > 0 ? "--teacher-logits"
                       : adjusts                           ? "--logit-adjust"
                                                           : "--balance");
    if (check_task(options, err))
        return err->code;
    if (options->version != NULL && !file_is_part(options->version))
        return err_set(err, ERR_UNUSABLE, "--model-version: " FILE_PART_RULE);
    if (options->ngrams > 0 && check_ngrams(options, is_mlm, err))
        return err->code;
    if ((options->views & (options->views - 1)) != 0)
        return err_set(err, ERR_UNUSABLE, "--views must be 1, 2, 4 or 8");
    for (unsigned i = 0, sum = 0; i < options->stages.count; i++) {
        sum += options->stages.stage[i].epochs;
        options->epochs = sum;
    }
    return ERR_OK;
}

/* ---- key=value lines ---- */

/* Options that do not decide the weights; the first PLACES do not decide what a run writes either.
 */
enum { OTHERS = 14, PLACES = 4 };
static const char *const others[OTHERS] = {
    "out",         "restart",          "threads",      "usable_min", "store",
    "ood_method",  "target_precision", "version",      "truncation", "ngrams",
    "ngram_lines", "ngram_words",      "ngram_weight", "views"};

/* True for an option that was added later and has its default: it is not printed, so that
 * fingerprints from before stay valid. */
static bool is_new_default(const struct train_options *options, const char *field)
{
    if (strcmp(field, "grey16") == 0)
        return strcmp(options->grey16, "auto") == 0;
    if (strcmp(field, "teacher_logits") == 0)
        return options->teacher_logits.count == 0;
    if (strcmp(field, "logit_adjust") == 0)
        return options->logit_adjust == 0;
    if (strcmp(field, "similarity_scale") == 0)
        return options->similarity_scale == 20;
    if (strcmp(field, "source_language") == 0)
        return options->source_language == NULL;
    if (strcmp(field, "target_language") == 0)
        return options->target_language == NULL;
    if (strcmp(field, "reduction") == 0)
        return strcmp(options->reduction, "keep") == 0;
    const bool is_plain = strcmp(options->long_text, "keep") == 0 && options->windows == 8 &&
                          options->window_stride == 0 &&
                          strcmp(options->window_pooling, "max") == 0;
    return is_plain && (strcmp(field, "long_text") == 0 || strcmp(field, "windows") == 0 ||
                        strncmp(field, "window_", strlen("window_")) == 0);
}

/* False for the first `left_out` of `others`, which are not printed. */
static bool is_printed(const struct train_options *options, const char *field, size_t left_out)
{
    if (left_out == OTHERS && is_new_default(options, field))
        return false;
    for (size_t i = 0; i < left_out; i++)
        if (strcmp(field, others[i]) == 0)
            return false;
    return true;
}

static void print_PATH(FILE *file, const char *const *value)
{
    fputs(*value != NULL ? *value : "", file);
}

static void print_NEEDED(FILE *file, const char *const *value)
{
    print_PATH(file, value);
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

static void print_DOUBLE(FILE *file, const double *value)
{
    fprintf(file, "%.17g", *value);
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

/* A single path is printed as an option that is given once. */
static void print_PATHS(FILE *file, const struct train_paths *value)
{
    for (unsigned i = 0; i < value->count; i++)
        fprintf(file, "%s%s", i > 0 ? ":" : "", value->path[i]);
}

static void print_options(const struct train_options *options, size_t left_out, FILE *file)
{
#define GROUP(title)
#define ALIAS(flag, other)
#define OPTION(field, flag, type, fallback, min, max, value, sentence)                             \
    if (is_printed(options, #field, left_out)) {                                                   \
        fputs(#field "=", file);                                                                   \
        print_##type(file, &options->field);                                                       \
        fputc('\n', file);                                                                         \
    }
#include "learn/train/loop/options.def"
#undef OPTION
#undef ALIAS
#undef GROUP
}

void train_options_print(const struct train_options *options, FILE *file)
{
    print_options(options, OTHERS, file);
}

void train_options_print_all(const struct train_options *options, FILE *file)
{
    print_options(options, PLACES, file);
}

bool train_options_decide_weights(const char *key, size_t len)
{
    for (size_t i = 0; i < OTHERS; i++)
        if (strlen(others[i]) == len && memcmp(key, others[i], len) == 0)
            return false;
    return true;
}

const char *train_options_flag(const char *key, size_t len)
{
#define GROUP(title)
#define ALIAS(flag, other)
#define OPTION(field, flag, type, fallback, min, max, value, sentence)                             \
    if (strlen(#field) == len && memcmp(key, #field, len) == 0)                                    \
        return flag;
#include "learn/train/loop/options.def"
#undef OPTION
#undef ALIAS
#undef GROUP
    return NULL;
}
