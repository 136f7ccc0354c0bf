/* engine.c - see engine.h: glues the checkpoint's files to the encoder. The order of engine_open is
 * the order in which mistakes are cheapest to find: configuration, tokenizer or preprocessor,
 * weight layout, weights, and last a self-test of the products in the shapes in use. */
#include "engine/engine.h"

#include "engine/base/cpu.h"
#include "engine/base/sha256.h"
#include "engine/decide/argmax.h"
#include "engine/explain/attention_map.h"
#include "engine/explain/gradient.h"
#include "engine/explain/patches.h"
#include "engine/explain/words.h"
#include "engine/format/checkpoint.h"
#include "engine/model/capture.h"
#include "engine/model/embed.h"
#include "engine/model/encoder.h"
#include "engine/model/head.h"
#include "engine/prepare/pipeline.h"
#include "engine/tensor/linear/bf16.h"
#include "engine/vision/image.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct engine_model {
    struct spec spec;
    struct weights weights;
    struct pipeline pipeline;
    const struct kernels *kernels;
    const struct linear_backend *encoder; /* multiplies in the blocks */
    struct engine_info info;
    struct arena arena;
};

struct engine_session {
    struct thread_pool *own_pool; /* NULL: it runs on a borrowed one */
    const struct engine_model *model;
    struct workspace workspace;
};

/* ---- open ---- */

/* How a model computes: chosen from the options when it is opened. */
struct choice {
    enum precision precision;             /* of the encoder's linear layers */
    const struct linear_backend *encoder; /* in that precision */
    const struct linear_backend *other;   /* in fp32: patch embedding, pooler, classifier */
    const struct kernels *kernels;
};

static enum err_code choose(const struct engine_options *options, struct choice *choice,
                            struct err *err)
{
    const char *dtype = options->dtype != NULL ? options->dtype : "f32";
    const char *backend = options->linear_backend;
    if (!precision_find(dtype, &choice->precision))
        return err_set(err, ERR_UNSUPPORTED, "dtype '%s' is not known (known: f32, bf16, int8)",
                       dtype);
    choice->other = linear_backend_find(backend, PRECISION_F32);
    if (choice->other == NULL)
        return err_set(err, ERR_UNSUPPORTED, "linear backend '%s' is not known (known: %s)",
                       backend, linear_backend_names());
    if (choice->precision == PRECISION_BF16)
        bf16_choose(&choice->encoder, backend, err);
    else
        choice->encoder = linear_backend_find(backend, choice->precision);
    if (err->code != ERR_OK)
        return err->code;
    if (choice->encoder == NULL)
        return err_set(err, ERR_UNSUPPORTED, "the linear backend '%s' cannot multiply in %s",
                       backend, dtype);
    choice->kernels = choice->other == &linear_reference ? &kernels_reference : kernels_best();
    return ERR_OK;
}

static enum err_code copy_paths(struct engine_model *model, const struct checkpoint *checkpoint,
                                struct err *err)
{
    unsigned count = checkpoint_file_count(checkpoint);
    const char **paths = arena_alloc_array(&model->arena, count, sizeof *paths);
    for (unsigned i = 0; paths != NULL && i < count; i++) {
        const char *path = checkpoint_file_path(checkpoint, i);
        paths[i] = arena_copy(&model->arena, path, strlen(path));
        if (paths[i] == NULL)
            paths = NULL;
    }
    if (paths == NULL)
        return err_no_memory(err, count * sizeof *paths);
    model->info.weight_files = paths;
    model->info.weight_file_count = count;
    return ERR_OK;
}

static enum err_code open_weights(struct engine_model *model, const char *dir,
                                  const struct choice *choice, unsigned threads, struct err *err)
{
    struct checkpoint *checkpoint;
    if (threads == 0)
        threads = cpu_quota_threads("");
    if (checkpoint_open(&checkpoint, dir, err))
        return err->code;
    if (!weights_open(&model->weights, &model->spec, checkpoint, choice->encoder, choice->other,
                      threads, err))
        copy_paths(model, checkpoint, err);
    checkpoint_close(checkpoint);
    return err->code;
}

