/* engine.c - see engine.h: connects the checkpoint's files to the encoder. engine_open makes the
 * cheapest checks first: configuration, tokenizer or preprocessor, weight layout, weights, and last
 * a self-test of the products in the shapes in use. */
#include "engine/engine_state.h"

#include "engine/base/cpu.h"
#include "engine/base/sha256.h"
#include "engine/dtype_choice.h"
#include "engine/format/checkpoint.h"
#include "engine/model/decoder/pair_spec.h"
#include "engine/model/head_parts.h"
#include "engine/prepare/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- open ---- */

/* Copies the paths of the weights, and behind them those of an embedding's Dense and of the head's
 * file. */
static enum err_code copy_paths(struct engine_model *model, const char *dir,
                                const struct checkpoint *checkpoint, struct err *err)
{
    const char *head = model->stacks[0].spec.head_file;
    const struct sentence_modules *sentence = model->stacks[0].spec.sentence;
    unsigned count = checkpoint_file_count(checkpoint);
    const char **paths =
        arena_alloc_array(&model->arena, count + SENTENCE_STEPS_MAX + 1, sizeof *paths);
    for (unsigned i = 0; paths != NULL && i < count; i++) {
        const char *path = checkpoint_file_path(checkpoint, i);
        paths[i] = arena_copy(&model->arena, path, strlen(path));
        if (paths[i] == NULL)
            paths = NULL;
    }
    for (unsigned i = 0; paths != NULL && sentence != NULL && i < sentence->step_count; i++)
        if (sentence->steps[i].kind == SENTENCE_DENSE &&
            (paths[count++] = arena_format(&model->arena, "%s/model.safetensors",
                                           sentence->steps[i].dir)) == NULL)
            paths = NULL;
    if (paths != NULL && head != NULL &&
        (paths[count++] = arena_format(&model->arena, "%s/%s", dir, head)) == NULL)
        paths = NULL;
    if (paths == NULL)
        return err_no_memory(err, count * sizeof *paths);
    model->info.weight_files = paths;
    model->info.weight_file_count = count;
    return ERR_OK;
}

/* The dtype that most numbers of the weight files have. */
static const char *most_stored(const struct checkpoint *checkpoint)
{
    size_t numbers[DTYPE_COUNT] = {0};
    unsigned most = 0;
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++) {
        const struct tensor_info *tensor = checkpoint_at(checkpoint, i);
        numbers[tensor->dtype] += tensor->count;
    }
    for (unsigned i = 0; i < DTYPE_COUNT; i++)
        most = numbers[i] > numbers[most] ? i : most;
    return dtype_name((enum dtype)most);
}

/* The stacks are one model: what the first does not use is used by the other. */
static void count_text_stack(struct engine_model *model)
{
    struct weights *weights = &model->stacks[0].weights;
    const struct weights *other = &model->stacks[1].weights;
    unsigned kept = 0;
    for (unsigned i = 0, k = 0; i < weights->unbound_count; i++) { /* both lists are sorted */
        const char *name = weights->unbound[i];
        while (k < other->unbound_count && strcmp(other->unbound[k], name) < 0)
            k++;
        if (k < other->unbound_count && strcmp(other->unbound[k], name) == 0 &&
            !engine_is_label_scale(name))
            weights->unbound[kept++] = name;
    }
    weights->unbound_count = kept;
    weights->parameters +=
        other->parameters + spec_is_zero_shot(&model->stacks[0].spec); /* scale */
}

/* The decoder of a model that writes. */
static enum err_code open_target(struct engine_model *model, const struct checkpoint *checkpoint,
                                 const struct dtype_choice *choice, unsigned threads,
                                 struct err *err)
{
    struct stack *target = &model->stacks[1];
    /* A step has few rows, for which fp32 by tiles takes 1.5 times as long as by vectors. */
    target->encoder = choice->precision == PRECISION_F32 ? choice->other : choice->encoder;
    target->kernels = choice->kernels;
    target->stages = &target->spec;
    if (weights_open_target(&target->weights, &target->spec, &model->stacks[0].weights, checkpoint,
                            target->encoder, choice->other, threads, err) ||
        stack_test(target, err))
        return err->code;
    count_text_stack(model);
    return ERR_OK;
}

