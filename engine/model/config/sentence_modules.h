/* sentence_modules.h - a sentence-transformers directory: what it says beside config.json. It makes
 * a vector of a text (Reimers and Gurevych 2019): an encoder, a pooling of its token states, then
 * Dense and Normalize in the directory's order.
 *
 *     modules.json                         the modules, in the order in which they run
 *     config_sentence_transformers.json    sentence_options.h; may be absent
 *     sentence_bert_config.json            sentence_options.h; beside the encoder; may be absent
 *     1_Pooling/config.json                struct sentence_pooling
 *     2_Dense/config.json                  sentence_dense.h
 *     3_Normalize/config.json              usually absent
 *     1_SpladePooling/config.json          struct sentence_splade, behind MLMTransformer
 *
 *     struct sentence_modules modules;
 *     if (sentence_modules_read(&modules, dir, &arena, &err)) ...
 *     ... open the checkpoint in modules.transformer_dir; its hidden size must be modules.hidden
 *     if (sentence_modules_load(&modules, &arena, &err)) ...
 *     ... vectors: engine/model/sentence_pooling.h
 *
 * Everything that is read and not served is refused by name: file, then element. Paths of
 * modules.json lead to sub-directories; a file in them may be a symbolic link, as in any checkpoint
 * directory.
 *
 * Source: the package sentence-transformers, versions 5.2.3 (by which the goldens were made) and
 * 6.2.0. Threads: plain data, immutable after the load.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_SENTENCE_MODULES_H
#define ATTND_ENGINE_MODEL_CONFIG_SENTENCE_MODULES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/config/sentence_dense.h"
#include "engine/model/config/sentence_options.h"

#include <stdbool.h>

enum {
    SENTENCE_STEPS_MAX = 8,      /* Dense and Normalize behind the pooling */
    SENTENCE_HIDDEN_MAX = 65536, /* an encoder's hidden size */
};

/* In the order in which version 5 puts their results side by side. */
enum sentence_mode {
    SENTENCE_CLS,
    SENTENCE_MAX,
    SENTENCE_MEAN,
    SENTENCE_MEAN_SQRT_LENGTH,
    SENTENCE_WEIGHTED_MEAN,
    SENTENCE_LAST_TOKEN,
    SENTENCE_MODES
};

/* SpladePooling (Formal et al. 2021): over the tokens, special ones included, the largest or the
 * sum of log(1 + max(0, logit)). */
struct sentence_splade {
    bool sums, logs_twice; /* log1p_relu: log(1 + log(1 + max(0, logit))) */
};

/* Pooling: `count` results of the encoder's hidden size, side by side, in this order. */
struct sentence_pooling {
    enum sentence_mode modes[SENTENCE_MODES]; /* [count] */
    unsigned count;                           /* at least 1 */
    bool include_prompt; /* false: the prompt's tokens do not count; [CLS] before it neither */
};

enum sentence_step_kind { SENTENCE_DENSE, SENTENCE_NORMALIZE };

struct sentence_step {
    enum sentence_step_kind kind;
    struct sentence_dense dense; /* of SENTENCE_DENSE */
    const char *path;            /* inside the directory: "2_Dense" */
    const char *dir;             /* the same with the directory in front */
};

/* The arena owns all that is pointed to. */
struct sentence_modules {
    bool
        is_sparse; /* MLMTransformer and SpladePooling: a weight for each entry of the vocabulary */
    struct sentence_splade splade;
    const char *transformer_path; /* the encoder's directory: "", or "0_Transformer" inside dir */
    const char *transformer_dir;  /* dir, or dir/0_Transformer: the caller opens the checkpoint and
                                     the tokenizer there */
    unsigned hidden;              /* width of a token state that the pooling expects */
    struct sentence_pooling pooling;
    struct sentence_step steps[SENTENCE_STEPS_MAX]; /* [step_count] */
    unsigned step_count;
    unsigned width; /* numbers of a vector, before truncation */
    struct sentence_options options;
};

/* "cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean" or "lasttoken". */
const char *sentence_mode_name(enum sentence_mode mode);

/* Reads a pooling: the name of a mode, or a list of names in the order of the result. `place` is
 * the value's, for error texts. ERR_UNSUPPORTED, ERR_UNUSABLE. */
enum err_code sentence_pooling_read(struct sentence_pooling *out, const struct json_t *value,
                                    const char *place, struct err *err);

/* Reads the descriptions in `dir`; no weights. Each text begins with the file's name in `dir`.
 * ERR_UNSUPPORTED: a module that is not served, or not in this place; a path that is not one or
 * more plain names of letters, digits, "-", "_" and "." (so none that leads outside); a member that
 * is not known, or has a value that is not served; a Dense that does not fit the width before it.
 * ERR_UNUSABLE: a wrong type. ERR_MALFORMED: no JSON. ERR_TOO_LARGE: a file of more than 1 MiB.
 * ERR_IO: a file cannot be read, or modules.json, or the config.json of Pooling or Dense, is
 * missing. ERR_NO_MEMORY. */
enum err_code sentence_modules_read(struct sentence_modules *out, const char *dir,
                                    struct arena *arena, struct err *err);

/* Numbers of the weights of every Dense. */
size_t sentence_modules_numbers(const struct sentence_modules *modules);

/* Reads the weights of every Dense as fp32 (sentence_dense_load). Each text begins with the
 * module's path. After an error the weights are not to be used. */
enum err_code sentence_modules_load(struct sentence_modules *modules, struct arena *arena,
                                    struct err *err);

#endif
