/* The network's gradients against central differences, and what they do not depend on.
 *
 * The models are tiny and their weights large (deviation 0.26), so that the gradients of every
 * tensor are of the order of one. A difference is then off by 4e-4 at most, fp32's noise over the
 * step (measured over all tensors); the error of the step itself is far below. */
#include "learn/train/network/network_state.h"

#include "engine/base/rng.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 16, LAYERS = 2, TOKENS_MAX = 96, ROWS_MAX = 8, VOCAB = 40, LABELS = 3, KEPT = 7 };

/* ---- a tiny model and its micro-batch ---- */

struct tiny {
    struct spec spec;
    struct parameters parameters;
    struct network *network;
    struct engine_input inputs[ROWS_MAX];
    const struct engine_input *pointers[ROWS_MAX];
    int32_t ids[TOKENS_MAX];
    uint8_t types[TOKENS_MAX];
    float *patches;
    unsigned kept[KEPT];
    struct network_batch batch;
    float *dlogits; /* the loss is their scalar product with the logits, and the penalty */
    size_t logit_count;
};

struct choice {
    const char *model_type, *architecture;
    enum family_head head;
    unsigned hidden; /* 0: HIDDEN */
    unsigned variant;
};

static const struct choice choices[] = {
    {"bert", NULL, HEAD_CLASSIFIER, 0, 0},
    {"bert", NULL, HEAD_MLM, 0, 0},
    {"distilbert", NULL, HEAD_CLASSIFIER, 0, 0},
    {"roberta", NULL, HEAD_CLASSIFIER, 0, 0},
    {"electra", NULL, HEAD_CLASSIFIER, 0, 0},
    {"albert", NULL, HEAD_CLASSIFIER, 0, 0},
    {"mpnet", NULL, HEAD_CLASSIFIER, 0, 0},
    {"deberta-v2", NULL, HEAD_CLASSIFIER, 0, 0},
    {"longformer", NULL, HEAD_CLASSIFIER, 0, 0},
    {"modernbert", NULL, HEAD_CLASSIFIER, 0, 0},
    {"modernbert", NULL, HEAD_CLASSIFIER, 0, 1},
    {"modernbert", NULL, HEAD_CLASSIFIER, 0, 2},
    {"vit", NULL, HEAD_CLASSIFIER, 0, 0},
    {"deit", NULL, HEAD_CLASSIFIER, 0, 0},
    {"deit", "DeiTForImageClassificationWithTeacher", HEAD_CLASSIFIER, 0, 0},
    {"dinov2", NULL, HEAD_CLASSIFIER, 0, 0},
    {"dinov2_with_registers", NULL, HEAD_CLASSIFIER, 0, 0},
    {"beit", NULL, HEAD_CLASSIFIER, 0, 0},
    {"swin", NULL, HEAD_CLASSIFIER, 0, 0},
    {"bert", NULL, HEAD_CLASSIFIER, 0, 1},
    {"bert", NULL, HEAD_CLASSIFIER, 0, 2},
    {"vit", NULL, HEAD_CLASSIFIER, 0, 1},
    {"vit", NULL, HEAD_CLASSIFIER, 0, 2},
    {"bert", NULL, HEAD_EMBEDDING, 0, 0},
    {"modernbert", NULL, HEAD_EMBEDDING, 0, 0},
    {"bert", NULL, HEAD_TAGS, 0, 0},
    {"distilbert", NULL, HEAD_TAGS, 0, 0},
    {"roberta", NULL, HEAD_TAGS, 0, 0},
    {"albert", NULL, HEAD_TAGS, 0, 0},
    {"mpnet", NULL, HEAD_TAGS, 0, 0},
    {"deberta-v2", NULL, HEAD_TAGS, 0, 0},
    {"longformer", NULL, HEAD_TAGS, 0, 0},
    {"modernbert", NULL, HEAD_TAGS, 0, 0},
    {"bert", NULL, HEAD_TAGS, 0, 2},
};
enum { CHOICES = sizeof choices / sizeof *choices };