/* One layer has every shape that the encoder multiplies in. */
static enum err_code test_products(const struct weights *weights, const struct kernels *kernels,
                                   struct err *err)
{
    const struct layer *layer = &weights->layers[0];
    const struct linear *const linears[] = {
        &layer->qkv,     &layer->attention_out, &layer->mlp_in,      &layer->mlp_out,
        &weights->patch, &weights->pooler,      &weights->classifier};
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++)
        if (linears[i]->out > 0 && linear_self_test(linears[i], kernels, err))
            return err->code;
    return ERR_OK;
}

static void describe(struct engine_model *model, const struct choice *choice)
{
    static const char *const scores[] = {"softmax", "sigmoid", "none"};
    const struct spec *spec = &model->spec;
    bool is_text = spec->family->kind == ENGINE_TEXT;
    struct engine_info *info = &model->info;
    info->kind = spec->family->kind;
    info->family = spec->family->name;
    info->version = spec->version;
    info->dtype = precision_name(choice->precision);
    info->linear_backend = choice->encoder->name;
    const char *kernel = model->weights.layers[0].qkv.kernel;
    info->kernels = kernel != NULL ? kernel : model->kernels->name;
    info->scores = scores[spec->scores];
    info->temperature = spec->temperature;
    info->labels = spec->labels;
    info->class_codes = spec->class_codes;
    info->label_count = spec->label_count;
    info->layers = spec->layers;
    info->heads = spec->heads;
    info->hidden_size = spec->hidden;
    info->intermediate_size = spec->intermediate;
    info->tokens_max = is_text ? model->pipeline.tokenizer->limit : spec_image_tokens(spec);
    info->vocab_size = spec->vocab_size;
    info->image_height = info->image_width = spec->image_size;
    info->patch_size = spec->patch;
    info->grey16_minmax = spec->grey16_minmax;
    info->parameters = model->weights.parameters;
    info->weight_bytes = weights_bytes(&model->weights, spec);
    info->unbound = model->weights.unbound;
    info->unbound_count = model->weights.unbound_count;
    info->explain_default = method_default(info->kind);
    info->target_precision = spec->policy.target_precision;
    info->ood_method = ood_method_name(spec->policy.ood.method);
    info->ood_threshold = spec->policy.ood.has_threshold ? &spec->policy.ood.threshold : NULL;
}

static enum err_code open_parts(struct engine_model *model, const char *dir,
                                const struct engine_options *options, struct err *err)
{
    struct choice choice;
    if (choose(options, &choice, err) || spec_read(&model->spec, dir, &model->arena, err) ||
        pipeline_open(&model->pipeline, &model->spec, dir, err) ||
        open_weights(model, dir, &choice, options->load_threads, err) ||
        test_products(&model->weights, choice.kernels, err))
        return err->code;
    model->kernels = choice.kernels;
    model->encoder = choice.encoder;
    describe(model, &choice);
    return ERR_OK;
}

enum err_code engine_open(struct engine_model **out, const char *dir,
                          const struct engine_options *options, struct err *err)
{
    *out = NULL;
    struct engine_model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return err_no_memory(err, sizeof *model);
    arena_init(&model->arena);
    if (open_parts(model, dir, options, err)) {
        engine_close(model);
        return err->code;
    }
    *out = model;
    return ERR_OK;
}

void engine_close(struct engine_model *model)
{
    if (model == NULL)
        return;
    pipeline_close(&model->pipeline);
    weights_close(&model->weights, &model->spec);
    arena_deinit(&model->arena);
    free(model);
}

const struct engine_info *engine_describe(const struct engine_model *model)
{
    return &model->info;
}

enum err_code engine_digest(const struct engine_model *model, const atomic_bool *stop, char out[72],
                            struct err *err)
{
    char hex[65];
    if (sha256_files(model->info.weight_files, model->info.weight_file_count, stop, hex, err))
        return err->code;
    snprintf(out, 72, "sha256:%s", hex);
    return ERR_OK;
}

