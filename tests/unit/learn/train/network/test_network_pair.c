/* The networks of models that write: logits of transformers under teacher forcing on the committed
 * checkpoints, and gradients against central differences for each family of pairs, tiny. */
#include "engine/base/doc.h"
#include "engine/base/rng.h"
#include "engine/model/decoder/pair_spec.h"
#include "learn/train/network/network.h"
#include "tests/support/numbers.h"
#include "tests/support/pair_model.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024, IDS = 256, ROWS_MAX = 16, TOKENS_MAX = 600 };

static void must(const struct err *err)
{
    ck_assert_msg(err->code == ERR_OK, "%s", err->text);
}

/* ---- logits under teacher forcing ---- */

static const char *const names[] = {"marian-0", "marian-1", "bart-0",    "t5-0",    "t5-gated-0",
                                    "m2m100-0", "mbart-0",  "pegasus-0", "trocr-0", "trocr-1",
                                    "trocr-2",  "trocr-3",  "mt5-0",     "umt5-0",  "nllb-0"};
enum { NAMES = sizeof names / sizeof *names };

struct forced {
    struct pair_model model;
    struct json_t *root;
    struct parameters parameters;
    struct network *network;
    struct arena arena;
    struct engine_input inputs[ROWS_MAX], targets[ROWS_MAX];
    const struct engine_input *input_at[ROWS_MAX], *target_at[ROWS_MAX];
    const struct json_t *teachers[ROWS_MAX];
    int32_t ids[2 * ROWS_MAX][IDS];
    struct network_batch batch;
    size_t tokens; /* of the targets */
};

static double number_at(const struct json_t *array, size_t i)
{
    double value;
    ck_assert(doc_as_number(doc_array_item(array, i), &value));
    return value;
}

static struct engine_input take_ids(const struct json_t *array, int32_t *ids)
{
    const size_t count = doc_array_count(array);
    ck_assert_uint_le(count, IDS);
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)number_at(array, i);
    return pair_model_text(ids, (unsigned)count);
}

static void open_network(struct forced *forced, const char *dir)
{
    struct err err = {0};
    struct checkpoint *checkpoint;
    struct parameters_loaded loaded;
    const struct network_options options = {.threads = 2, .tokens_max = TOKENS_MAX};
    parameters_open_pair(&forced->parameters, &forced->model.source, &forced->model.target, &err);
    must(&err);
    checkpoint_open(&checkpoint, dir, &err);
    must(&err);
    parameters_load(&forced->parameters, checkpoint, &loaded, &err);
    must(&err);
    checkpoint_close(checkpoint);
    network_open(&forced->network, &forced->parameters, &options, &err);
    must(&err);
    network_repack(forced->network, forced->parameters.values);
}

static void take_cases(struct forced *forced)
{
    const struct json_t *cases = doc_member(forced->root, "cases");
    const size_t count = doc_array_count(cases);
    ck_assert(count > 0 && count <= ROWS_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct json_t *one = doc_array_item(cases, i), *teacher = doc_member(one, "teacher");
        const char *image = doc_as_string(doc_member(one, "image"));
        const unsigned r = forced->batch.rows;
        char path[PATH_BYTES];
        if (teacher == NULL)
            continue;
        if (image != NULL) {
            snprintf(path, sizeof path, "tests/data/golden/images/%s", image);
            forced->inputs[r] = pair_model_image(&forced->model, path, &forced->arena);
        } else {
            forced->inputs[r] = take_ids(doc_member(one, "ids"), forced->ids[2 * r]);
        }
        forced->targets[r] =
            take_ids(doc_member(teacher, "decoder_input_ids"), forced->ids[2 * r + 1]);
        forced->input_at[r] = &forced->inputs[r];
        forced->target_at[r] = &forced->targets[r];
        forced->teachers[r] = teacher;
        forced->tokens += forced->targets[r].tokens;
        forced->batch.rows++;
    }
    ck_assert_uint_gt(forced->batch.rows, 0);
    forced->batch.inputs = forced->input_at;
    forced->batch.targets = forced->target_at;
}