/* Biases and [CLS]; no biases and a mean; a single layer, which has no attention norm. */
static void fill_rotary_spec(struct spec *spec, unsigned variant)
{
    static const unsigned reaches[][LAYERS] = {{0, 3}, {4, 0}, {3}};
    spec->is_gated = true;
    spec->pooler_activation = ACTIVATION_GELU;
    spec->rotary_base[0] = 100;
    spec->rotary_base[1] = 20;
    spec->reaches = reaches[variant];
    spec->layers = variant == 2 ? 1 : LAYERS;
    spec->pools_tokens = variant == 1;
    for (int field = 0; field < TENSOR_FIELDS; field++)
        spec->unbiased[field] = variant == 1 && spec->family->key_bias[field] != NULL;
}

/* Embeddings narrower and wider than the blocks, four layers of two blocks, windows that do not
 * reach over a text, pads at 1, distances beyond those that have a row of their own. */
static void fill_text_spec(struct spec *spec)
{
    const struct family *family = spec->family;
    if (family->key_embedding != NULL)
        spec->embedding = family->always_projects ? HIDDEN + 5 : HIDDEN - 5;
    if (family->key_groups != NULL) {
        spec->layers = 2 * LAYERS;
        spec->groups = 1;
        spec->inner = 2;
    }
    static const unsigned reaches[LAYERS] = {3, 5};
    if (family->key_window != NULL)
        spec->reaches = reaches;
    if (family->tensors[TENSOR_RELATIVE_BIAS] != NULL) {
        spec->buckets = 32;
        spec->relative = relative_mpnet;
    }
    if (family->tensors[TENSOR_RELATIVE_PLACES] != NULL)
        spec->disentangled = (struct disentangled){.span = 8,
                                                   .buckets = 8,
                                                   .distance_max = 20,
                                                   .content_to_position = true,
                                                   .position_to_content = true};
    spec->pad_id = family->positions == POSITION_PAST_PAD ? 1 : 0;
}

/* A grid of 4 with windows of 2, so that there are all four kinds of a shifted one, and there and
 * back; then one of 2, a window. */
static void fill_stages(struct spec *spec)
{
    static const struct stage_config stages = {
        .count = 2,
        .window = 2,
        .stage = {{.first = 0, .end = 3, .hidden = HIDDEN / 2, .heads = 1, .intermediate = 12},
                  {.first = 3, .end = 5, .hidden = HIDDEN, .heads = 2, .intermediate = 24}}};
    spec->stages = &stages;
    spec->layers = 5;
    spec->patch = extent_square(2);
    spec_set_image_size(spec, extent_square(8));
}

/* One pooling, and four side by side behind a last norm; the one of largest numbers, which has
 * kinks, is test_network_sentence.c's. */
static struct sentence_modules *sentence_of(const struct choice *choice)
{
    static struct sentence_modules mean = {
        .hidden = HIDDEN, .pooling = {.modes = {SENTENCE_MEAN}, .count = 1}, .width = HIDDEN};
    static struct sentence_modules four = {
        .hidden = HIDDEN,
        .pooling = {.modes = {SENTENCE_CLS, SENTENCE_MEAN_SQRT_LENGTH, SENTENCE_WEIGHTED_MEAN,
                              SENTENCE_LAST_TOKEN},
                    .count = 4},
        .width = 4 * HIDDEN};
    return strcmp(choice->model_type, "bert") == 0 ? &mean : &four;
}

static void fill_spec(struct spec *spec, const struct choice *choice)
{
    *spec = (struct spec){.family = family_find(choice->model_type, choice->architecture),
                          .layers = LAYERS,
                          .heads = 2,
                          .hidden = choice->hidden > 0 ? choice->hidden : HIDDEN,
                          .intermediate = 24,
                          .activation = ACTIVATION_GELU,
                          .norm_eps = 1e-6f,
                          .qkv_bias = true,
                          .head = choice->head,
                          .label_count = LABELS};
    if (choice->head == HEAD_EMBEDDING)
        spec->sentence = sentence_of(choice);
    /* A head was cut out of the first layer, or out of the last. */
    static const unsigned left[][LAYERS] = {{1, 2}, {2, 1}};
    if (spec->family->prunes_heads && choice->variant > 0)
        spec->pruned.left = left[choice->variant - 1];
    if (spec->family->kind == ENGINE_TEXT) {
        spec->positions = 20;
        spec->token_types = 2;
        fill_text_spec(spec);
        if (spec->family->is_rotary)
            fill_rotary_spec(spec, choice->variant);
        return;
    }
    spec->is_gated = strcmp(choice->model_type, "dinov2") == 0;
    spec->registers = spec->family->key_registers != NULL ? 2 : 0;
    spec->image_size = extent_square(9);
    spec->patch = extent_square(3);
    spec->channels = 3;
    spec->patches = 9;
    if (spec->family->has_stages)
        fill_stages(spec);
}