static enum err_code open_weights(struct engine_model *model, const char *dir,
                                  const struct engine_options *options, struct dtype_choice *choice,
                                  unsigned threads, struct err *err)
{
    struct checkpoint *checkpoint;
    struct stack *stacks = model->stacks;
    if (checkpoint_open(&checkpoint, dir, err))
        return err->code;
    if ((stacks[0].spec.sentence != NULL &&
         sentence_modules_load(stacks[0].spec.sentence, &model->arena, err)) ||
        copy_paths(model, dir, checkpoint, err) ||
        dtype_choice_measure(choice, options->linear_backend, &stacks[0].spec,
                             model->info.weight_files, model->info.weight_file_count, err) ||
        stack_open(&stacks[0], checkpoint, choice->encoder, choice->other, choice->kernels, threads,
                   err) ||
        model->stack_count == 1)
        goto out;
    if (stacks[0].spec.head == HEAD_STATES) {
        open_target(model, checkpoint, choice, threads, err);
        goto out;
    }
    const bool has_labels = spec_is_zero_shot(&stacks[0].spec);
    if ((has_labels && engine_read_label_scale(&model->label_scale, checkpoint, err)) ||
        stack_open(&stacks[1], checkpoint, has_labels ? choice->other : choice->encoder,
                   choice->other, choice->kernels, threads, err) ||
        stack_test(&stacks[1], err))
        goto out;
    count_text_stack(model);
out:
    model->info.stored_dtype = most_stored(checkpoint);
    checkpoint_close(checkpoint);
    return err->code;
}

/* Bytes of the head's file: the examples that an input is compared with, and the table of n-grams.
 */
static size_t head_bytes(const struct engine_model *model)
{
    const struct neighbours *examples = &model->stacks[0].spec.policy.ood.neighbours;
    const struct ngram_table *table = &model->ngrams;
    size_t bytes = examples->count * examples->width * sizeof(float);
    if (table->bias != NULL)
        bytes +=
            (table->reading.rows * sizeof *table->halves + sizeof *table->bias) * table->labels;
    return bytes;
}

/* Texts of the vocabulary. */
static enum err_code describe_tokens(struct engine_model *model, struct err *err)
{
    struct engine_info *info = &model->info;
    if (tokenizer_texts(model->stacks[0].pipeline.tokenizer, info->vocab_size, &info->token_texts,
                        &model->arena, err))
        return err_prefix(err, "tokenizer.json: ");
    for (unsigned i = 0; i < info->vocab_size; i++)
        if (info->token_texts[i] != NULL && strlen(info->token_texts[i]) > info->token_bytes_max)
            info->token_bytes_max = (unsigned)strlen(info->token_texts[i]);
    const int32_t mask = model->stacks[0].pipeline.tokenizer->specials.mask;
    if (info->task == ENGINE_FILL && mask >= 0 && (unsigned)mask < info->vocab_size)
        info->mask_token = info->token_texts[mask];
    return ERR_OK;
}

/* info->pooling of an embedding. NULL without memory. */
static const char *name_pooling(const struct sentence_pooling *pooling, struct arena *arena)
{
    const char *names = pooling->count == 0 ? "pooler" : sentence_mode_name(pooling->modes[0]);
    for (unsigned i = 1; names != NULL && i < pooling->count; i++)
        names = arena_format(arena, "%s+%s", names, sentence_mode_name(pooling->modes[i]));
    return names;
}

/* Heads other than classifiers of whole inputs. */
static enum err_code describe_head(struct engine_model *model, struct err *err)
{
    struct engine_info *info = &model->info;
    const struct sentence_modules *sentence = model->stacks[0].spec.sentence;
    info->row_size = spec_row_size(&model->stacks[0].spec);
    if (info->row_size > 0)
        info->window_pooling = NULL;
    if ((info->task == ENGINE_FILL || info->task == ENGINE_SPARSE) && describe_tokens(model, err))
        return err->code;
    if (sentence == NULL)
        return ERR_OK;
    const unsigned kept = sentence->options.truncate_width, count = sentence->options.prompt_count;
    const char **names = arena_alloc_array(&model->arena, count + 1, sizeof *names);
    if (names == NULL)
        return err_no_memory(err, count * sizeof *names);
    for (unsigned i = 0; i < count; i++)
        names[i] = sentence->options.prompts[i].name;
    info->parameters += sentence_modules_numbers(sentence);
    info->weight_bytes += sentence_modules_numbers(sentence) * sizeof(float);
    info->vector_size = kept > 0 && kept < sentence->width ? kept : sentence->width;
    info->vector_least = model->stacks[0].spec.vector_ranges;
    if (info->vector_least != NULL)
        info->vector_largest = info->vector_least + sentence->width;
    info->prompts = names;
    info->prompt_count = count;
    info->similarity = sentence_similarity_name(sentence->options.similarity);
    for (unsigned i = 0; i < sentence->step_count; i++)
        info->normalizes |= sentence->steps[i].kind == SENTENCE_NORMALIZE;
    info->pooling = name_pooling(&sentence->pooling, &model->arena);
    return info->pooling != NULL ? ERR_OK : err_no_memory(err, SENTENCE_MODES);
}

