/* run.c - see run.h. run_open makes cheap checks first. It opens the configuration, the lists and
 * labels, the inputs, then the weights, the teachers and an earlier state. */
#include "learn/train/loop/run.h"

#include "engine/base/cpu.h"
#include "engine/base/file.h"
#include "engine/generate/generation_config.h"
#include "engine/model/decoder/pair_spec.h"
#include "engine/prepare/pipeline.h"
#include "engine/tensor/linear/precision_speed.h"
#include "learn/train/loop/run_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the source ---- */

/* A configuration alone, such as those of models/configs, has no vocabulary yet. */
static enum err_code check_vocabulary(const char *dir, struct err *err)
{
    static const char *const names[] = {"vocab.txt", "tokenizer.json", "vocab.json"};
    char path[PATH_MAX];
    bool found = false;
    for (unsigned i = 0; i < 3 && !found; i++)
        if (file_path(path, dir, names[i], err) || file_exists(path, &found, err))
            return err->code;
    if (found)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "%s has no vocabulary (vocab.txt or tokenizer.json): make one from your texts "
                   "with attnd-vocab build --data TEXTS --size N --out NEW, N being at most its "
                   "vocab_size, put its config.json there too, and train with --model NEW",
                   dir);
}

/* A checkpoint that is no embedding yet becomes one: the mean of the tokens, of length 1. */
static enum err_code make_sentence(struct run *run, struct err *err)
{
    struct spec *spec = &run->spec;
    struct sentence_modules *modules = arena_alloc(&run->arena, sizeof *modules);
    if (modules == NULL)
        return err_no_memory(err, sizeof *modules);
    *modules = (struct sentence_modules){
        .transformer_path = "",
        .transformer_dir = run->options->model,
        .hidden = spec->hidden,
        .pooling = {.modes = {SENTENCE_MEAN}, .count = 1, .include_prompt = true},
        .steps = {{.kind = SENTENCE_NORMALIZE, .path = "2_Normalize", .dir = run->options->model}},
        .step_count = 1,
        .width = spec->hidden};
    spec->sentence = modules;
    spec->long_text = (struct long_text){0};
    spec->head_file = NULL;
    return ERR_OK;
}

/* The modules of the source, of which training learns the encoder. */
static enum err_code take_sentence(struct run *run, struct err *err)
{
    struct spec *spec = &run->spec;
    if (spec->family->kind != ENGINE_TEXT || spec->family->is_zero_shot)
        return err_set(err, ERR_UNSUPPORTED, "--task embed learns texts; this is '%s'",
                       spec->family->name);
    if (spec->sentence == NULL && make_sentence(run, err))
        return err->code;
    struct sentence_modules *modules = spec->sentence;
    if (modules->pooling.count == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "the vector is the pooler's, which --task embed does not learn: set "
                       "\"pooling\": \"mean\" in attnd.json");
    modules->transformer_dir = run->options->model; /* modules.json will say what attnd.json did */
    const struct sentence_prompt *prompt = modules->options.default_prompt;
    bool is_normal = modules->options.similarity == SENTENCE_COSINE;
    for (unsigned i = 0; i < modules->step_count; i++) {
        is_normal = is_normal || modules->steps[i].kind == SENTENCE_NORMALIZE;
        if (modules->steps[i].kind == SENTENCE_DENSE)
            return err_set(err, ERR_UNSUPPORTED,
                           "modules.json: %s is a Dense, which --task embed does not learn: begin "
                           "with its encoder alone, without modules.json",
                           modules->steps[i].path);
    }
    if (!modules->pooling.include_prompt && prompt != NULL && prompt->text[0] != '\0')
        return err_set(err, ERR_UNSUPPORTED,
                       "a default prompt with include_prompt false is not learnt: set "
                       "include_prompt true in the pooling's config.json");
    if (!is_normal)
        return err_set(err, ERR_UNSUPPORTED,
                       "config_sentence_transformers.json: similarity_fn_name '%s' without a "
                       "Normalize: --task embed learns by cosine",
                       sentence_similarity_name(modules->options.similarity));
    spec->head = HEAD_EMBEDDING;
    spec->labels = NULL;
    spec->label_count = 0;
    spec->scores = SCORES_NONE;
    spec->policy = policy_default(SCORES_NONE, 0, spec_features(spec));
    return ERR_OK;
}