static void fill_values(struct parameters *parameters)
{
    for (unsigned p = 0; p < parameters->count; p++) {
        const struct parameter *parameter = &parameters->list[p];
        float *values = parameters->values + parameter->offset;
        numbers_fill(values, parameter->row.count, 0.45f, p + 1);
        for (size_t i = 0; i < parameter->row.count && parameter->row.part == TENSOR_GAMMA; i++)
            values[i] += 1;
    }
}

/* A rectifier's inputs away from its kink, where there is no slope to compare with. */
static void leave_kinks(struct parameters *parameters)
{
    float *bias = parameters->values + parameters->map.pooler_bias;
    for (size_t i = 0; i < HIDDEN; i++)
        bias[i] = i % 4 == 0 ? -9 : 9;
}

static void fill_texts(struct tiny *tiny)
{
    static const unsigned lengths[] = {5, 17, 2, 9};
    unsigned at = 0;
    bool is_typed = tiny->spec.family->positions == POSITION_INDEX;
    for (unsigned i = 0; i < TOKENS_MAX; i++) {
        tiny->ids[i] = (int32_t)(rng_hash(5, i) % VOCAB);
        tiny->types[i] = i % 3 == 1;
    }
    tiny->ids[8] = 1; /* a pad token */
    for (unsigned r = 0; r < 4; r++) {
        tiny->inputs[r] =
            (struct engine_input){.kind = ENGINE_TEXT,
                                  .tokens = lengths[r],
                                  .ids = tiny->ids + at,
                                  .types = is_typed && r % 2 == 1 ? tiny->types + at : NULL};
        at += lengths[r];
    }
    tiny->batch.rows = 4;
}

static void fill_images(struct tiny *tiny)
{
    size_t numbers = 3 * tiny->spec.patches * extent_area(tiny->spec.patch);
    tiny->patches = numbers_new(3 * numbers, 1, 77);
    for (unsigned r = 0; r < 3; r++)
        tiny->inputs[r] = (struct engine_input){.kind = ENGINE_IMAGE,
                                                .tokens = spec_image_tokens(&tiny->spec),
                                                .patches = tiny->patches + r * numbers};
    tiny->batch.rows = 3;
}

static const struct network_options plain = {.threads = 1, .tokens_max = TOKENS_MAX};

