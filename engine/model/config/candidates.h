/* candidates.h - the labels that a zero-shot model chooses among: their rules, and the sentence of
 * each, which is encoded (Radford et al. 2021, section 3.1.4).
 *
 *     candidates_check(labels, count, "a wafer map showing {}", &err);
 *     candidates_sentence(hypothesis, "Scratch", &arena, &len);    "a wafer map showing Scratch"
 *
 * There are 1 to 1000 labels, none empty, no two equal, each at most 4096 bytes of UTF-8 without
 * control characters except tab and line feeds; the hypothesis has one "{}". Error texts give the
 * label's number and never repeat the label.
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_CANDIDATES_H
#define ATTND_ENGINE_MODEL_CONFIG_CANDIDATES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct json_t;

enum {
    CANDIDATES_MAX = 1000,
    CANDIDATES_LABEL_BYTES = 4096,
    CANDIDATES_HYPOTHESIS_BYTES = 1024,
    CANDIDATES_BYTES = 1024 * 1024, /* most bytes of all labels */
};

/* The default of transformers' pipeline. */
#define CANDIDATES_HYPOTHESIS "This is a photo of {}."

struct candidates {
    const char **labels; /* [count] */
    unsigned count;
    const char *hypothesis;
};

/* ERR_UNUSABLE: "candidate_labels[3]: empty", "hypothesis_template: ...". ERR_NO_MEMORY. */
enum err_code candidates_check(const char *const *labels, unsigned count, const char *hypothesis,
                               struct err *err);

/* Reads and checks candidate_labels and hypothesis_template of attnd.json; copies in the arena. No
 * labels if there are none. ERR_UNSUPPORTED also for a model whose labels are fixed. */
enum err_code candidates_read(struct candidates *out, const struct json_t *object,
                              bool is_zero_shot, struct arena *arena, struct err *err);

/* Returns the hypothesis with the label in place of "{}", in the arena; NULL: no memory. */
const char *candidates_sentence(const char *hypothesis, const char *label, struct arena *arena);

#endif