/* ---- prepare ---- */

static enum err_code prepare_text(const struct engine_model *model,
                                  const struct pipeline_text *text, struct interrupt *interrupt,
                                  struct arena *arena, struct engine_input *out, struct err *err)
{
    struct encoding encoding;
    if (pipeline_encode(&model->pipeline, 0, text, interrupt, arena, &encoding, err))
        return err->code;
    *out = (struct engine_input){.kind = ENGINE_TEXT,
                                 .tokens = encoding.count,
                                 .truncated = encoding.truncated,
                                 .ids = encoding.ids,
                                 .starts = encoding.starts,
                                 .ends = encoding.ends,
                                 .continued = encoding.continued};
    return ERR_OK;
}

enum err_code engine_prepare_text(const struct engine_model *model, const char *text, size_t len,
                                  struct interrupt *interrupt, struct arena *arena,
                                  struct engine_input *out, struct err *err)
{
    const struct pipeline_text given = {.bytes = text, .len = len};
    return prepare_text(model, &given, interrupt, arena, out, err);
}

enum err_code engine_prepare_utf8(const struct engine_model *model, const char *text, size_t len,
                                  struct interrupt *interrupt, struct arena *arena,
                                  struct engine_input *out, struct err *err)
{
    const struct pipeline_text given = {.bytes = text, .len = len, .is_utf8 = true};
    return prepare_text(model, &given, interrupt, arena, out, err);
}

enum err_code engine_prepare_image(const struct engine_model *model, const void *bytes, size_t len,
                                   size_t pixels_max, struct interrupt *interrupt,
                                   struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct pipeline *pipeline = &model->pipeline;
    struct image image;
    struct arena scratch;
    arena_init(&scratch);
    if (!pipeline_decode(pipeline, bytes, len, pixels_max, interrupt, &scratch, &image, err))
        pipeline_patches(pipeline, &image, NULL, interrupt, &scratch, arena, out, err);
    arena_deinit(&scratch);
    return err->code;
}

enum err_code engine_prepare_pixels(const struct engine_model *model, const struct image *image,
                                    struct interrupt *interrupt, struct arena *arena,
                                    struct engine_input *out, struct err *err)
{
    struct arena scratch;
    arena_init(&scratch);
    pipeline_patches(&model->pipeline, image, NULL, interrupt, &scratch, arena, out, err);
    arena_deinit(&scratch);
    return err->code;
}

size_t engine_image_pixels(const void *bytes, size_t len)
{
    unsigned width, height;
    return image_probe(bytes, len, &width, &height) ? (size_t)width * height : 0;
}

struct engine_need engine_need_text(const struct engine_model *model, const char *text, size_t len)
{
    return (struct engine_need){.kept =
                                    tokenizer_encode_bytes(model->pipeline.tokenizer, text, len)};
}

struct engine_need engine_need_image(const struct engine_model *model, const void *bytes,
                                     size_t len, size_t pixels_max)
{
    const struct spec *spec = &model->spec;
    unsigned width, height;
    if (!image_probe(bytes, len, &width, &height) || (size_t)width * height > pixels_max)
        return (struct engine_need){0};
    size_t numbers = (size_t)spec->patches * spec->channels * spec->patch * spec->patch;
    return (struct engine_need){.kept = numbers * sizeof(float) + ARENA_ALIGNMENT,
                                .passing =
                                    image_decode_bytes(bytes, len) +
                                    preprocess_bytes(&model->pipeline.preprocess, width, height)};
}

/* ---- run ---- */

enum err_code engine_session_open_on(struct engine_session **out, const struct engine_model *model,
                                     unsigned batch_tokens_max, struct thread_pool *pool,
                                     struct err *err)
{
    *out = NULL;
    struct engine_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return err_no_memory(err, sizeof *session);
    unsigned longest = model->info.tokens_max;
    session->model = model;
    if (workspace_open(&session->workspace, &model->spec, model->encoder,
                       batch_tokens_max > longest ? batch_tokens_max : longest, pool,
                       model->kernels, err)) {
        free(session);
        return err->code;
    }
    *out = session;
    return ERR_OK;
}