/* The source's encoder with a head of tags. One that has it keeps its way of reading; another reads
 * long texts in windows, as the server does with a model of tags that says nothing of it, and its
 * spans are those of the best path. */
static enum err_code take_tagger(struct run *run, struct err *err)
{
    struct spec *spec = &run->spec;
    if (spec->family->kind != ENGINE_TEXT || spec->family->is_zero_shot ||
        spec->family->architectures[HEAD_TAGS] == NULL)
        return err_set(err, ERR_UNSUPPORTED, "--task tag learns texts; this is '%s'",
                       spec->family->name);
    if (spec->head != HEAD_TAGS) {
        spec->long_text = (struct long_text){.in_windows = true};
        spec->aggregation = AGGREGATION_PATH;
        spec->sentence = NULL;
        spec->head_file = NULL;
        spec->labels = NULL;
        spec->label_count = 0;
        spec->policy = policy_default(SCORES_SOFTMAX, 0, spec->hidden);
        spec->policy.ood.method = OOD_NONE;
    }
    spec->head = HEAD_TAGS;
    spec->token_pruning = (struct token_pruning){0};
    spec->scores = SCORES_SOFTMAX;
    return ERR_OK;
}

/* Both sides of a model that writes, and the token with which serving begins a text. */
static enum err_code read_pair(struct run *run, struct err *err)
{
    const struct train_options *options = run->options;
    struct generation_config generation;
    if (!pair_spec_is(options->model))
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: --task seq2seq learns an encoder with a decoder (marian, bart, t5 and "
                       "others, vision-encoder-decoder); this is another model",
                       options->model);
    if (pair_spec_read(&run->spec, &run->target, options->model, err) ||
        pipeline_fit(&run->spec, options->model, err))
        return err_prefix(err, "%s: ", options->model);
    const struct generation_model sizes = {.vocabulary = run->target.vocab_size,
                                           .positions = spec_text_tokens(&run->target)};
    const struct family_pair *pair = family_pair_find(run->spec.family->model_type);
    if (generation_config_read(&generation, options->model, &sizes, &run->arena, err))
        return err_prefix(err, "%s: ", options->model);
    run->writing = (struct samples_writing){.target = &run->target,
                                            .start = (int32_t)generation.start,
                                            .tokens_max = options->tokens,
                                            .source_language = options->source_language,
                                            .target_language = options->target_language};
    if (pair != NULL && pair->reads_last_first)
        run->writing.start = -1;
    run->texts = (struct judge_texts_options){
        .source_dir = options->model,
        .scratch_dir = arena_format(&run->arena, "%s/judged", options->out),
        .source_language = options->source_language,
        .target_language = options->target_language,
        .tokens_max = options->tokens};
    return run->texts.scratch_dir != NULL ? ERR_OK : err_no_memory(err, strlen(options->out));
}

static enum err_code read_source(struct run *run, struct err *err)
{
    const struct train_options *options = run->options;
    if (run->task == TRAIN_WRITE)
        return read_pair(run, err);
    if (pair_spec_is(options->model))
        return err_set(err, ERR_UNSUPPORTED,
                       "%s writes texts: --task seq2seq trains it; other tasks train encoders",
                       options->model);
    if (spec_read(&run->spec, options->model, &run->arena, err) ||
        pipeline_fit(&run->spec, options->model, err))
        return err_prefix(err, "%s: ", options->model);
    if (run->task == TRAIN_EMBED || run->task == TRAIN_TAG) {
        if (run->task == TRAIN_TAG ? take_tagger(run, err) : take_sentence(run, err))
            return err_prefix(err, "%s: ", options->model);
    } else if (run->spec.head != HEAD_CLASSIFIER) { /* the encoder alone is the start */
        run->spec.head = HEAD_CLASSIFIER;
        run->spec.sentence = NULL;
        run->spec.long_text = (struct long_text){0};
        run->spec.scores = SCORES_SOFTMAX;
        run->spec.policy = policy_default(SCORES_SOFTMAX, 0, spec_features(&run->spec));
    }
    if (run->spec.family->is_zero_shot)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s is '%s', a zero-shot model, which is not trained: it answers in labels "
                       "that you name (candidate_labels of a request or of attnd.json); to learn "
                       "from labelled images, train a ViT or DINOv2 checkpoint",
                       options->model, run->spec.family->name);
    if (run->task == TRAIN_MLM && run->spec.family->architectures[HEAD_MLM] == NULL)
        return err_set(err, ERR_UNSUPPORTED, "--task mlm learns BERT; %s is '%s'", options->model,
                       run->spec.family->name);
    if (run->spec.family->kind == ENGINE_TEXT)
        return check_vocabulary(options->model, err);
    return options->ngrams == 0
               ? ERR_OK
               : err_set(err, ERR_UNUSABLE, "--ngrams is for texts, and %s reads images",
                         options->model);
}

