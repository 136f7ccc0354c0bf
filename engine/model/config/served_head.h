/* served_head.h - checks that a checkpoint's head is the kind that is served: a classifier of whole
 * texts or images. A head of another kind (labels of tokens, answers, choices, boxes) may have
 * tensors of the same names and shapes, and would answer like a classifier.
 *
 *     if (served_head_check(&head, &err))                              // by config.json
 *         return err.code;
 *     served_head_missing(&head, checkpoint, name, true, &err);        // by a missing tensor
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_SERVED_HEAD_H
#define ATTND_ENGINE_MODEL_CONFIG_SERVED_HEAD_H

#include "engine/base/err.h"

#include <stdbool.h>

struct checkpoint;

/* The head that config.json declares, and the one that the family is served with. Borrowed. */
struct served_head {
    const char *architecture; /* "": none */
    const char *served;       /* the class of the family's classifier */
    bool is_text, is_zero_shot;
    const char *const *labels; /* [label_count] */
    unsigned label_count;
};

/* ERR_UNSUPPORTED for an architecture that is neither a classifier nor a bare or pre-trained
 * encoder, which is judged by its tensors; and, if config.json names none, for labels of tokens (O,
 * B-..., I-...). */
enum err_code served_head_check(const struct served_head *head, struct err *err);

/* ERR_UNSUPPORTED, always: the tensor `name` is missing; `is_of_classifier`: only a classifier has
 * it. The text names the checkpoint's kind, by its architecture or by its other tensors. */
enum err_code served_head_missing(const struct served_head *head,
                                  const struct checkpoint *checkpoint, const char *name,
                                  bool is_of_classifier, struct err *err);

#endif