enum err_code engine_session_open(struct engine_session **out, const struct engine_model *model,
                                  unsigned batch_tokens_max, unsigned threads, struct err *err)
{
    struct thread_pool *pool;
    *out = NULL;
    if (thread_pool_open(&pool, threads, err))
        return err->code;
    if (engine_session_open_on(out, model, batch_tokens_max, pool, err))
        thread_pool_close(pool);
    else
        (*out)->own_pool = pool;
    return err->code;
}

void engine_session_lend(struct engine_session *session, struct thread_pool *pool)
{
    assert(thread_pool_size(pool) <= session->workspace.pool_size_max);
    session->workspace.pool = pool;
}

void engine_session_close(struct engine_session *session)
{
    if (session == NULL)
        return;
    workspace_close(&session->workspace);
    thread_pool_close(session->own_pool);
    free(session);
}

void engine_run(struct engine_session *session, const struct engine_input *const *inputs,
                unsigned rows, float *const *logits)
{
    const struct engine_model *model = session->model;
    struct workspace *workspace = &session->workspace;
    unsigned tokens = 0;
    workspace->captured = false;
    for (unsigned r = 0; r < rows; r++) {
        workspace->captures[r] = inputs[r]->capture;
        workspace->captured = workspace->captured || inputs[r]->capture != NULL;
        workspace->offset[r] = tokens;
        embed(&model->spec, &model->weights, workspace, inputs[r], tokens);
        tokens += inputs[r]->tokens;
    }
    workspace->offset[rows] = tokens;
    workspace->rows = rows;
    encoder_run(&model->spec, &model->weights, workspace);
    head_logits(&model->spec, &model->weights, workspace, logits);
}

const float *engine_features(const struct engine_session *session, unsigned row)
{
    return head_features(&session->model->spec, &session->workspace, row);
}

bool engine_scores(const struct engine_model *model, const float *logits, float *scores)
{
    bool is_finite = true;
    head_scores(&model->spec, model->kernels, logits, scores);
    for (unsigned i = 0; i < model->spec.label_count; i++)
        is_finite = is_finite && isfinite(scores[i]);
    return is_finite;
}

unsigned engine_argmax(const struct engine_model *model, const float *scores)
{
    return argmax(scores, model->spec.label_count);
}

void engine_judge(const struct engine_model *model, const float *logits, const float *scores,
                  const float *features, struct judgement *out)
{
    policy_judge(&model->spec.policy, logits, scores, features, out);
}

/* ---- explain ---- */

static enum explain_method method_of(const struct engine_model *model,
                                     const struct explain_options *options)
{
    return options->method == EXPLAIN_DEFAULT ? model->info.explain_default : options->method;
}

static enum err_code check_layer(const struct engine_model *model,
                                 const struct explain_options *options, struct err *err)
{
    if (options->layer > model->spec.layers)
        return err_set(err, ERR_UNUSABLE, "explain_layer is %u, but the model has %u layers",
                       options->layer, model->spec.layers);
    const enum explain_method method = method_of(model, options);
    if (options->layer > 0 && method != EXPLAIN_ROLLOUT && method != EXPLAIN_ATTENTION)
        return err_set(err, ERR_UNUSABLE,
                       "explain_layer is for rollout and attention; the gradient is of the last "
                       "layer");
    return ERR_OK;
}

/* The layers below the last that a method reads. */
static struct capture_wish wish_of(const struct engine_model *model,
                                   const struct explain_options *options)
{
    const enum explain_method method = method_of(model, options);
    const unsigned lower = model->spec.layers - 1, layer = options->layer;
    struct capture_wish wish = {.to = layer > 0 && layer < lower ? layer : lower,
                                .stats = options->statistics};
    if (method == EXPLAIN_ATTENTION || method == EXPLAIN_GRADIENT_LAST)
        wish.from = layer > 0 && layer <= lower ? layer - 1 : wish.to;
    return wish;
}