/* Counts how often one tag follows another in the inputs to learn. */
static enum err_code count_pairs(struct run *run, struct err *err)
{
    struct corpus *corpus = &run->corpus;
    struct spec *spec = &run->spec;
    const unsigned tags = corpus->tags.tag_count;
    const size_t size = (size_t)TAG_GAPS * tags * tags;
    spec->pairs = (struct tag_pairs){0};
    spec->insides = tag_insides(spec->labels, tags, &corpus->arena);
    if (spec->insides == NULL)
        return err_no_memory(err, tags * sizeof *spec->insides);
    if (tags > TAG_PAIRS_LABELS_MAX)
        return ERR_OK;
    double *counts = arena_alloc_array(&corpus->arena, size, sizeof *counts);
    if (counts == NULL)
        return err_no_memory(err, size * sizeof *counts);
    memset(counts, 0, size * sizeof *counts);
    for (size_t i = 0; i < corpus->train.count; i++)
        samples_count_tags(corpus->parts[0].samples, corpus->train.item[i], tags, counts);
    return tag_pairs_fit(&spec->pairs, counts, spec->insides, tags, &corpus->arena, err);
}

/* Replaces the parts of the source's spec that the options and the data decide. */
static void settle_spec(struct run *run)
{
    struct spec *spec = &run->spec;
    const struct train_options *options = run->options;
    spec->temperature = 1;
    spec->grey16_minmax = run->corpus.grey16_minmax;
    if (strcmp(options->truncation, "keep") != 0)
        spec->policy.accepts_truncated = strcmp(options->truncation, "accept") == 0;
    if (strcmp(options->long_text, "keep") != 0)
        spec->long_text =
            (struct long_text){.in_windows = strcmp(options->long_text, "windows") == 0};
    if (strcmp(options->long_text, "windows") == 0) {
        spec->long_text.stride = options->window_stride;
        spec->long_text.pooling =
            strcmp(options->window_pooling, "mean") == 0 ? WINDOW_MEAN : WINDOW_MAX;
    }
    if (run->task == TRAIN_MLM || run->task == TRAIN_EMBED || run->task == TRAIN_WRITE)
        return;
    if (run->task == TRAIN_TAG) {
        spec->labels = run->corpus.tags.tags;
        spec->label_count = run->corpus.tags.tag_count;
        return;
    }
    run->had_number = spec->scores == SCORES_NONE;
    const bool is_regression = run->task == TRAIN_REGRESS;
    spec->labels = is_regression || run->task == TRAIN_PAIR ? run->corpus.numbers.name
                                                            : run->corpus.labels.name;
    spec->label_count = run->corpus.outputs;
    spec->scores = is_regression                                               ? SCORES_NONE
                   : run->task == TRAIN_MULTI_LABEL || run->task == TRAIN_PAIR ? SCORES_SIGMOID
                                                                               : SCORES_SOFTMAX;
}

/* places [count], classes [count] <- the inputs that an epoch draws, and their classes: all, or of
 * an embedding those that have another one of their group, of a pair the first. Returns the count.
 */