static enum engine_task task_of(const struct spec *spec)
{
    if (spec->head == HEAD_STATES)
        return ENGINE_GENERATE;
    if (spec->head == HEAD_EMBEDDING)
        return ENGINE_EMBED;
    if (spec->head == HEAD_TAGS)
        return ENGINE_TAG;
    if (spec->head == HEAD_ANSWERS)
        return ENGINE_ANSWER;
    if (spec->head == HEAD_FILL || spec->head == HEAD_SPARSE)
        return spec->head == HEAD_FILL ? ENGINE_FILL : ENGINE_SPARSE;
    return spec->scores == SCORES_NONE ? ENGINE_REGRESS : ENGINE_CLASSIFY;
}

/* Bytes that JSON takes for the longest string of a token. */
static unsigned longest_string(const struct engine_model *model)
{
    size_t most = 0, len;
    const struct pipeline *texts = &engine_stack_of(model, ENGINE_TEXT)->pipeline;
    for (unsigned id = 0; id < texts->tokenizer->vocab_size; id++) {
        bool is_special;
        const char *string = engine_token(model, (int32_t)id, &len, &is_special);
        size_t bytes = 0;
        for (size_t i = 0; string != NULL && i < len; i++)
            bytes += (unsigned char)string[i] < 0x20     ? 6
                     : strchr("\"\\", string[i]) != NULL ? 2
                                                         : 1;
        most = bytes > most ? bytes : most;
    }
    return (unsigned)most;
}

/* The members that depend on how texts are read; and the tokens of what is read. */
static void describe_texts(struct engine_model *model)
{
    struct engine_info *info = &model->info;
    const unsigned image =
        info->kind == ENGINE_IMAGE ? spec_image_tokens(&model->stacks[0].spec) : 0;
    info->tokens_max = image;
    if (!engine_reads(info, ENGINE_TEXT))
        return;
    const struct stack *texts = engine_stack_of(model, ENGINE_TEXT);
    const unsigned limit = texts->pipeline.tokenizer->limit;
    info->tokens_max = limit > image ? limit : image;
    info->vocab_size = texts->spec.vocab_size;
    info->string_bytes_max = longest_string(model);
    info->reads_pairs =
        texts->spec.head == HEAD_CLASSIFIER && pipeline_reads_pairs(&texts->pipeline);
    info->reads_windows = texts->spec.long_text.in_windows;
    info->window_stride = texts->pipeline.windows.stride;
    info->window_pooling = window_pooling_name(texts->spec.long_text.pooling);
}

static void describe(struct engine_model *model, const struct dtype_choice *choice)
{
    static const char *const scores[] = {"softmax", "sigmoid", "none"};
    const struct spec *spec = &model->stacks[0].spec;
    bool is_text = spec->family->kind == ENGINE_TEXT;
    struct engine_info *info = &model->info;
    info->kind = spec->family->kind;
    info->reads_both =
        model->stack_count > 1 && !spec_is_zero_shot(spec) && spec->head != HEAD_STATES;
    info->task = task_of(spec);
    info->family = spec->family->name;
    info->version = spec->version;
    info->dtype = precision_name(choice->precision);
    info->linear_backend = choice->encoder->name;
    const char *kernel = model->stacks[0].weights.layers[0].mlp_in.kernel;
    info->kernels = kernel != NULL ? kernel : model->stacks[0].kernels->name;
    info->scores = scores[spec->scores];
    info->temperature = spec->temperature;
    info->labels = spec->labels;
    info->class_codes = spec->class_codes;
    info->class_prior = &spec->class_prior;
    info->label_count = spec->label_count;
    info->is_zero_shot = spec_is_zero_shot(spec);
    info->needs_labels = info->is_zero_shot && spec->label_count == 0;
    info->hypothesis = spec->hypothesis;
    info->layers = spec->layers;
    info->heads = spec->heads;
    info->hidden_size = spec->hidden;
    info->feature_size = spec_row(spec);
    info->classifier_size = spec_features(spec);
    info->intermediate_size = spec->intermediate;
    info->image_height = spec->image_size.height;
    info->image_width = spec->image_size.width;
    info->patch_size = spec->patch;
    info->grey16_minmax = spec->grey16_minmax;
    describe_texts(model);
    info->views = is_text ? 0 : spec->image_reading.views;
    info->full_layers = spec->token_pruning.full_layers;
    info->token_share = spec->token_pruning.share;
    info->ngram_rows = model->ngrams.bias != NULL ? model->ngrams.reading.rows : 0;
    info->parameters = model->stacks[0].weights.parameters;
    info->weight_bytes = weights_bytes(&model->stacks[0].weights, spec);
    for (unsigned i = 1; i < model->stack_count; i++)
        info->weight_bytes += weights_bytes(&model->stacks[i].weights, &model->stacks[i].spec) +
                              tokenizer_bytes(model->stacks[i].pipeline.tokenizer);
    info->head_bytes = head_bytes(model);
    info->unbound = model->stacks[0].weights.unbound;
    info->unbound_count = model->stacks[0].weights.unbound_count;
    info->explain_default =
        info->task == ENGINE_GENERATE ? EXPLAIN_ALIGNMENT : method_default(info->kind);
    info->is_calibrated = !policy_is_uncalibrated(&spec->policy);
    info->accepts_truncated = spec->policy.accepts_truncated;
    info->reviews_all = policy_reviews_all(&spec->policy);
    info->target_precision = spec->policy.target_precision;
    info->thresholds = spec->policy.thresholds;
    info->ood_method = ood_method_name(spec->policy.ood.method);
    info->reference = spec->reference;
    info->ood_threshold = spec->policy.ood.has_threshold ? &spec->policy.ood.threshold : NULL;
    info->ood_label_thresholds = spec->policy.ood.label_thresholds;
}