static void forced_open(struct forced *forced, const char *name)
{
    char dir[PATH_BYTES], path[PATH_BYTES];
    struct err err = {0};
    *forced = (struct forced){0};
    arena_init(&forced->arena);
    snprintf(dir, sizeof dir, "tests/data/golden/%s", name);
    snprintf(path, sizeof path, "tests/data/golden/%s/cases.json", name);
    pair_model_open(&forced->model, dir, "native", "f32", 1);
    doc_parse_file(&forced->root, path, 64 << 20, &err);
    must(&err);
    open_network(forced, dir);
    take_cases(forced);
}

static void forced_close(struct forced *forced)
{
    network_close(forced->network);
    parameters_close(&forced->parameters);
    pair_model_close(&forced->model);
    doc_free(forced->root);
    arena_deinit(&forced->arena);
}

/* Keeps all logits of a batch. */
struct kept {
    float *logits;
    size_t words, tokens;
};

static void keep(void *context, float *logits, size_t first, size_t count)
{
    struct kept *kept = context;
    ck_assert_uint_eq(first, kept->tokens); /* pieces come in order */
    memcpy(kept->logits + first * kept->words, logits, count * kept->words * sizeof *logits);
    kept->tokens += count;
}

static double log_probability(const float *logits, size_t words, size_t word)
{
    double top = (double)logits[0], sum = 0;
    for (size_t w = 1; w < words; w++)
        top = fmax(top, (double)logits[w]);
    for (size_t w = 0; w < words; w++)
        sum += exp((double)logits[w] - top);
    return (double)logits[word] - top - log(sum);
}

START_TEST(logits_of_forced_texts_are_transformers)
{
    for (size_t m = 0; m < NAMES; m++) {
        struct forced forced;
        forced_open(&forced, names[m]);
        const size_t words = forced.model.target.vocab_size;
        struct kept kept = {.words = words};
        kept.logits = malloc(forced.tokens * words * sizeof *kept.logits);
        ck_assert_ptr_nonnull(kept.logits);
        network_forward(forced.network, &forced.batch);
        network_words(forced.network, &(struct network_judge){keep, &kept}, false);
        ck_assert_uint_eq(kept.tokens, forced.tokens);
        size_t t = 0;
        for (unsigned r = 0; r < forced.batch.rows; r++)
            for (unsigned i = 0; i < forced.targets[r].tokens; i++, t++) {
                const struct json_t *teacher = forced.teachers[r];
                const double id = number_at(doc_member(teacher, "target_ids"), i);
                const double expected = number_at(doc_member(teacher, "target_logprobs"), i);
                const double got = log_probability(kept.logits + t * words, words, (size_t)id);
                ck_assert_msg(fabs(got - expected) < 1e-4, "%s case %u token %u: %g, not %g",
                              names[m], r, i, got, expected);
            }
        free(kept.logits);
        forced_close(&forced);
    }
}
END_TEST

/* ---- gradients against differences ----
 *
 * The loss is the scalar product of the logits with fixed numbers. Weights are large, so that the
 * gradients of most tensors are of the order of one; bounds are those of test_network.c. */

enum { HIDDEN = 16, LAYERS = 2, VOCAB = 40, SAMPLES = 6, ROWS = 4 };

static const struct choice {
    const char *source, *target; /* an encoder of images with TrOCR; NULL: a pair of texts */
    bool is_gated, is_untied, shares_nothing, is_wide, projects;
} choices[] = {
    {.source = "marian"},
    {.source = "marian", .is_untied = true, .shares_nothing = true},
    {.source = "bart"},
    {.source = "mbart"},
    {.source = "pegasus"},
    {.source = "m2m_100"},
    {.source = "t5"},
    {.source = "t5", .is_gated = true, .is_untied = true, .is_wide = true},
    {.source = "umt5", .is_gated = true},
    {.source = "vit", .target = "learnt", .is_untied = true},
    {.source = "deit", .target = "sines"},
    {.source = "beit", .target = "learnt"},
    {.source = "vit", .target = "learnt", .projects = true},
};
enum { CHOICES = sizeof choices / sizeof *choices };