static enum err_code list_drawn(const struct run *run, size_t *places, unsigned *classes,
                                size_t *count, struct err *err)
{
    const struct corpus_items *items = &run->corpus.train;
    size_t *mates = NULL;
    if (run->task == TRAIN_EMBED) {
        if ((mates = calloc(items->count + 1, sizeof *mates)) == NULL)
            return err_no_memory(err, items->count * sizeof *mates);
        if (corpus_mates(&run->corpus.groups, items, mates, err))
            goto out;
    }
    for (size_t i = 0; i < items->count; i++) {
        if (mates != NULL && mates[i] == SIZE_MAX)
            continue;
        places[*count] = i;
        classes[(*count)++] = items->classes[i];
    }
out:
    free(mates);
    return err->code;
}

static enum err_code open_order(struct run *run, struct err *err)
{
    const struct corpus_items *items = &run->corpus.train;
    const struct groups *groups = &run->corpus.groups;
    size_t *places = arena_alloc_array(&run->arena, items->count, sizeof *places);
    unsigned *classes = arena_alloc_array(&run->arena, items->count, sizeof *classes);
    const bool by_class =
        run->task == TRAIN_CLASSIFY || (run->task == TRAIN_EMBED && !groups->are_pairs);
    struct sampler_options sampler = {.items = places,
                                      .classes = by_class ? classes : NULL,
                                      .class_count = run->corpus.labels.count + groups->count,
                                      .balance = run->options->balance,
                                      .seed = run->options->seed};
    if (places == NULL || classes == NULL)
        return err_no_memory(err, items->count * sizeof *places);
    if (list_drawn(run, places, classes, &sampler.count, err) ||
        plan_make(&run->plan, run->options, &run->spec, sampler.count, err))
        return err->code;
    const unsigned batch = run->plan.batch;
    run->order = arena_alloc_array(&run->arena, run->plan.epoch_inputs, sizeof *run->order);
    run->items = arena_alloc_array(&run->arena, 2 * (size_t)batch, sizeof *run->items);
    run->targets = arena_alloc_array(&run->arena, batch, sizeof *run->targets);
    run->groups = arena_alloc_array(&run->arena, batch, sizeof *run->groups);
    if (run->order == NULL || run->items == NULL || run->targets == NULL || run->groups == NULL)
        return err_no_memory(err, run->plan.epoch_inputs * sizeof *run->order);
    return sampler_open(&run->sampler, &sampler, err);
}

/* ---- the loss ---- */

/* Sets class weights count^-power, scaled so that their mean over the inputs is 1. */
static enum err_code weigh_classes(struct loss *loss, float power, const struct corpus_items *train,
                                   struct arena *arena, struct err *err)
{
    size_t labels = loss->labels;
    double *counts = arena_alloc_array(arena, labels, sizeof *counts);
    float *weights = arena_alloc_array(arena, labels, sizeof *weights);
    if (counts == NULL || weights == NULL)
        return err_no_memory(err, labels * sizeof *counts);
    double sum = 0, total = 0;
    for (size_t i = 0; i < train->count * labels; i++)
        counts[i % labels] += train->targets[i];
    for (size_t c = 0; c < labels; c++) {
        weights[c] = (float)pow(counts[c], -power);
        sum += weights[c] * counts[c];
        total += counts[c];
    }
    for (size_t c = 0; c < labels; c++)
        weights[c] *= (float)(total / sum);
    loss->weights = weights;
    return ERR_OK;
}

/* A class's share of the loss, not normalised. Every class has training inputs (corpus.h), so the
 * share is above 0. */
static double seen_of(const struct loss *loss, const struct sampler *sampler, unsigned c)
{
    return sampler_share(sampler, c) * (loss->weights != NULL ? (double)loss->weights[c] : 1);
}

/* Sets the adjustment tau log prior. The prior is the one that the loss sees, not that of the list:
 *
 *     prior of a class ~ share of the drawn inputs x class weight
 *
 * Reason: weighted cross-entropy over inputs that are drawn with shares d is least where
 * softmax(z + b) ~ w(y) d(y) p(x | y). Only with this prior z has lost the prior at tau 1, however
 * inputs are drawn. So --balance 0.5 halves the adjustment. With --balance 1 or --class-weight 1
 * the prior is flat and nothing is adjusted: the options do not correct the same thing twice. */
