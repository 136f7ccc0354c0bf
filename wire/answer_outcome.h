/* answer_outcome.h - the part of an answer that log, audit, metrics, drift, feedback, review and
 * roll-out read. They ask for what they need and do not know the tasks: a new task is a new case in
 * answer_outcome alone. Threads: no state. */
#ifndef ATTND_WIRE_ANSWER_OUTCOME_H
#define ATTND_WIRE_ANSWER_OUTCOME_H

#include "engine/engine.h"

#include <stdint.h>

/* Labels of a model whose sets are kept as bits, and bytes of all their texts: all bits of a word
 * stand for no set, and a line of the audit log has room for three sets. */
enum { OUTCOME_SET_LABELS = 63, OUTCOME_SET_BYTES = 2048 };

/* Strings are the model's, the judgement is the result's. */
struct answer_outcome {
    bool is_set;          /* several labels may hold, and the model is within both limits */
    uint64_t set;         /* bit i: label i of the model's labels scores at least 0.5 */
    const char *label;    /* NULL: the answer is no label */
    unsigned label_index; /* of `label` among the model's labels */
    bool is_text;         /* the answer is a text */
    const char *text;     /* [text_len] it; NULL: none was found that obeys the rules */
    size_t text_len;
    bool text_fits; /* it has at most LIMIT_OUTPUT_BYTES and no NUL, or there is none: the audit log
                       and feedback have room for it */
    const char *number_name; /* of `number`: "score", "confidence" or "value"; NULL: the answer has
                                no number (a vector, spans, no text that obeys the rules) */
    float number;            /* the label's score, the text's confidence, or the answer itself */
    const struct judgement *judgement; /* NULL: nothing was decided */
};

/* The outcome of a finite result by the model that `info` describes. */
struct answer_outcome answer_outcome(const struct engine_info *info,
                                     const struct engine_result *result);

/* True if two models agree: the same label, or, without labels, numbers within 1 % of the larger
 * one. */
bool answer_outcome_agrees(const struct answer_outcome *a, const struct answer_outcome *b);

#endif
