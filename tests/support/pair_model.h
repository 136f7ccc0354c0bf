/* pair_model.h - an encoder with a decoder, opened from a checkpoint's directory and run without
 * the engine's door: for tests. Every failure is a failed assertion.
 *
 *     pair_model_open(&model, "tests/data/golden/marian-0", "auto", "f32", 2);
 *     struct engine_input input = pair_model_text(ids, count);
 *     float *states = pair_model_encode(&model, &input);            // [count, W], yours to free
 *     struct decoder_cache cache = pair_model_begin(&model, states, count, slots);
 *     decoder_step(&model.target, &model.decoder, &model.step, &row, 1);
 */
#ifndef ATTND_TESTS_SUPPORT_PAIR_MODEL_H
#define ATTND_TESTS_SUPPORT_PAIR_MODEL_H

#include "engine/base/thread_pool.h"
#include "engine/format/checkpoint.h"
#include "engine/model/decoder/decoder.h"
#include "engine/prepare/pipeline.h"

enum { PAIR_ROWS = 8, PAIR_TOKENS = 40, PAIR_SOURCE = 128 };

struct pair_model {
    struct spec source, target;
    struct weights encoder, decoder;
    struct workspace batch;        /* of PAIR_SOURCE tokens of the encoder */
    struct decoder_workspace step; /* of PAIR_ROWS rows */
    struct pipeline pipeline;      /* of images */
    struct thread_pool *pool;
};

void pair_model_open(struct pair_model *model, const char *dir, const char *backend,
                     const char *dtype, unsigned threads);
void pair_model_close(struct pair_model *model);

/* An input of the encoder: a text's ids, or a picture's file prepared by the checkpoint's files;
 * in the arena. */
struct engine_input pair_model_text(const int32_t *ids, unsigned count);
struct engine_input pair_model_image(const struct pair_model *model, const char *path,
                                     struct arena *arena);

/* Runs the first `layers` layers of the encoder; model->batch.x holds the states. */
void pair_model_run(struct pair_model *model, const struct engine_input *input, unsigned layers);
/* The states that the decoder reads [tokens, W]. Yours to free. */
float *pair_model_encode(struct pair_model *model, const struct engine_input *input);

/* Places and begins a request's cache. Its memory, `source`, is yours to free. */
struct decoder_cache pair_model_begin(struct pair_model *model, const float *states,
                                      unsigned tokens, unsigned slots);

#endif
