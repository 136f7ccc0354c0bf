/* answer.h - a prediction or an error as JSON: the one encoder that the server and the command-line
 * tools share, so that `attnd-predict --json` prints the very object that POST /predict returns.
 * Threads: no state. */
#ifndef ATTND_ENGINE_ANSWER_H
#define ATTND_ENGINE_ANSWER_H

#include "engine/engine.h"

#include <stdio.h>

struct json_t; /* jansson's */

/* Every real number is printed with this many significant digits (json_dumps flags). */
enum { ANSWER_DIGITS = 9 };

struct answer {
    const char *model_name, *model_version, *model_digest; /* digest NULL: null */
    const struct engine_info *info;
    const float *scores; /* [info->label_count] */
    struct judgement judgement;
    unsigned top_k;                        /* 0: all; clamped to label_count */
    bool truncated;                        /* adds "truncated": true */
    const struct explanation *explanation; /* NULL: not asked for */
};

/* {"model": {...}, "label", "score", "decision", "predictions": [...]}; "reason" if the decision is
 * not auto, "ood_score" and "ood_rank" if they are known, "truncated" if so, "explanation" if there
 * is one (of a text {"method", "layer"?, "words", "spans"}, of an image {"method", "layer"?,
 * "grid", "region": [left, top, width, height] of the grid in pixels of the image, "relevance",
 * "top_patches", "overlay"?}), "attention_stats" if it has them (model/attention_stats.h: each
 * number as [layers][heads]). Predictions are sorted by falling score, equal scores by label index.
 * A new reference; NULL if there is no memory, if a label or name is not UTF-8, or if a score is
 * not finite. */
struct json_t *answer_prediction(const struct answer *answer);

/* {"type", "title", "status", "detail", "instance"?, "error", "error_type"} of RFC 9457.
 * type is "urn:attnd:error:" and err_name(code). An instance that is not UTF-8 is left out. */
struct json_t *answer_problem(const struct err *err, const char *instance);

/* What engine_describe knows, as an object: family, kind, dtype, labels, sizes, limits, and the
 * tensors it does not use. Never a path. */
struct json_t *answer_model(const struct engine_info *info);

/* Further members of such an object; false if there is no memory. */
bool answer_add_text(struct json_t *answer, const char *key, const char *text);
bool answer_add_reals(struct json_t *answer, const char *key, const float *numbers, unsigned count);
bool answer_add_integers(struct json_t *answer, const char *key, const int32_t *numbers,
                         unsigned count);

/* Prints it as one line with ANSWER_DIGITS digits; false if the file cannot be written. */
bool answer_print(const struct json_t *answer, FILE *file);

#endif