struct tiny {
    const struct choice *choice;
    struct spec source, target;
    struct parameters parameters;
    struct network *network;
    struct engine_input inputs[ROWS], targets[ROWS];
    const struct engine_input *input_at[ROWS], *target_at[ROWS];
    int32_t ids[TOKENS_MAX];
    float *patches;
    struct network_batch batch;
    float *dlogits; /* [tokens, VOCAB] */
    size_t tokens;  /* of the targets */
    double loss;
};

static void fill_text_spec(struct spec *spec, const struct family *family,
                           const struct choice *choice)
{
    *spec = (struct spec){.family = family,
                          .layers = LAYERS,
                          .heads = 2,
                          .hidden = HIDDEN,
                          .intermediate = 24,
                          .activation = ACTIVATION_GELU,
                          .norm_eps = 1e-6f,
                          .qkv_bias = true,
                          .is_gated = choice->is_gated,
                          .head_width = choice->is_wide ? HIDDEN / 2 + 3 : 0,
                          .vocab_size = VOCAB,
                          .positions = 24,
                          .pad_id = 1};
    if (family->key_buckets != NULL) {
        spec->relative = (struct relative_buckets){
            .count = 8, .distance = 12, .looks_forward = !family->block.is_decoder};
        spec->buckets = 8;
    }
    for (int field = 0; field < TENSOR_FIELDS; field++)
        spec->unbiased[field] = family->is_unbiased;
    spec->embedding_scale = family->key_embedding_scale != NULL ? 1.5f : 0;
}

static void fill_specs(struct tiny *tiny)
{
    const struct choice *choice = tiny->choice;
    const struct family_pair *pair = family_pair_find(choice->source);
    const bool is_image = choice->target != NULL;
    const struct family *target =
        is_image ? family_trocr(strcmp(choice->target, "learnt") == 0) : pair->target;
    const struct family *source = is_image ? family_find(choice->source, NULL) : pair->source;
    fill_text_spec(&tiny->target, target, choice);
    fill_text_spec(&tiny->source, source, choice);
    if (is_image) {
        tiny->source = (struct spec){.family = source,
                                     .layers = LAYERS,
                                     .heads = 4,
                                     .hidden = HIDDEN + 4,
                                     .intermediate = 12,
                                     .activation = ACTIVATION_GELU,
                                     .norm_eps = 1e-6f,
                                     .qkv_bias = true,
                                     .root = "encoder.",
                                     .image_size = {9, 9},
                                     .patch = {3, 3},
                                     .channels = 3,
                                     .patches = 9};
    }
    tiny->source.head = HEAD_STATES;
    tiny->target.head = HEAD_WORDS;
    tiny->target.source = tiny->source.hidden;
    tiny->target.projects_states = choice->projects;
    tiny->target.absent[TENSOR_WORD] = !is_image && !choice->shares_nothing;
    tiny->target.absent[TENSOR_OUTPUT] = !choice->is_untied;
    tiny->source.has_own_words = tiny->target.has_own_words = is_image || choice->shares_nothing;
    tiny->target.output_scale =
        pair != NULL && pair->scales_output && !choice->is_untied ? 0.5f : 0;
}

/* Scores that are not divided need smaller weights, or their softmax has no slope but at edges. */
static void fill_values(struct parameters *parameters)
{
    const float range = parameters->spec.family->block.is_unscaled ? 0.25f : 0.45f;
    for (unsigned p = 0; p < parameters->count; p++) {
        const struct parameter *parameter = &parameters->list[p];
        float *values = parameters->values + parameter->offset;
        numbers_fill(values, parameter->row.count,
                     parameter->row.field == TENSOR_WORD ? 0.45f : range, p + 1);
        for (size_t i = 0; i < parameter->row.count && parameter->row.part == TENSOR_GAMMA; i++)
            values[i] += 1;
    }
}