static enum err_code adjust_logits(struct loss *loss, float tau, const struct sampler *sampler,
                                   struct arena *arena, struct err *err)
{
    float *adjustment = arena_alloc_array(arena, loss->labels, sizeof *adjustment);
    double sum = 0;
    if (adjustment == NULL)
        return err_no_memory(err, loss->labels * sizeof *adjustment);
    for (unsigned c = 0; c < loss->labels; c++)
        sum += seen_of(loss, sampler, c);
    for (unsigned c = 0; c < loss->labels; c++)
        adjustment[c] = (float)((double)tau * log(seen_of(loss, sampler, c) / sum));
    loss->adjustment = adjustment;
    return ERR_OK;
}

/* Only labels have weights and an adjustment. */
static enum err_code make_loss(struct run *run, struct err *err)
{
    const struct train_options *options = run->options;
    struct loss *loss = &run->loss;
    *loss = (struct loss){.scores = run->spec.scores,
                          .labels = run->spec.label_count,
                          .smoothing = options->label_smoothing,
                          .teacher_share = options->teacher_share,
                          .teacher_temperature = options->teacher_temperature};
    if (run->task != TRAIN_CLASSIFY && run->task != TRAIN_MULTI_LABEL)
        return ERR_OK;
    if (options->class_weight > 0 &&
        weigh_classes(loss, options->class_weight, &run->corpus.train, &run->arena, err))
        return err->code;
    if (options->logit_adjust > 0)
        adjust_logits(loss, options->logit_adjust, &run->sampler, &run->arena, err);
    return err->code;
}

/* ---- data ---- */

static enum err_code open_data(struct run *run, const struct corpus_progress *progress,
                               struct err *err)
{
    const bool learns_labels = run->task == TRAIN_CLASSIFY || run->task == TRAIN_MULTI_LABEL;
    if (learns_labels && run->spec.scores == SCORES_NONE)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: config.json has problem_type 'regression': --task regress learns "
                       "numbers; to learn labels from these weights, remove problem_type",
                       run->options->model);
    struct image_reading *reading = &run->spec.image_reading;
    if (strcmp(run->options->reduction, "keep") != 0)
        image_reduction_find(run->options->reduction, &reading->reduction);
    if (run->options->views > 0)
        reading->views = run->options->views;
    if (spec_check_image_reading(&run->spec, err) ||
        corpus_open(&run->corpus, run->options, &run->spec,
                    run->task == TRAIN_WRITE ? &run->writing : NULL, run->options->model,
                    run->threads, progress, err))
        return err->code;
    if (run->corpus.groups.are_pairs && run->options->balance > 0)
        return err_set(err, ERR_UNUSABLE, "--balance is for labels, and %s has pairs",
                       run->options->data);
    settle_spec(run);
    if (run->task == TRAIN_TAG && count_pairs(run, err))
        return err->code;
    const struct samples *samples = run->corpus.train.part->samples;
    if (open_order(run, err) || samples_check_windows(samples, &run->plan.learning, err) ||
        make_loss(run, err))
        return err->code;
    const unsigned rows = run->plan.batch * (run->task == TRAIN_EMBED ? 2 : 1);
    return data_loader_open(&run->loader, samples, rows, err);
}

/* ---- the model ---- */

static enum precision choose_precision(const char *name)
{
    struct err ignored = {0};
    const struct linear_backend *backend;
    enum precision precision = PRECISION_F32;
    if (strcmp(name, "auto") != 0)
        precision_find(name, &precision);
    else if (precision_speed_choose_bf16(&backend, "native", &ignored) == ERR_OK)
        precision = PRECISION_BF16;
    return precision;
}

static unsigned micro_tokens(const struct run *run)
{
    struct samples_view view = run->plan.learning;
    unsigned longest = run->options->micro_tokens;
    for (unsigned i = 0; i < run->plan.stages.count; i++)
        for (unsigned part = 0; part < 2; part++) {
            const struct samples *samples = run->corpus.parts[part].samples;
            view.image_size = extent_square(run->plan.stages.stage[i].image_size);
            const unsigned tokens = samples != NULL ? samples_tokens_max(samples, &view) : 0;
            const unsigned written = samples != NULL ? samples_target_tokens(samples) : 0;
            longest = tokens > longest ? tokens : longest;
            longest = written > longest ? written : longest;
        }
    return longest;
}

