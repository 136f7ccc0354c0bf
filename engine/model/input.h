/* input.h - a prepared input: numbers that a model can run on. Part of engine.h's interface, and
 * the one piece of it that the model layer itself reads. Threads: plain data. */
#ifndef ATTND_ENGINE_MODEL_INPUT_H
#define ATTND_ENGINE_MODEL_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum engine_kind { ENGINE_TEXT, ENGINE_IMAGE };

struct capture;      /* model/capture.h */
struct engine_model; /* engine.h */

/* One prepared input: a row of a batch. Its arrays live in the arena given to prepare. */
struct engine_input {
    enum engine_kind kind;
    unsigned tokens;               /* rows it takes in the packed batch, special tokens included */
    bool truncated;                /* a text of which not all is read */
    bool coloured;                 /* an image that is not grey (vision/pixels.h) */
    const int32_t *ids;            /* text: [tokens] */
    const uint8_t *types;          /* text: [tokens] below the model's token types; NULL: all 0 */
    const uint32_t *starts, *ends; /* text: [tokens] character offsets, end exclusive */
    unsigned pair_at;              /* text: first token of the second of a pair; 0: there is one */
    const bool *continued;         /* text: [tokens] goes on with the word of the token before */
    /* The sequences that it is read as, one behind the other in the arrays: windows of a text,
     * views of an image (prepare/views.h); 0: one. */
    unsigned windows;
    const unsigned *window_offset; /* [windows + 1] the token that each begins with */
    const unsigned *window_first;  /* text: [windows] the token of the text after its [CLS] */
    const float *evidence;         /* text: [labels] added to the logits; NULL: nothing is */
    const float *patches;   /* image: [views, patches, channels x patch x patch], normalised */
    size_t view_numbers;    /* image: of one view in them */
    unsigned width, height; /* image: as it was posted, in pixels */
    const struct engine_model *model; /* that prepared it, and whose labels answer it; NULL: the
                                         session's */
    struct capture *capture;          /* [windows] what their tokens attend to; NULL: not kept */
};

/* The sequences that an input is read as, at least one. */
static inline unsigned engine_input_windows(const struct engine_input *input)
{
    return input->windows > 0 ? input->windows : 1;
}

#endif
