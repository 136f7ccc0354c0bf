/* question.h - prepares a question and a text for a model that answers with a part of the text:
 * windows of the text, each behind the whole question, as transformers' QuestionAnsweringPipeline
 * cuts them:
 *
 *     [CLS] question [SEP] 1 2 3 4 [SEP]   [CLS] question [SEP] 3 4 5 6 [SEP]   ...
 *
 *     question_encode(&pipeline, &asked, NULL, &arena, &input, &err);
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_PREPARE_QUESTION_H
#define ATTND_ENGINE_PREPARE_QUESTION_H

#include "engine/decide/extraction.h"
#include "engine/prepare/pipeline.h"

/* Both texts are UTF-8. */
struct question_asked {
    const char *question, *text; /* [question_len], [len] */
    size_t question_len, len;
    unsigned tokens_max; /* of a window (max_seq_len); 0: the model's limit, at most 384 */
    unsigned overlap;    /* 1 + tokens that windows share (doc_stride); 0: half of tokens_max, at
                                 most 128, and less if the question leaves less room */
    unsigned asked_max;  /* tokens of the question; 0: half of a window */
    unsigned text_tokens_max; /* of the text; more is ERR_TOO_LARGE */
    struct extraction_options options;
};

/* The part of an input that is of questions: engine_input.question. */
struct question_input {
    struct extraction_options options;
    const uint32_t *letters; /* [characters] the text in lower case */
    const bool *asked;       /* [tokens] of the text, or [CLS] */
    unsigned behind;         /* special tokens behind the text, in each window */
    unsigned longest;        /* tokens of the longest window */
};

/* *out and its arrays lie in the arena, at most question_bytes of it. ERR_UNUSABLE: no token in one
 * of the texts, a question of more than half of the window's tokens, tokens_max above the model's
 * limit, an overlap that leaves windows less than a quarter of their room to advance.
 * ERR_TOO_LARGE, ERR_NO_MEMORY. */
enum err_code question_encode(const struct pipeline *pipeline, const struct question_asked *asked,
                              struct interrupt *interrupt, struct arena *arena,
                              struct engine_input *out, struct err *err);

/* Upper bounds of windows, and of the tokens of all windows together. */
struct question_size {
    size_t windows, tokens;
};
struct question_size question_size(const struct pipeline *pipeline,
                                   const struct question_asked *asked);
size_t question_bytes(const struct pipeline *pipeline, const struct question_asked *asked);

/* Room to find the answers to a prepared question, in the arena: at most question_room_bytes of it.
 * ERR_NO_MEMORY. */
enum err_code question_room(const struct engine_input *input, struct extraction **out,
                            struct arena *arena, struct err *err);
size_t question_room_bytes(const struct pipeline *pipeline, const struct question_asked *asked);

/* True if the tokenizer has a place for a text behind a question. */
bool question_is_readable(const struct pipeline *pipeline);

#endif
