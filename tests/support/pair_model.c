#include "tests/support/pair_model.h"

#include "engine/base/file.h"
#include "engine/model/decoder/pair_spec.h"
#include "engine/model/embed.h"
#include "engine/model/encoder.h"
#include "engine/model/head.h"

#include <check.h>
#include <stdlib.h>

static void succeed(const struct err *err, const char *dir)
{
    ck_assert_msg(err->code == ERR_OK, "%s: %s", dir, err->text);
}

void pair_model_open(struct pair_model *model, const char *dir, const char *backend,
                     const char *dtype, unsigned threads)
{
    struct err err = {0};
    struct checkpoint *checkpoint;
    enum precision precision;
    *model = (struct pair_model){0};
    ck_assert(precision_find(dtype, &precision));
    const struct linear_backend *fast = linear_backend_find(backend, precision);
    const struct linear_backend *plain = linear_backend_find_plain(backend);
    ck_assert(fast != NULL && plain != NULL);
    const struct kernels *kernels =
        plain == &linear_reference ? &kernels_reference : kernels_best();
    pair_spec_read(&model->source, &model->target, dir, &err);
    succeed(&err, dir);
    checkpoint_open(&checkpoint, dir, &err);
    succeed(&err, dir);
    weights_open(&model->encoder, &model->source, checkpoint, fast, plain, threads, &err);
    succeed(&err, dir);
    weights_open_target(&model->decoder, &model->target, &model->encoder, checkpoint, fast, plain,
                        threads, &err);
    succeed(&err, dir);
    checkpoint_close(checkpoint);
    thread_pool_open(&model->pool, threads, &err);
    workspace_open(&model->batch, &model->source, fast, PAIR_SOURCE, model->pool, kernels, &err);
    decoder_workspace_open(&model->step, &model->target, fast,
                           &(struct decoder_sizes){.rows = PAIR_ROWS,
                                                   .source_tokens = PAIR_SOURCE,
                                                   .tokens = PAIR_TOKENS},
                           model->pool, kernels, &err);
    succeed(&err, dir);
    if (model->source.family->kind == ENGINE_IMAGE)
        pipeline_open(&model->pipeline, &model->source, dir, &err);
    succeed(&err, dir);
}

void pair_model_close(struct pair_model *model)
{
    pipeline_close(&model->pipeline);
    decoder_workspace_close(&model->step);
    workspace_close(&model->batch);
    thread_pool_close(model->pool);
    weights_close(&model->decoder, &model->target);
    weights_close(&model->encoder, &model->source);
}

struct engine_input pair_model_text(const int32_t *ids, unsigned count)
{
    return (struct engine_input){.kind = ENGINE_TEXT, .tokens = count, .ids = ids};
}

struct engine_input pair_model_image(const struct pair_model *model, const char *path,
                                     struct arena *arena)
{
    struct engine_input input = {0};
    struct image image;
    struct err err = {0};
    char *bytes;
    size_t len;
    ck_assert_int_eq(file_read(&bytes, &len, path, 1 << 26, &err), ERR_OK);
    if (!pipeline_decode(&model->pipeline, bytes, len, 1 << 25, NULL, arena, &image, &err))
        pipeline_patches(&model->pipeline, &image, NULL, NULL, arena, arena, &input, &err);
    succeed(&err, path);
    free(bytes);
    return input;
}

void pair_model_run(struct pair_model *model, const struct engine_input *input, unsigned layers)
{
    struct spec spec = model->source;
    struct workspace *w = &model->batch;
    ck_assert_uint_le(input->tokens, PAIR_SOURCE);
    spec.layers = layers;
    w->rows = 1;
    w->offset[0] = 0;
    w->offset[1] = input->tokens;
    w->places[0] = (struct window_place){.windows = 1};
    w->captures[0] = NULL;
    w->answers[0] = NULL;
    embed(&spec, &model->encoder, w, input, 0);
    encoder_run(&spec, &model->encoder, w);
}

float *pair_model_encode(struct pair_model *model, const struct engine_input *input)
{
    const size_t numbers = (size_t)input->tokens * model->source.hidden;
    float *states = calloc(numbers, sizeof *states);
    ck_assert_ptr_nonnull(states);
    pair_model_run(model, input, model->source.layers);
    model->batch.answers[0] = states;
    head_read(&model->source, &model->encoder, &model->batch);
    return states;
}

struct decoder_cache pair_model_begin(struct pair_model *model, const float *states,
                                      unsigned tokens, unsigned slots)
{
    struct decoder_cache cache;
    void *memory = malloc(decoder_cache_bytes(&model->target, tokens, slots));
    ck_assert_ptr_nonnull(memory);
    decoder_cache_place(&cache, &model->target, tokens, slots, memory);
    decoder_begin(&model->target, &model->decoder, &model->step, &cache, states,
                  model->source.hidden);
    return cache;
}