static void tiny_open_network(struct tiny *tiny, const struct network_options *options)
{
    struct err err = {0};
    network_close(tiny->network);
    network_open(&tiny->network, &tiny->parameters, options, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    network_repack(tiny->network, tiny->parameters.values);
}

static void tiny_open_vocab(struct tiny *tiny, const struct choice *choice,
                            const struct network_options *options, unsigned vocab)
{
    /* None of the third sequence. */
    static const unsigned kept[KEPT] = {1, 4, 6, 7, 20, 25, 32};
    struct err err = {0};
    *tiny = (struct tiny){.batch = {.training = true, .dropout = 99}};
    fill_spec(&tiny->spec, choice);
    tiny->spec.vocab_size = vocab;
    parameters_open(&tiny->parameters, &tiny->spec, choice->head, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    fill_values(&tiny->parameters);
    if (tiny->spec.family->pooler_activation == ACTIVATION_RELU)
        leave_kinks(&tiny->parameters);
    if (tiny->spec.family->kind == ENGINE_TEXT)
        fill_texts(tiny);
    else
        fill_images(tiny);
    for (unsigned r = 0; r < ROWS_MAX; r++)
        tiny->pointers[r] = &tiny->inputs[r];
    tiny->batch.inputs = tiny->pointers;
    tiny->logit_count = (size_t)tiny->batch.rows * parameters_outputs(&tiny->spec, choice->head);
    if (choice->head == HEAD_MLM || choice->head == HEAD_TAGS) {
        memcpy(tiny->kept, kept, sizeof kept);
        tiny->batch.kept = tiny->kept;
        tiny->batch.kept_count = KEPT;
        tiny->logit_count = (size_t)KEPT * (choice->head == HEAD_MLM ? vocab : LABELS);
    }
    tiny->dlogits = numbers_new(tiny->logit_count, 1, 3);
    tiny_open_network(tiny, options);
}

static void tiny_open(struct tiny *tiny, const struct choice *choice,
                      const struct network_options *options)
{
    tiny_open_vocab(tiny, choice, options, VOCAB);
}

static void tiny_close(struct tiny *tiny)
{
    network_close(tiny->network);
    parameters_close(&tiny->parameters);
    free(tiny->patches);
    free(tiny->dlogits);
}

enum { SHARE_PERCENT = 50 };

static double loss_of(struct tiny *tiny)
{
    network_repack(tiny->network, tiny->parameters.values);
    network_forward(tiny->network, &tiny->batch);
    const float *logits = network_logits(tiny->network);
    double loss = tiny->network->penalty * SHARE_PERCENT / 100;
    for (size_t i = 0; i < tiny->logit_count; i++)
        loss += (double)tiny->dlogits[i] * logits[i];
    return loss;
}

static float *gradient_of(struct tiny *tiny)
{
    loss_of(tiny);
    network_backward(tiny->network, tiny->dlogits, SHARE_PERCENT / 100.0f);
    return network_gradient(tiny->network);
}

static float *copy_gradient(struct tiny *tiny)
{
    size_t bytes = tiny->parameters.numbers * sizeof(float);
    float *copy = malloc(bytes);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, gradient_of(tiny), bytes);
    return copy;
}

/* ---- gradients against differences ---- */

/* The slope changes within a longer step if patches are normalised before anything is added to
 * them, or if all tokens are read behind a last norm, several times over. */
static bool is_bent(const struct tiny *tiny)
{
    return tiny->spec.stages != NULL || tiny->spec.sentence != NULL;
}

/* (f(x + h) - f(x - h)) / 2 h with two steps, extrapolated (Richardson): its error is h^4. */
static double difference(struct tiny *tiny, float *value)
{
    const float kept = *value, step = is_bent(tiny) ? 0.01f : 0.04f, steps[2] = {step, step / 2};
    double slope[2];
    for (int i = 0; i < 2; i++) {
        *value = kept + steps[i];
        double above = loss_of(tiny), width = *value;
        *value = kept - steps[i];
        width -= *value;
        slope[i] = (above - loss_of(tiny)) / width;
    }
    *value = kept;
    return (4 * slope[1] - slope[0]) / 3;
}

static double root_mean_square(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    return sqrt(sum / (double)n);
}

enum { SAMPLES = 6 };

/* Some numbers of a tensor, its largest gradient among them. */
static size_t sample(const float *gradient, const struct parameter *parameter, unsigned s)
{
    size_t best = 0;
    if (s > 0)
        return rng_hash((uint32_t)parameter->offset, s) % parameter->row.count;
    for (size_t i = 0; i < parameter->row.count; i++)
        if (fabsf(gradient[i]) > fabsf(gradient[best]))
            best = i;
    return best;
}

static void check_number(struct tiny *tiny, const struct parameter *parameter, const float *all,
                         size_t i, double size)
{
    float got = all[parameter->offset + i];
    double expected = difference(tiny, tiny->parameters.values + parameter->offset + i);
    ck_assert_msg(fabs(got - expected) < 6e-4 + 1e-3 * fmax(size, fabs(expected)),
                  "%s %s[%zu]: %g, by differences %g", tiny->spec.family->name, parameter->row.name,
                  i, got, expected);
}

/* Softmax takes a key's bias away; and where a token sees all, nothing reads the last layer's
 * query, key and value. */
static bool has_gradient(const struct tiny *tiny, const struct tensor_row *row)
{
    bool is_key = row->field == TENSOR_KEY || row->field == TENSOR_GLOBAL_KEY;
    bool is_local = is_key || row->field == TENSOR_QUERY || row->field == TENSOR_VALUE;
    if (is_key && row->part == TENSOR_BIAS)
        return false;
    return !spec_has_global(&tiny->spec) || !is_local || row->field == TENSOR_GLOBAL_KEY ||
           row->layer + 1 < tiny->spec.layers;
}

static void check_tensor(struct tiny *tiny, const struct parameter *parameter, const float *all)
{
    const float *gradient = all + parameter->offset;
    double size = root_mean_square(gradient, parameter->row.count);
    if (has_gradient(tiny, &parameter->row))
        ck_assert_msg(size > 5e-3, "%s: no gradient", parameter->row.name);
    for (unsigned s = 0; s < SAMPLES; s++)
        check_number(tiny, parameter, all, sample(gradient, parameter, s), size);
}

static void check_gradients(const struct choice *choice, const struct network_options *options)
{
    struct tiny tiny;
    tiny_open(&tiny, choice, options);
    float *gradient = copy_gradient(&tiny);
    for (unsigned p = 0; p < tiny.parameters.count; p++)
        check_tensor(&tiny, &tiny.parameters.list[p], gradient);
    free(gradient);
    tiny_close(&tiny);
}

START_TEST(network_gradients_are_the_slopes_of_the_loss)
{
    for (int i = 0; i < CHOICES; i++)
        check_gradients(&choices[i], &plain);
}
END_TEST

static struct network_options dropping(void)
{
    struct network_options options = plain;
    options.hidden_dropout = 0.2f;
    options.attention_dropout = 0.3f;
    options.entropy = 2;
    options.sparsity = -3;
    return options;
}

START_TEST(network_gradients_are_the_slopes_with_dropout_and_regularisers)
{
    struct network_options options = dropping();
    for (int i = 0; i < CHOICES; i++)
        check_gradients(&choices[i], &options);
}
END_TEST

/* The gradient of the vocabulary is made a part at a time. */
START_TEST(network_gradients_of_a_large_vocabulary_are_the_slopes)
{
    static const size_t words[] = {0, 2047, 2048, 2099};
    struct tiny tiny;
    tiny_open_vocab(&tiny, &choices[1], &plain, 2100);
    float *gradient = copy_gradient(&tiny);
    const struct parameter *word = &tiny.parameters.list[0];
    ck_assert_uint_eq(word->offset, tiny.parameters.map.word);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        check_number(&tiny, word, gradient, words[i] * HIDDEN + 5, 1);
    free(gradient);
    tiny_close(&tiny);
}
END_TEST

/* ---- what gradients do not depend on ---- */

/* The network is so wide that every thread has columns of its own. */
START_TEST(network_gradients_are_the_same_bits_for_any_pool)
{
    for (int i = 0; i < 2 * CHOICES; i++) {
        struct tiny tiny;
        struct choice wide = choices[i % CHOICES];
        struct network_options options = dropping();
        wide.hidden = 5 * HIDDEN;
        options.precision = i < CHOICES ? PRECISION_F32 : PRECISION_BF16;
        tiny_open(&tiny, &wide, &options);
        float *alone = copy_gradient(&tiny);
        double penalty = tiny.network->penalty;
        for (options.threads = 2; options.threads <= 3; options.threads++) {
            tiny_open_network(&tiny, &options);
            ck_assert_mem_eq(gradient_of(&tiny), alone, tiny.parameters.numbers * sizeof *alone);
            ck_assert_double_eq(tiny.network->penalty, penalty);
        }
        free(alone);
        tiny_close(&tiny);
    }
}
END_TEST

/* Sequences of the tiny classifier's batch from `first` on, with their part of dlogits. */
static void run_part(struct tiny *tiny, unsigned first, unsigned rows)
{
    struct network_batch part = tiny->batch;
    part.inputs += first;
    part.rows = rows;
    network_forward(tiny->network, &part);
    const size_t outputs = tiny->logit_count / tiny->batch.rows;
    network_backward(tiny->network, tiny->dlogits + first * outputs, 1);
}

START_TEST(network_gradients_add_up_over_micro_batches)
{
    for (int i = 0; i < CHOICES; i++) {
        struct tiny tiny;
        if (choices[i].head == HEAD_MLM || choices[i].head == HEAD_TAGS)
            continue;
        tiny_open(&tiny, &choices[i], &plain);
        float *whole = copy_gradient(&tiny);
        tiny_open_network(&tiny, &plain);
        run_part(&tiny, 0, 1);
        run_part(&tiny, 1, tiny.batch.rows - 1);
        double difference = numbers_relative_difference(network_gradient(tiny.network), whole,
                                                        tiny.parameters.numbers);
        ck_assert_msg(difference < 1e-5, "%s: %g", choices[i].model_type, difference);
        free(whole);
        tiny_close(&tiny);
    }
}
END_TEST

/* There are more tokens than a backward pass takes at once (1024): the parts must add up to the
 * whole. */
START_TEST(network_gradients_of_more_tokens_than_a_piece_add_up)
{
    enum { ROWS = 66, TOKENS = 17, HALF = 33 };
    static int32_t ids[ROWS * TOKENS];
    static struct engine_input inputs[ROWS];
    static const struct engine_input *listed[ROWS];
    struct network_options options = plain;
    struct tiny tiny;
    float *dlogits = numbers_new(ROWS * LABELS, 1, 9);
    options.tokens_max = ROWS * TOKENS;
    for (unsigned r = 0; r < ROWS; r++) {
        for (unsigned t = 0; t < TOKENS; t++)
            ids[r * TOKENS + t] = (int32_t)(rng_hash(6, r * TOKENS + t) % VOCAB);
        inputs[r] = (struct engine_input){
            .kind = ENGINE_TEXT, .tokens = TOKENS, .ids = ids + (size_t)r * TOKENS};
        listed[r] = &inputs[r];
    }
    tiny_open(&tiny, &choices[0], &options);
    tiny.batch.inputs = listed;
    tiny.batch.rows = ROWS;
    free(tiny.dlogits);
    tiny.dlogits = dlogits;
    tiny.logit_count = ROWS * LABELS;
    run_part(&tiny, 0, ROWS);
    size_t numbers = tiny.parameters.numbers;
    float *whole = malloc(numbers * sizeof *whole);
    ck_assert_ptr_nonnull(whole);
    memcpy(whole, network_gradient(tiny.network), numbers * sizeof *whole);
    tiny_open_network(&tiny, &options);
    run_part(&tiny, 0, HALF);
    run_part(&tiny, HALF, ROWS - HALF);
    ck_assert_double_lt(numbers_relative_difference(network_gradient(tiny.network), whole, numbers),
                        1e-5);
    free(whole);
    tiny_close(&tiny);
}
END_TEST

static double cosine(const float *a, const float *b, size_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        ab += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
    }
    return ab / sqrt(aa * bb);
}