static struct learner_setup setup_of(const struct run *run, unsigned image_size)
{
    const struct train_options *options = run->options;
    struct learner_setup setup = {.spec = run->spec,
                                  .target = run->task == TRAIN_WRITE ? &run->target : NULL,
                                  .head = run->task == TRAIN_MLM ? HEAD_MLM : run->spec.head,
                                  .network = {.threads = run->threads,
                                              .precision = choose_precision(options->precision),
                                              .tokens_max = micro_tokens(run),
                                              .hidden_dropout = options->dropout,
                                              .attention_dropout = options->attention_dropout,
                                              .entropy = options->entropy,
                                              .sparsity = options->sparsity},
                                  .optimizer = {.beta1 = options->beta1,
                                                .beta2 = options->beta2,
                                                .eps = 1e-8f,
                                                .weight_decay = options->weight_decay,
                                                .layer_decay = options->layer_decay,
                                                .clip = options->clip,
                                                .average_decay = options->average},
                                  .seed = options->seed,
                                  .structured = strcmp(options->init, "structured") == 0};
    if (image_size > 0)
        spec_set_image_size(&setup.spec, extent_square(image_size));
    return setup;
}

/* True also for weights in a format that cannot be read: opening them then fails with a reason,
 * where starting from random weights would surprise. */
static enum err_code has_weights(const char *dir, bool *out, struct err *err)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin"};
    char path[PATH_MAX];
    *out = false;
    for (unsigned i = 0; i < 3 && !*out; i++)
        if (file_path(path, dir, names[i], err) || file_exists(path, out, err))
            return err->code;
    return ERR_OK;
}

static enum err_code check_structured(const struct spec *spec, struct err *err)
{
    unsigned head = spec->hidden / spec->heads;
    if (spec->family->kind == ENGINE_TEXT || head % 4 != 0)
        return err_set(err, ERR_UNUSABLE,
                       "--init structured is for images and heads that are a multiple of 4 wide");
    if (spec->family->tensors[TENSOR_POSITION] == NULL || spec->is_gated)
        return err_set(err, ERR_UNUSABLE,
                       "--init structured is for learnt positions and an MLP without a gate");
    if (spec->pruned.left != NULL)
        return err_set(err, ERR_UNUSABLE, "--init structured is for layers with all their heads");
    return ERR_OK;
}

/* Scales a structured initialisation on a batch of inputs spread evenly over the data. */
static enum err_code sharpen(struct run *run, struct err *err)
{
    const struct corpus_items *train = &run->corpus.train;
    struct data_loader_order order = {.view = &run->plan.judging};
    struct learner *learner = &run->learner;
    run->plan.judging.image_size = learner->setup.spec.image_size;
    for (unsigned i = 0; i < run->plan.batch; i++)
        run->items[i] = train->item[(size_t)i * train->count / run->plan.batch];
    if (data_loader_prepare(&run->loader, network_pool(learner->network), run->items,
                            run->plan.batch, &order, err))
        return err->code;
    learner_sharpen(learner, &run->loader);
    return ERR_OK;
}

/* The head of a regression begins with the source's answers in the run's unit. A head that scored a
 * label, or of which a part is missing, answers the mean at first. */
static void settle_head(struct run *run)
{
    struct learner *learner = &run->learner;
    struct parameters *parameters = &learner->parameters;
    const unsigned classifiers = parameters->map.distillation_bias != SIZE_MAX ? 2 : 1;
    if (learner->loaded.classifiers == 0)
        return;
    if (run->had_number && learner->loaded.classifiers == classifiers)
        head_scale_remove(&run->corpus.numbers.scale, parameters, parameters->values);
    else
        head_scale_clear(parameters, parameters->values);
    learner_renew(learner);
}

/* Opens the learner with the source's weights, unless there are none, the options exclude them, or
 * a state replaces them. */