/* A pad's token stands in a source and first in the targets, as Marian's start does. */
static void fill_rows(struct tiny *tiny)
{
    static const unsigned lengths[2][ROWS] = {{5, 17, 2, 9}, {7, 3, 12, 1}};
    const size_t numbers = 9 * 3 * 9;
    int32_t *next = tiny->ids;
    tiny->patches = numbers_new(ROWS * numbers, 1, 77);
    for (unsigned i = 0; i < TOKENS_MAX; i++)
        tiny->ids[i] = (int32_t)(rng_hash(5, i) % VOCAB);
    for (unsigned r = 0; r < ROWS; r++) {
        tiny->inputs[r] = pair_model_text(next, lengths[0][r]);
        next += lengths[0][r];
        tiny->targets[r] = pair_model_text(next, lengths[1][r]);
        next[0] = r % 2 == 0 ? 1 : next[0];
        next += lengths[1][r];
        if (tiny->choice->target != NULL)
            tiny->inputs[r] = (struct engine_input){.kind = ENGINE_IMAGE,
                                                    .tokens = spec_image_tokens(&tiny->source),
                                                    .patches = tiny->patches + r * numbers};
        tiny->input_at[r] = &tiny->inputs[r];
        tiny->target_at[r] = &tiny->targets[r];
        tiny->tokens += lengths[1][r];
    }
    tiny->ids[2] = 1;
    tiny->batch = (struct network_batch){.inputs = tiny->input_at,
                                         .targets = tiny->target_at,
                                         .rows = ROWS,
                                         .training = true,
                                         .dropout = 99};
}

static const struct network_options plain = {.threads = 1, .tokens_max = 60};

static void tiny_open_network(struct tiny *tiny, const struct network_options *options)
{
    struct err err = {0};
    network_close(tiny->network);
    network_open(&tiny->network, &tiny->parameters, options, &err);
    must(&err);
}

static void tiny_open(struct tiny *tiny, const struct choice *choice,
                      const struct network_options *options)
{
    struct err err = {0};
    *tiny = (struct tiny){.choice = choice};
    fill_specs(tiny);
    parameters_open_pair(&tiny->parameters, &tiny->source, &tiny->target, &err);
    must(&err);
    fill_values(&tiny->parameters);
    fill_rows(tiny);
    tiny->dlogits = numbers_new(tiny->tokens * VOCAB, 1, 3);
    tiny_open_network(tiny, options);
}

static void tiny_close(struct tiny *tiny)
{
    network_close(tiny->network);
    parameters_close(&tiny->parameters);
    free(tiny->patches);
    free(tiny->dlogits);
}

static void judge(void *context, float *logits, size_t first, size_t count)
{
    struct tiny *tiny = context;
    const float *dlogits = tiny->dlogits + first * VOCAB;
    for (size_t i = 0; i < count * VOCAB; i++) {
        tiny->loss += (double)dlogits[i] * (double)logits[i];
        logits[i] = dlogits[i];
    }
}

static double loss_of(struct tiny *tiny, bool learns)
{
    tiny->loss = 0;
    network_repack(tiny->network, tiny->parameters.values);
    network_forward(tiny->network, &tiny->batch);
    network_words(tiny->network, &(struct network_judge){judge, tiny}, learns);
    return tiny->loss;
}

static float *gradient_of(struct tiny *tiny)
{
    loss_of(tiny, true);
    network_backward(tiny->network, NULL, 0);
    return network_gradient(tiny->network);
}

static float *copy_gradient(struct tiny *tiny)
{
    const size_t bytes = tiny->parameters.numbers * sizeof(float);
    float *copy = malloc(bytes);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, gradient_of(tiny), bytes);
    return copy;
}

/* (f(x + h) - f(x - h)) / 2 h with two steps, extrapolated (Richardson). The slope changes within a
 * longer step where embeddings are normalised for the first time in a block. */
static double difference(struct tiny *tiny, float *value)
{
    const float kept = *value;
    const float step = tiny->target.family->block.has_rms_norms ? 0.01f : 0.04f;
    const float steps[2] = {step, step / 2};
    double slope[2];
    for (int i = 0; i < 2; i++) {
        *value = kept + steps[i];
        double above = loss_of(tiny, false), width = *value;
        *value = kept - steps[i];
        width -= *value;
        slope[i] = (above - loss_of(tiny, false)) / width;
    }
    *value = kept;
    return (4 * slope[1] - slope[0]) / 3;
}