START_TEST(network_gradients_in_bf16_point_where_those_in_fp32_do)
{
    for (int i = 0; i < CHOICES; i++) {
        struct tiny tiny;
        struct network_options options = plain;
        tiny_open(&tiny, &choices[i], &options);
        float *exact = copy_gradient(&tiny);
        options.precision = PRECISION_BF16;
        tiny_open_network(&tiny, &options);
        const float *rounded = gradient_of(&tiny);
        double along = cosine(rounded, exact, tiny.parameters.numbers);
        ck_assert_msg(along > 0.999, "%s: cosine %g", choices[i].model_type, along);
        ck_assert_mem_ne(rounded, exact, tiny.parameters.numbers * sizeof *exact);
        free(exact);
        tiny_close(&tiny);
    }
}
END_TEST

static void check_frozen(struct tiny *tiny, const float *whole, unsigned frozen)
{
    const float *gradient = gradient_of(tiny);
    for (unsigned p = 0; p < tiny->parameters.count; p++) {
        const struct parameter *parameter = &tiny->parameters.list[p];
        for (size_t i = 0; i < parameter->row.count; i++) {
            size_t at = parameter->offset + i;
            float expected = parameter->row.depth < frozen ? 0 : whole[at];
            ck_assert_msg(gradient[at] == expected, "%s[%zu], frozen below %u: %g instead of %g",
                          parameter->row.name, i, frozen, gradient[at], expected);
        }
    }
}