static enum err_code describe_choice(struct engine_model *model, const struct dtype_choice *choice,
                                     const struct engine_options *options, struct err *err)
{
    static const char asked[] = "auto";
    struct engine_info *info = &model->info;
    const bool is_auto = options->dtype != NULL && strcmp(options->dtype, asked) == 0;
    info->dtype_asked = is_auto ? asked : info->dtype;
    if (choice->reason[0] == '\0')
        return ERR_OK;
    info->dtype_reason = arena_copy(&model->arena, choice->reason, strlen(choice->reason));
    return info->dtype_reason != NULL ? ERR_OK : err_no_memory(err, strlen(choice->reason));
}

static enum err_code choose_prior(struct engine_model *model, const struct engine_options *options,
                                  struct err *err)
{
    if (options->class_prior == NULL)
        return ERR_OK;
    return spec_choose_prior(&model->stacks[0].spec, options->class_prior, &model->arena, err);
}

/* A copy computes as the other does: nothing is measured again. */
static enum err_code choose(struct dtype_choice *choice, const struct engine_options *options,
                            struct err *err)
{
    const struct engine_model *other = options->copy_of;
    if (other == NULL)
        return dtype_choice_make(choice, options->dtype != NULL ? options->dtype : "f32",
                                 options->linear_backend, err);
    *choice = (struct dtype_choice){.encoder = other->stacks[0].encoder,
                                    .precision = other->stacks[0].encoder->precision,
                                    .other = linear_backend_find_plain(options->linear_backend),
                                    .kernels = other->stacks[0].kernels};
    if (other->info.dtype_reason != NULL)
        snprintf(choice->reason, sizeof choice->reason, "%s", other->info.dtype_reason);
    return ERR_OK;
}

/* All files of a model that writes, but the weights. */
static enum err_code open_pair(struct engine_model *model, const char *dir,
                               const struct engine_options *options, struct dtype_choice *choice,
                               struct err *err)
{
    struct stack *source = &model->stacks[0], *target = &model->stacks[1];
    if (!options->writes_texts)
        return err_set(err, ERR_UNSUPPORTED, "config.json: the model writes texts: %s",
                       options->instead != NULL ? options->instead
                                                : "attnd, attnd-predict, attnd-batch and "
                                                  "attnd-stream answer with it");
    if (options->token_pruning != NULL && strcmp(options->token_pruning, "none") != 0)
        return err_set(err, ERR_UNSUPPORTED, "token_pruning: not of a model that writes texts");
    if (options->class_prior != NULL && strcmp(options->class_prior, "natural") != 0)
        return err_set(err, ERR_UNSUPPORTED, "class_prior: not of a model that writes texts");
    if (choose(choice, options, err) || pair_spec_read(&source->spec, &target->spec, dir, err) ||
        pair_spec_read_settings(&source->spec, dir, &model->arena, err) ||
        dtype_choice_pin(choice, options->linear_backend, &source->spec, err) ||
        pipeline_fit(&source->spec, dir, err) ||
        pipeline_open(&source->pipeline, &source->spec, dir, err))
        return err->code;
    if (options->takes_uncalibrated)
        policy_trust(&source->spec.policy);
    model->stack_count = 2;
    target->pipeline.spec = &target->spec;
    if (tokenizer_open_target(&target->pipeline.tokenizer, dir, spec_tokens_max(&target->spec),
                              err))
        return err->code;
    tokenizer_fit(target->pipeline.tokenizer, target->spec.vocab_size);
    return engine_write_open(model, dir, err);
}