static double root_mean_square(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum / (double)n);
}

/* Some numbers of a tensor, its largest gradient among them; never the pad's word, whose slope is
 * of lookups too. */
static size_t sample(const struct tiny *tiny, const struct parameter *parameter,
                     const float *gradient, unsigned s)
{
    const size_t count = parameter->row.count;
    const bool has_pad = parameter->row.field == TENSOR_WORD && tiny->target.family->pads_words;
    size_t best = 0;
    for (size_t i = 0; i < count && s == 0; i++)
        if (fabs((double)gradient[i]) > fabs((double)gradient[best]))
            best = i;
    if (s > 0)
        best = rng_hash((uint32_t)parameter->offset, s) % count;
    return has_pad && best / HIDDEN == 1 ? best + HIDDEN : best;
}

static void check_tensor(struct tiny *tiny, const struct parameter *parameter, const float *all)
{
    const float *gradient = all + parameter->offset;
    const double size = root_mean_square(gradient, parameter->row.count);
    const bool is_key =
        parameter->row.field == TENSOR_KEY || parameter->row.field == TENSOR_CROSS_KEY;
    if (parameter->is_constant) {
        ck_assert_double_eq(size, 0);
        return;
    }
    if (!is_key || parameter->row.part != TENSOR_BIAS) /* softmax takes a key's bias away */
        ck_assert_msg(size > 2e-3, "%s: no gradient", parameter->row.name);
    for (unsigned s = 0; s < SAMPLES; s++) {
        const size_t i = sample(tiny, parameter, gradient, s);
        const double got = (double)gradient[i];
        const double expected = difference(tiny, tiny->parameters.values + parameter->offset + i);
        ck_assert_msg(fabs(got - expected) < 1e-3 + 1e-3 * fmax(size, fabs(expected)),
                      "%s %s[%zu]: %g, by differences %g", tiny->source.family->name,
                      parameter->row.name, i, got, expected);
    }
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

START_TEST(gradients_of_pairs_are_the_slopes_of_the_loss)
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
    return options;
}

START_TEST(gradients_of_pairs_are_the_slopes_with_dropout)
{
    const struct network_options options = dropping();
    for (int i = 0; i < CHOICES; i++)
        check_gradients(&choices[i], &options);
}
END_TEST

START_TEST(gradients_of_pairs_are_the_same_bits_for_any_pool)
{
    for (int i = 0; i < 2 * CHOICES; i++) {
        struct tiny tiny;
        struct network_options options = dropping();
        options.precision = i < CHOICES ? PRECISION_F32 : PRECISION_BF16;
        tiny_open(&tiny, &choices[i % CHOICES], &options);
        float *alone = copy_gradient(&tiny);
        for (options.threads = 2; options.threads <= 3; options.threads++) {
            tiny_open_network(&tiny, &options);
            ck_assert_mem_eq(gradient_of(&tiny), alone, tiny.parameters.numbers * sizeof *alone);
        }
        free(alone);
        tiny_close(&tiny);
    }
}
END_TEST

/* Lookups of the pad's word do not teach it; a tied output does. */
START_TEST(a_pads_word_learns_from_the_output_alone)
{
    for (int i = 0; i < CHOICES; i++) {
        struct tiny tiny;
        if (choices[i].target != NULL)
            continue;
        tiny_open(&tiny, &choices[i], &plain);
        const bool is_padded = tiny.source.family->pads_words;
        const float *words = gradient_of(&tiny) + tiny.parameters.map.word;
        double size = root_mean_square(words + HIDDEN, HIDDEN);
        if (is_padded && choices[i].is_untied)
            ck_assert_double_eq(size, 0);
        else
            ck_assert_double_gt(size, 0);
        tiny_close(&tiny);
    }
}
END_TEST

SUITE("network_pair", logits_of_forced_texts_are_transformers,
      gradients_of_pairs_are_the_slopes_of_the_loss, gradients_of_pairs_are_the_slopes_with_dropout,
      gradients_of_pairs_are_the_same_bits_for_any_pool, a_pads_word_learns_from_the_output_alone)