START_TEST(network_frozen_depths_have_no_gradient_and_the_others_the_same)
{
    for (int i = 0; i < CHOICES; i++) {
        struct tiny tiny;
        struct network_options options = dropping();
        tiny_open(&tiny, &choices[i], &options);
        float *whole = copy_gradient(&tiny);
        for (options.frozen_depth = 1; options.frozen_depth <= LAYERS + 2; options.frozen_depth++) {
            tiny_open_network(&tiny, &options);
            check_frozen(&tiny, whole, options.frozen_depth);
        }
        free(whole);
        tiny_close(&tiny);
    }
}
END_TEST

/* ---- dropout and the regularisers' value ---- */

static void copy_logits(struct tiny *tiny, float *out)
{
    network_forward(tiny->network, &tiny->batch);
    memcpy(out, network_logits(tiny->network), tiny->logit_count * sizeof *out);
}

START_TEST(network_drops_by_the_batch_number_and_only_in_training)
{
    for (int i = 0; i < CHOICES; i++) {
        struct tiny tiny;
        struct network_options options = dropping();
        float first[KEPT * VOCAB], second[KEPT * VOCAB];
        tiny_open(&tiny, &choices[i], &options);
        size_t bytes = tiny.logit_count * sizeof(float);
        copy_logits(&tiny, first);
        copy_logits(&tiny, second);
        ck_assert_mem_eq(first, second, bytes);
        tiny.batch.dropout++;
        copy_logits(&tiny, second);
        ck_assert_mem_ne(first, second, bytes);
        tiny.batch.training = false;
        copy_logits(&tiny, first);
        tiny_open_network(&tiny, &plain);
        copy_logits(&tiny, second);
        ck_assert_mem_eq(first, second, bytes);
        tiny_close(&tiny);
    }
}
END_TEST

