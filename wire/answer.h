/* answer.h - a prediction as JSON: the one encoder that the server and the command-line tools
 * share, so that `attnd-predict --json` prints the very object that POST /predict returns. Threads:
 * no state. */
#ifndef ATTND_WIRE_ANSWER_H
#define ATTND_WIRE_ANSWER_H

#include "engine/engine.h"
#include "engine/index/index.h"
#include "wire/vector_form.h"

#include <stdio.h>

struct json_t; /* jansson's */

/* Every real number is printed with this many significant digits (json_dumps flags). */
enum { ANSWER_DIGITS = 9 };

/* A past input that is near to the one at hand; the strings are borrowed. */
struct answer_neighbour {
    const char *id, *label, *source; /* label and source "": null in JSON */
    float score;
};
struct answer_neighbours {
    const struct answer_neighbour *items; /* [count] nearest first; NULL: not asked for */
    unsigned count;
};

/* The result for one input, and the model that gave it. */
struct answer {
    const char *model_name, *model_version, *model_digest; /* digest NULL: null */
    const struct engine_info *info;
    struct engine_result result;           /* finite, with scores; a vector scaled */
    struct vector_form vector;             /* the form in which a vector is written */
    const struct explanation *explanation; /* NULL: not asked for */
    struct answer_neighbours neighbours;
    bool is_repeated; /* it was computed for an earlier request */
    const char *text; /* [text_len] spans: the input's text, UTF-8 */
    size_t text_len;
    const struct engine_input *input; /* embedding: its parts have rows of the result */
};

/* {"truncated", "neighbours": [{"id", "label", "score", "source"}]}; the first if the end of the
 * text was not searched for. A new reference; NULL if there is no memory, or a string is not
 * UTF-8. */
struct json_t *answer_similar(const struct answer_neighbours *neighbours, bool truncated);

/* {"model": {...}, "label", "score", "decision", "predictions": [...]}, or of a regression "value"
 * in place of label, score and predictions, of one with several numbers "values": {NAME: VALUE},
 * or of tags "spans": [{"label", "score", "start", "end", "text"}], or of a question "answer":
 * {"text", "score", "start", "end"} (null: there is none) and, with several asked for, "answers":
 * [...], or of an embedding "embedding" and "dimensions" ("encoding", if it is not float; of lines
 * or tokens "chunks": [{"start", "end", "embedding"}], null for a line without a token, and start
 * and end null for a token that the text does not have) without a decision, or of a text that is
 * written "output" and "score" and, with several asked for, "alternatives": [{"output", "score"}],
 * and where no text obeys the rules of the request "output": null, "broken_rule" and "rejected":
 * {"output", "score"} (left out: there is none);
 * "reason" if the decision is not auto, "ood_score" and "ood_rank" if they are known, "truncated"
 * if so, "windows" of a text that has them, "tokens" {"of", "kept"} of a model that leaves some
 * out, "explanation" if there is one (of a text {"method", "layer"?, "of_all_tokens"?, "words",
 * "spans"}, of an image {"method", "layer"?, "of_all_tokens"?, "grid", "region": [left, top,
 * width, height] of the grid in pixels of the image, "relevance", "top_patches", "overlay"?}),
 * "attention_stats" if it has them (model/attention_stats.h: each number as [layers][heads]),
 * "neighbours" if they were asked for (answer_similar), "cached" if the answer is_repeated.
 * Predictions are the top_k with the highest scores (0: all), sorted by falling score, equal
 * scores by label index. A new reference; NULL if there is no memory, or a name is not UTF-8. */
struct json_t *answer_prediction(const struct answer *answer, unsigned top_k);

/* The sentence of "reason", which tells a person why the decision is not auto. A new reference to a
 * string; NULL without memory. */
struct json_t *answer_reason(const struct answer *answer);

/* The description of a model (engine_describe) as an object: family, kind, dtype, labels, sizes,
 * limits, and unused tensors. Never a path. */
struct json_t *answer_model(const struct engine_info *info);

/* The description of an index as an object: rows, dimensions, similarity, element, space, bytes,
 * model and digest. */
struct json_t *answer_index(const struct index_info *info);

/* Further members of such an object; false if there is no memory. */
bool answer_add_text(struct json_t *answer, const char *key, const char *text);
/* "input": {"file", "line"}; line 0: without it. A path that is not UTF-8 becomes a note. */
bool answer_add_origin(struct json_t *answer, const char *file, unsigned line);
bool answer_add_reals(struct json_t *answer, const char *key, const float *numbers, unsigned count);
/* [count][size] */
bool answer_add_rows(struct json_t *answer, const char *key, const float *rows, unsigned count,
                     unsigned size);
bool answer_add_integers(struct json_t *answer, const char *key, const int32_t *numbers,
                         unsigned count);

/* Prints it as one line with ANSWER_DIGITS digits; false if the file cannot be written. */
bool answer_print(const struct json_t *answer, FILE *file);

#endif
