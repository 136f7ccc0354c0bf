/* perturbation.h - an input with parts removed, for measuring explanations by a model's answers.
 *
 *     perturbation_open(&parts, &input, patch, image_size, PERTURBATION_MEDIAN, &arena, &err);
 *     perturbation_keep(&parts, kept, room, &perturbed);     // kept [parts.count]
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
 * Threads: a struct perturbation is immutable after open; perturbation_keep is a pure function.
 */
#ifndef ATTND_LEARN_EVAL_EXPLAIN_PERTURBATION_H
#define ATTND_LEARN_EVAL_EXPLAIN_PERTURBATION_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/input.h"

#include <stdbool.h>
#include <stddef.h>

enum perturbation_fill {
    PERTURBATION_MEDIAN,
    PERTURBATION_CLIP,
    PERTURBATION_MEAN
}; /* of images */

struct perturbation {
    const struct engine_input *input; /* the whole one, borrowed */
    unsigned count;                   /* parts */
    const unsigned *part_of; /* text: [tokens] the word of a token; PERTURBATION_NONE: special */
    const float *neutral;    /* image: [3 x patch x patch] what a removed patch becomes */
    bool clips;              /* image: only where the patch is brighter */
    size_t patch_numbers;    /* 3 x patch x patch */
    unsigned across;         /* image: patches on a side */
};

enum { PERTURBATION_CHANNELS = 3, PERTURBATION_NONE = ~0u };

/* "median", "clip" or "mean"; ERR_UNUSABLE. */
enum err_code perturbation_find_fill(const char *name, enum perturbation_fill *fill,
                                     struct err *err);

/* `input` must come from engine_prepare_*. patch and image_size are the model's, 0 for a text. The
 * result lies in the arena. ERR_NO_MEMORY. */
enum err_code perturbation_open(struct perturbation *out, const struct engine_input *input,
                                unsigned patch, unsigned image_size, enum perturbation_fill fill,
                                struct arena *arena, struct err *err);

/* Bytes of `room` that perturbation_keep needs. */
size_t perturbation_bytes(const struct perturbation *parts);

/* Sets *out to the input with only the parts for which kept[part] is true. Its numbers lie in
 * `room`, which must outlive it. It has no capture and no offsets. */
void perturbation_keep(const struct perturbation *parts, const bool *kept, void *room,
                       struct engine_input *out);

#endif