/* Hugging Face's places: DistilBERT has none behind attention, where Swin and ModernBERT have the
 * attention's rate, ALBERT and DINOv2 none behind the MLP, image models none before the classifier;
 * heads of RoBERTa's kind have one before the pooler too; DeBERTa drops its relative places, and
 * ModernBERT what the MLP's second layer reads. */
START_TEST(network_drops_where_hugging_face_does)
{
    for (int i = 0; i < CHOICES; i++) {
        struct tiny tiny;
        struct network_options options = plain;
        options.hidden_dropout = 0.1f;
        tiny_open(&tiny, &choices[i], &options);
        bool is_text = tiny.spec.family->kind == ENGINE_TEXT;
        bool is_distilbert = strcmp(choices[i].model_type, "distilbert") == 0;
        network_forward(tiny.network, &tiny.batch);
        ck_assert(network_rows_drops(tiny.network, NETWORK_SITE_EMBEDDING));
        bool is_albert = strcmp(choices[i].model_type, "albert") == 0;
        bool is_modernbert = strcmp(choices[i].model_type, "modernbert") == 0;
        bool is_dinov2 = strncmp(choices[i].model_type, "dinov2", 6) == 0;
        bool has_own_head =
            strcmp(tiny.spec.family->tensors[TENSOR_CLASSIFIER], "classifier.out_proj") == 0;
        ck_assert(network_rows_drops(tiny.network, NETWORK_SITE_MLP_OUT) ==
                  !(is_albert || is_dinov2 || is_modernbert));
        ck_assert(network_rows_drops(tiny.network, NETWORK_SITE_ACTIVATED) == is_modernbert);
        ck_assert(network_rows_drops(tiny.network, NETWORK_SITE_POOLER) == has_own_head);
        bool is_swin = strcmp(choices[i].model_type, "swin") == 0;
        ck_assert(network_rows_drops(tiny.network, NETWORK_SITE_ATTENTION_OUT) ==
                  !(is_distilbert || is_swin || is_modernbert));
        ck_assert(network_rows_drops(tiny.network, NETWORK_SITE_CLASSIFIER) == is_text);
        ck_assert(network_rows_drops(tiny.network, NETWORK_SITE_RELATIVE) ==
                  (strcmp(choices[i].model_type, "deberta-v2") == 0));
        ck_assert(!network_rows_drops(tiny.network, NETWORK_SITE_ATTENTION));
        options.hidden_dropout = 0;
        options.attention_dropout = 0.1f;
        tiny_open_network(&tiny, &options);
        network_forward(tiny.network, &tiny.batch);
        ck_assert(network_rows_drops(tiny.network, NETWORK_SITE_ATTENTION));
        ck_assert(network_rows_drops(tiny.network, NETWORK_SITE_ATTENTION_OUT) ==
                  (is_swin || is_modernbert));
        ck_assert(!network_rows_drops(tiny.network, NETWORK_SITE_EMBEDDING));
        tiny_close(&tiny);
    }
}
END_TEST