static enum err_code open_learner(struct run *run, unsigned image_size, struct err *err)
{
    const struct train_options *options = run->options;
    struct learner_setup setup = setup_of(run, image_size);
    struct checkpoint *checkpoint = NULL;
    bool takes_weights = !options->from_scratch && !run->resumed;
    if ((setup.structured && check_structured(&setup.spec, err)) ||
        (takes_weights && has_weights(options->model, &takes_weights, err)))
        return err->code;
    if (takes_weights && checkpoint_open(&checkpoint, options->model, err))
        return err_prefix(err, "%s: ", options->model);
    if (learner_open(&run->learner, &setup, checkpoint, err) && takes_weights)
        err_prefix(err, "%s: ", options->model);
    checkpoint_close(checkpoint);
    if (err->code == ERR_OK && takes_weights && run->task == TRAIN_REGRESS)
        settle_head(run);
    bool begins = setup.structured && !takes_weights && !run->resumed;
    return err->code == ERR_OK && begins ? sharpen(run, err) : err->code;
}

/* ---- state ---- */

static struct state state_of(const struct run *run)
{
    const struct learner *learner = &run->learner;
    struct state state = {.counters = run->at,
                          .history = run->history,
                          .lines = run->lines,
                          .values = learner->parameters.values,
                          .m = learner->optimizer.m,
                          .v = learner->optimizer.v,
                          .average = learner->optimizer.average,
                          .best = learner->best,
                          .numbers = learner->parameters.numbers};
    memcpy(state.fingerprint, run->fingerprint, sizeof state.fingerprint);
    state.counters.optimizer_steps = learner->optimizer.steps;
    const struct extent image_size = learner->setup.spec.image_size;
    state.counters.image_size = extent_is_square(image_size) ? image_size.height : 0;
    return state;
}

enum err_code run_save(const struct run *run, struct err *err)
{
    struct state state = state_of(run);
    return state_write(run->state_path, &state, err);
}

static enum err_code restore(struct run *run, struct err *err)
{
    struct state state = state_of(run);
    state.history = (struct history){0};
    if (state_read(run->state_path, &state, err)) {
        free(state.history.epochs);
        return err->code;
    }
    run->history = state.history;
    run->learner.optimizer.steps = run->at.optimizer_steps;
    network_repack(run->learner.network, run->learner.parameters.values);
    return ERR_OK;
}

/* ---- open and close ---- */

enum err_code run_open(struct run *out, const struct train_options *options,
                       const struct corpus_progress *progress, struct err *err)
{
    *out = (struct run){.options = options, .task = train_task(options), .output_fd = -1};
    arena_init(&out->arena);
    out->threads = options->threads > 0 ? options->threads : cpu_quota_threads("");
    if (read_source(out, err) || open_data(out, progress, err) || run_output_open(out, err) ||
        out->is_finished)
        return err->code;
    unsigned size = out->resumed ? (unsigned)out->at.image_size : plan_image_size(&out->plan, 0);
    const struct teachers_setup setup = {.options = options,
                                         .corpus = &out->corpus,
                                         .view = &out->plan.learning,
                                         .vocab_size = out->spec.vocab_size,
                                         .rows_max = out->plan.batch,
                                         .threads = out->threads};
    if (open_learner(out, size, err) || teachers_open(&out->teachers, &setup, err))
        return err->code;
    return out->resumed ? restore(out, err) : ERR_OK;
}

void run_close(struct run *run)
{
    teachers_close(&run->teachers);
    data_loader_close(&run->loader);
    learner_close(&run->learner);
    sampler_close(&run->sampler);
    corpus_close(&run->corpus);
    free(run->history.epochs);
    arena_deinit(&run->arena);
    if (run->output_fd >= 0)
        close(run->output_fd);
    *run = (struct run){.output_fd = -1};
}

enum err_code run_shape(struct run *run, unsigned epoch, struct err *err)
{
    unsigned size = plan_image_size(&run->plan, epoch), blocks = spec_blocks(&run->spec);
    run->plan.learning.image_size = run->plan.judging.image_size = extent_square(size);
    if (size > 0 && learner_resize(&run->learner, size, err))
        return err->code;
    return learner_freeze(&run->learner, epoch < run->plan.freeze_epochs ? blocks + 1 : 0, err);
}