/* All files but the weights. */
static enum err_code open_files(struct engine_model *model, const char *dir,
                                const struct engine_options *options, struct dtype_choice *choice,
                                struct head_parts *head, struct err *err)
{
    if (pair_spec_is(dir)) {
        *head = (struct head_parts){0};
        return open_pair(model, dir, options, choice, err);
    }
    if (choose(choice, options, err) ||
        spec_read(&model->stacks[0].spec, dir, &model->arena, err) ||
        dtype_choice_pin(choice, options->linear_backend, &model->stacks[0].spec, err) ||
        choose_prior(model, options, err) ||
        (options->token_pruning != NULL &&
         spec_choose_token_pruning(&model->stacks[0].spec, options->token_pruning, err)) ||
        pipeline_fit(&model->stacks[0].spec, dir, err) ||
        head_parts_open(&model->stacks[0].spec, dir, head, &model->arena, err))
        return err->code;
    if (options->takes_uncalibrated)
        policy_trust(&model->stacks[0].spec.policy);
    model->stack_count = model->stacks[0].spec.family->is_zero_shot ? 2 : 1;
    if (model->stack_count > 1 &&
        spec_read_texts(&model->stacks[1].spec, &model->stacks[0].spec, dir, err))
        return err->code;
    for (unsigned i = 0; i < model->stack_count && err->code == ERR_OK; i++)
        pipeline_open(&model->stacks[i].pipeline, &model->stacks[i].spec, dir, err);
    if (err->code == ERR_OK && model->stacks[0].spec.head == HEAD_ANSWERS &&
        !question_is_readable(&model->stacks[0].pipeline))
        err_set(err, ERR_UNSUPPORTED, "the tokenizer has no place for a text behind a question");
    return err->code;
}

static enum err_code open_parts(struct engine_model *model, const char *dir,
                                const struct engine_options *options, struct err *err)
{
    struct dtype_choice choice = {0};
    struct head_parts head;
    const unsigned threads =
        options->load_threads > 0 ? options->load_threads : cpu_quota_threads("");
    if (open_files(model, dir, options, &choice, &head, err) ||
        open_weights(model, dir, options, &choice, threads, err) ||
        (head.matrix.weight != NULL &&
         head_parts_classify(&model->stacks[0].weights, &model->stacks[0].spec, &head.matrix,
                             choice.other, err)))
        return err->code;
    model->ngrams = head.ngrams;
    if (engine_encode_own(model, threads, err) || stack_test(&model->stacks[0], err))
        return err->code;
    describe(model, &choice);
    if (describe_head(model, err) || describe_choice(model, &choice, options, err) ||
        (model->info.task == ENGINE_GENERATE && engine_write_describe(model, err)))
        return err->code;
    model->info.preprocessing = pipeline_describe(&model->stacks[0].pipeline, &model->arena);
    return model->info.preprocessing != NULL ? ERR_OK : err_no_memory(err, 1);
}

enum err_code engine_check(const char *dir, const struct engine_options *options, struct err *err)
{
    struct engine_model model = {0};
    struct checkpoint *checkpoint = NULL;
    struct dtype_choice choice = {0};
    struct head_parts head;
    arena_init(&model.arena);
    if (!open_files(&model, dir, options, &choice, &head, err) &&
        !checkpoint_open(&checkpoint, dir, err) && spec_is_zero_shot(&model.stacks[0].spec))
        engine_read_label_scale(&model.label_scale, checkpoint, err);
    for (unsigned i = 0; i < model.stack_count && err->code == ERR_OK; i++)
        weights_check(&model.stacks[i].spec, checkpoint, err);
    checkpoint_close(checkpoint);
    for (unsigned i = 0; i < model.stack_count; i++)
        pipeline_close(&model.stacks[i].pipeline);
    arena_deinit(&model.arena);
    return err->code;
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
    engine_close_labels(model);
    for (unsigned i = 0; i < model->stack_count && model->base == NULL; i++)
        stack_close(&model->stacks[i]);
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
