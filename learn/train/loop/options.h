/* options.h - the options of a training run, from the rows of options.def.
 *
 *     struct train_options options = {0};
 *     cli_parse(&(struct cli){.options = train_cli_options, ...}, argc, argv, &options, ...);
 *     train_options_check(&options, &err);
 *
 * Strings are those of the command line. Threads: plain data.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_OPTIONS_H
#define ATTND_LEARN_TRAIN_LOOP_OPTIONS_H

#include "engine/base/err.h"
#include "engine/cli/cli_option.h"
#include "learn/data/dataset.h"
#include "learn/ngrams/ngram_branch.h"

#include <stdbool.h>
#include <stdio.h>

enum { TRAIN_STAGES_MAX = 8, TRAIN_PATHS_MAX = 8 };

/* Image sizes to learn at, in this order. */
struct train_stages {
    struct train_stage {
        unsigned image_size, epochs;
    } stage[TRAIN_STAGES_MAX];
    unsigned count;
};

/* The values of an option that may be repeated, in the order given. */
struct train_paths {
    const char *path[TRAIN_PATHS_MAX];
    unsigned count;
};

struct train_options {
#define FIELD_PATH const char *
#define FIELD_WORD const char *
#define FIELD_COUNT unsigned
#define FIELD_REAL float
#define FIELD_DOUBLE double
#define FIELD_FLAG bool
#define FIELD_STAGES struct train_stages
#define FIELD_PATHS struct train_paths
#define FIELD_NEEDED const char *
#define GROUP(title)
#define ALIAS(flag, other)
#define OPTION(field, flag, type, fallback, min, max, value, sentence) FIELD_##type field;
#include "learn/train/loop/options.def"
#undef OPTION
#undef ALIAS
#undef GROUP
};

/* The kind of training: --task, and the older --multi-label. */
enum train_task {
    TRAIN_CLASSIFY,
    TRAIN_MULTI_LABEL,
    TRAIN_REGRESS,
    TRAIN_TAG,
    TRAIN_PAIR,
    TRAIN_EMBED,
    TRAIN_MLM,
    TRAIN_WRITE, /* seq2seq */
};
enum train_task train_task(const struct train_options *options);

/* Sets every option to its default, for callers without a command line: cli_parse does it
 * itself. */
void train_options_default(struct train_options *options);

/* Checks options that exclude each other. `model`, `data` and `out` must be set. With stages,
 * `epochs` becomes the sum of theirs; --task multi-label and --task regress become what older
 * versions called them, which records of runs hold. ERR_UNUSABLE. */
enum err_code train_options_check(struct train_options *options, struct err *err);

/* The options of the n-gram table. */
struct ngram_settings train_ngrams(const struct train_options *options);

/* Prints "key=value" lines of all options that decide the weights: two runs with the same lines and
 * the same data give the same weights. */
void train_options_print(const struct train_options *options, FILE *file);

/* Prints the lines of all options that decide what a run writes: all but --out, --restart and
 * --threads. */
void train_options_print_all(const struct train_options *options, FILE *file);

/* False if a line's key [len] is that of an option that does not decide the weights. */
bool train_options_decide_weights(const char *key, size_t len);

/* The option of a line's key [len], without its dashes; NULL if there is no such key. */
const char *train_options_flag(const char *key, size_t len);

/* The rows for cli.h; the target is a struct train_options. */
extern const struct cli_option train_cli_options[];
extern const size_t train_cli_option_count;

#endif
