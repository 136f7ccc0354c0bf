/* input.h - a prepared input: numbers that a model can run on. Part of engine.h's interface; the
 * model layer reads it too. Threads: plain data; pure functions. */
#ifndef ATTND_ENGINE_MODEL_INPUT_H
#define ATTND_ENGINE_MODEL_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum engine_kind { ENGINE_TEXT, ENGINE_IMAGE };

struct capture;        /* model/capture.h */
struct engine_model;   /* engine.h */
struct question_input; /* prepare/question.h */
struct writing_input;  /* engine_write.c */

/* A part of a text that has a vector of its own: a line, by the rule of prepare/lines.c, or a
 * token. */
struct input_part {
    unsigned first, end;  /* its tokens; the same: a line has none */
    uint32_t start, stop; /* its characters in the client's text, without the line break; stop is 0
                             of a token that the text does not have: a special or a prompt's one */
};

/* One prepared input: a row of a batch. Its arrays live in the arena given to prepare. */
struct engine_input {
    enum engine_kind kind;
    unsigned tokens;               /* rows it takes in the packed batch, special tokens included */
    bool truncated;                /* the end of the text is not read */
    bool coloured;                 /* an image that is not grey (vision/pixels.h) */
    const int32_t *ids;            /* text: [tokens] */
    const uint8_t *types;          /* text: [tokens] below the model's token types; NULL: all 0 */
    const uint32_t *starts, *ends; /* text: [tokens] character offsets, end exclusive */
    unsigned skipped;              /* text: first tokens that an embedding does not pool */
    unsigned pair_at;              /* text: first token of a pair's second text; 0: a single text */
    const bool *continued;         /* text: [tokens] continues the word of the token before; for a
                                      model that tags by the rule of prepare/tags.c */
    const unsigned *order; /* tags: [order_count] the text's tokens, each once, in the window
                                      that reads most around it (engine_input_token); else NULL */
    unsigned order_count;
    const struct question_input *question; /* answers; else NULL */
    const struct writing_input *writing;   /* generate; else NULL */
    const unsigned *masks;                 /* fill: [mask_count] places of masked tokens */
    unsigned mask_count;
    const int32_t *targets; /* fill: [target_count] tokens that alone are answered; NULL: all */
    unsigned target_count;  /* each once, the lowest first */
    const struct input_part *parts; /* embedding: [part_count] each has a vector; NULL: none has */
    unsigned part_count;
    bool has_lines;            /* they are lines; else they are the tokens */
    unsigned row_size;         /* embedding: numbers of a part's vector; 0: there are none */
    unsigned char aggregation; /* tags: enum aggregation of decide/spans.h */
    bool keeps_outside;        /* tags: parts without a tag are spans, too */
    /* The sequences of the input, one behind the other in the arrays: windows of a text, views of
     * an image (prepare/views.h); 0: one sequence. */
    unsigned windows;
    const unsigned *window_offset; /* [windows + 1] first token of each */
    const unsigned *window_first;  /* text: [windows] the text's token that follows its [CLS] */
    const float *evidence;         /* text: [labels] added to the logits; NULL: nothing */
    const float *patches;   /* image: [views, patches, channels x patch x patch], normalised */
    size_t view_numbers;    /* image: numbers of one view in them */
    unsigned width, height; /* image: posted size in pixels */
    const struct engine_model *model; /* prepared the input, and its labels answer; NULL: the
                                         session's */
    struct capture *capture;          /* [windows] attention of their tokens; NULL: not kept */
};

/* Returns the number of an input's sequences, at least one. */
static inline unsigned engine_input_windows(const struct engine_input *input)
{
    return input->windows > 0 ? input->windows : 1;
}

/* Returns the tokens of `count` of those sequences, from `first` on. */
static inline unsigned engine_input_tokens(const struct engine_input *input, unsigned first,
                                           unsigned count)
{
    const unsigned *offset = input->window_offset;
    return input->windows == 0 ? input->tokens : offset[first + count] - offset[first];
}

/* Returns the place, in the arrays of a text's input, of the text's token `token`, special tokens
 * not counted, in the window where the fewer of the tokens to its left and to its right are most;
 * an end of the text counts as any number, and of equal windows the first is taken. *window: where
 * the search begins, 0 for token 0, later as the call for the token before has left it. */
unsigned engine_input_token(const struct engine_input *input, unsigned token, unsigned *window);

/* Returns window `window` of engine_input_windows(input) as an input of its own, for callers that
 * run them one by one; its arrays and its capture are the input's. An input without windows is
 * returned unchanged. */
struct engine_input engine_input_window(const struct engine_input *input, unsigned window);

#endif