START_TEST(network_drops_attention_of_like_sequences_differently)
{
    struct tiny tiny;
    struct network_options options = plain;
    options.attention_dropout = 0.5f;
    tiny_open(&tiny, &choices[0], &options);
    tiny.pointers[1] = tiny.pointers[0];
    tiny.batch.rows = 2;
    network_forward(tiny.network, &tiny.batch);
    const float *logits = network_logits(tiny.network);
    ck_assert_mem_ne(logits, logits + LABELS, LABELS * sizeof *logits);
    tiny.batch.training = false;
    network_forward(tiny.network, &tiny.batch);
    ck_assert_mem_eq(logits, logits + LABELS, LABELS * sizeof *logits);
    tiny_close(&tiny);
}
END_TEST

START_TEST(network_penalty_of_even_attention_is_the_entropy_of_even_weights)
{
    struct tiny tiny;
    struct network_options options = plain;
    double kept = 0, all = 0, tokens = 0;
    options.entropy = 1;
    tiny_open(&tiny, &choices[0], &options);
    for (unsigned i = 0; i < LAYERS; i++) { /* query weights and biases */
        const struct parameters_layer *layer = &tiny.parameters.map.layers[i];
        memset(tiny.parameters.values + layer->qkv_weight, 0, HIDDEN * HIDDEN * sizeof(float));
        memset(tiny.parameters.values + layer->qkv_bias, 0, HIDDEN * sizeof(float));
    }
    loss_of(&tiny);
    for (unsigned r = 0; r < tiny.batch.rows; r++) {
        kept += log(tiny.inputs[r].tokens) / tiny.batch.rows;
        all += tiny.inputs[r].tokens * log(tiny.inputs[r].tokens);
        tokens += tiny.inputs[r].tokens;
    }
    ck_assert_double_eq_tol(tiny.network->penalty, (kept + all / tokens) / 2, 1e-5);
    tiny_close(&tiny);
}
END_TEST

START_TEST(network_refuses_what_it_cannot_do)
{
    static const struct {
        struct network_options options;
        const char *text;
    } cases[] = {
        {{.threads = 1, .tokens_max = 8, .precision = PRECISION_INT8},
         "training in int8 is not supported (supported: f32, bf16)"},
        {{.threads = 0, .tokens_max = 8}, "a network needs at least one thread and one token"},
        {{.threads = 1, .tokens_max = 0}, "a network needs at least one thread and one token"},
    };
    struct tiny tiny;
    tiny_open(&tiny, &choices[0], &plain);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct network *network;
        struct err err = {0};
        ck_assert_int_eq(network_open(&network, &tiny.parameters, &cases[i].options, &err),
                         ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, cases[i].text);
        ck_assert_ptr_null(network);
    }
    tiny_close(&tiny);
}
END_TEST

SUITE("network", network_gradients_are_the_slopes_of_the_loss,
      network_gradients_are_the_slopes_with_dropout_and_regularisers,
      network_gradients_are_the_same_bits_for_any_pool, network_gradients_add_up_over_micro_batches,
      network_gradients_of_more_tokens_than_a_piece_add_up,
      network_gradients_in_bf16_point_where_those_in_fp32_do,
      network_frozen_depths_have_no_gradient_and_the_others_the_same,
      network_drops_by_the_batch_number_and_only_in_training, network_drops_where_hugging_face_does,
      network_drops_attention_of_like_sequences_differently,
      network_gradients_of_a_large_vocabulary_are_the_slopes,
      network_penalty_of_even_attention_is_the_entropy_of_even_weights,
      network_refuses_what_it_cannot_do)
