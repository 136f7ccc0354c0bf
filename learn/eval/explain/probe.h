/* probe.h - a model's answers for many inputs with removed parts, run in packed batches.
 *
 *     perturbation_open(&parts, &input, patch, image_size, PERTURBATION_MEDIAN, &arena, &err);
 *     probe_open(&probe, model, threads, &err);
 *     probe_take(&probe, &parts, label, &err);
 *     struct scorer scorer = probe_scorer(&probe);
 *     scorer.ask(scorer.context, kept, &score);       // any number of times
 *     scorer.flush(scorer.context);                   // now score is there
 *     probe_close(&probe);
 *
 * The model is called through struct scorer, so that a measure of explanations can be tested on a
 * function whose relevance is known.
 *
 * Parts are those that an explanation of the same input lists, in its order: an image's patches,
 * row by row, or the words of a text (explain/words.h).
 *
 * A removed word leaves no gap: its tokens are left out, [CLS] and [SEP] are kept (DeYoung et al.
 * 2020, "ERASER"). A text without words is [CLS] [SEP], which models accept.
 *
 * A removed patch is replaced. Grey, blur or noise are out of distribution, and the fall of a score
 * would measure that instead of the removal (Hooker et al. 2019). So a removed patch gets the
 * image's own median, channel by channel. On a wafer map that is a passing die (or background, on a
 * map that is mostly background): neutral content that all classes have. On a map where most dies
 * fail it is a failing die, and removing a patch then has no effect. The model's mean colour, zero
 * after normalisation, is the other choice, to check whether a result depends on the fill.
 *
 * Threads: a probe is one thread's; the session has its own. A struct perturbation is immutable
 * after open; perturbation_keep is a pure function.
 */
#ifndef ATTND_LEARN_EVAL_EXPLAIN_PROBE_H
#define ATTND_LEARN_EVAL_EXPLAIN_PROBE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/engine.h"
#include "engine/model/input.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- inputs with removed parts ---- */

enum perturbation_fill {
    PERTURBATION_MEDIAN,
    PERTURBATION_CLIP,
    PERTURBATION_MEAN
}; /* of images */

struct perturbation {
    const struct engine_input *input; /* the whole one, borrowed */
    unsigned count;                   /* parts */
    const unsigned *part_of; /* text: [tokens] the word of a token; PERTURBATION_NONE: special */
    const float *neutral;    /* image: [patch_numbers] what a removed patch becomes */
    bool clips;              /* image: only where the patch is brighter */
    size_t patch_numbers;    /* 3 x a patch's pixels */
    unsigned across;         /* image: patches in a row */
};

enum { PERTURBATION_CHANNELS = 3, PERTURBATION_NONE = ~0u };

/* "median", "clip" or "mean"; ERR_UNUSABLE. */
enum err_code perturbation_find_fill(const char *name, enum perturbation_fill *fill,
                                     struct err *err);

/* `input` must come from engine_prepare_*. patch and image_size are the model's, nothing of a text.
 * The result lies in the arena. ERR_NO_MEMORY. */
enum err_code perturbation_open(struct perturbation *out, const struct engine_input *input,
                                struct extent patch, struct extent image_size,
                                enum perturbation_fill fill, struct arena *arena, struct err *err);

/* Bytes of `room` that perturbation_keep needs. */
size_t perturbation_bytes(const struct perturbation *parts);

/* Sets *out to the input with only the parts for which kept[part] is true. Its numbers lie in
 * `room`, which must outlive it. It has no capture and no offsets. */
void perturbation_keep(const struct perturbation *parts, const bool *kept, void *room,
                       struct engine_input *out);

/* ---- scores ---- */

/* Scales for the score of one class. Probabilities saturate: if an answer is near 1, many parts can
 * be removed before it changes. Log-odds do not saturate. */
enum score_scale { SCORE_PROBABILITY, SCORE_LOG_ODDS, SCORE_SCALES };

struct score {
    double on[SCORE_SCALES];
};

struct scorer {
    /* *out is the score of what is kept, once flush has returned. kept is read at once. */
    void (*ask)(void *context, const bool *kept, struct score *out);
    void (*flush)(void *context);
    void *context;
};

enum { PROBE_ROWS = 64 };

struct probe {
    const struct engine_model *model;
    struct engine_session *session;
    unsigned tokens_max; /* of a batch */
    float *logits;       /* [PROBE_ROWS][labels] */
    float *scores;       /* [labels] */

    /* of the input taken */
    const struct perturbation *parts;
    unsigned label;

    /* asked and not yet run */
    char *rooms; /* [PROBE_ROWS][room_bytes] */
    size_t room_bytes, rooms_bytes;
    unsigned rows, tokens;
    struct engine_input inputs[PROBE_ROWS];
    struct score *out[PROBE_ROWS];
};

/* Close it in any case. */
enum err_code probe_open(struct probe *out, const struct engine_model *model, unsigned threads,
                         struct err *err);
void probe_close(struct probe *probe);

/* Sets the input and the class of the following requests; both are borrowed. ERR_NO_MEMORY. */
enum err_code probe_take(struct probe *probe, const struct perturbation *parts, unsigned label,
                         struct err *err);
struct scorer probe_scorer(struct probe *probe);

/* Runs the whole input alone and at once, with its capture if it has one. The result is the
 * encoder's, as for inputs with removed parts: the evidence of a table of n-grams is left out,
 * since it has explanations of its own. */
void probe_run(struct probe *probe, const struct engine_input *input, struct engine_result *result);

/* Log-odds of a class, after the temperature. logits [labels]. */
double probe_log_odds(const struct engine_model *model, const float *logits, unsigned label);

#endif