enum err_code engine_capture(const struct engine_model *model, struct engine_input *input,
                             const struct explain_options *options, struct arena *arena,
                             struct err *err)
{
    if (check_layer(model, options, err))
        return err->code;
    struct capture *capture = arena_alloc(arena, sizeof *capture);
    if (capture == NULL)
        return err_no_memory(err, sizeof *capture);
    const struct capture_wish wish = wish_of(model, options);
    if (capture_open(capture, &model->spec, input->tokens, &wish, arena, err))
        return err->code;
    input->capture = capture;
    return ERR_OK;
}

size_t engine_capture_bytes(const struct engine_model *model, const struct engine_input *input,
                            const struct explain_options *options)
{
    const struct capture_wish wish = wish_of(model, options);
    return capture_bytes(&model->spec, input->tokens, &wish);
}

enum err_code engine_relevance(const struct engine_model *model, const struct engine_input *input,
                               const struct explain_options *options, unsigned label,
                               struct arena *arena, const float **relevance, struct err *err)
{
    const struct spec *spec = &model->spec;
    const enum explain_method method = method_of(model, options);
    const unsigned layer = options->layer > 0 ? options->layer : spec->layers;
    float *found = arena_alloc_array(arena, input->tokens, 2 * sizeof *found);
    if (found == NULL)
        return err_no_memory(err, input->tokens * 2 * sizeof *found);
    *relevance = found;
    if (method == EXPLAIN_GRADIENT)
        return gradient_map(spec, &model->weights, input->capture, label, arena, found, err);
    if (method == EXPLAIN_GRADIENT_LAST)
        return gradient_map_last(spec, &model->weights, input->capture, label, arena, found, err);
    if (method == EXPLAIN_ROLLOUT)
        attention_map_rollout(spec, input->capture, layer, found, found + input->tokens);
    else
        attention_map_layer(spec, input->capture, layer, found);
    return ERR_OK;
}

static enum err_code explain_text(const struct engine_input *input, const float *relevance,
                                  struct arena *arena, struct explanation *out, struct err *err)
{
    struct excerpt *words = arena_alloc_array(arena, input->tokens, sizeof *words);
    if (words == NULL)
        return err_no_memory(err, input->tokens * sizeof *words);
    out->words = words;
    out->word_count = words_fold(input, relevance, words);
    out->span_count = words_spans(words, out->word_count, EXPLANATION_SPANS, out->spans);
    return ERR_OK;
}

static enum err_code explain_image(const struct engine_model *model,
                                   const struct engine_input *input, const float *relevance,
                                   struct arena *arena, struct explanation *out, struct err *err)
{
    const struct spec *spec = &model->spec;
    float *patches = arena_alloc_array(arena, spec->patches, sizeof *patches);
    if (patches == NULL)
        return err_no_memory(err, spec->patches * sizeof *patches);
    patches_fold(spec, relevance, patches);
    out->patches = patches;
    out->view = patches_view(spec, &model->pipeline.preprocess, input->width, input->height);
    out->box_count = patches_top(&out->view, patches, EXPLANATION_BOXES, out->boxes);
    return ERR_OK;
}

enum err_code engine_explain(const struct engine_model *model, const struct engine_input *input,
                             const struct explain_options *options, unsigned label,
                             struct arena *arena, struct explanation *out, struct err *err)
{
    const float *relevance = NULL;
    *out = (struct explanation){.method = method_of(model, options),
                                .layer = options->layer,
                                .stats = input->capture->stats,
                                .layers = model->spec.layers,
                                .heads = model->spec.heads};
    if (engine_relevance(model, input, options, label, arena, &relevance, err))
        return err->code;
    if (input->kind == ENGINE_TEXT)
        return explain_text(input, relevance, arena, out, err);
    return explain_image(model, input, relevance, arena, out, err);
}

enum err_code engine_overlay(const struct explanation *explanation, struct interrupt *interrupt,
                             char **png, size_t *len, struct err *err)
{
    return patches_overlay(&explanation->view, explanation->patches, interrupt, png, len, err);
}
