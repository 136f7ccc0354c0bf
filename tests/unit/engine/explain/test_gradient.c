/* The gradient of a logit by the last layer's attention against central differences of a plain
 * forward pass from that attention on, in double, on checkpoints of every family. */
#include "engine/base/thread_pool.h"
#include "engine/engine.h"
#include "engine/explain/attention_map.h"
#include "engine/explain/gradient.h"
#include "engine/format/checkpoint.h"
#include "engine/model/embed.h"
#include "engine/model/encoder.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/data/golden/"

enum { TOKENS = 9, WIDEST = 512 };

static const char *const models[] = {"bert-3",
                                     "bert-4",
                                     "distilbert-0",
                                     "vit-0",
                                     "vit-1",
                                     "deit-1",
                                     "dinov2-0",
                                     "dinov2-1",
                                     "dinov2-with-registers-0",
                                     "beit-0",
                                     "clip-0",
                                     "../encoders/roberta-1",
                                     "../encoders/electra-0",
                                     "../encoders/albert-0",
                                     "../encoders/mpnet-0",
                                     "../encoders/deberta-v2-0",
                                     "../encoders/modernbert-1",
                                     "../encoders/modernbert-2",
                                     "../encoders/longformer-0"};
enum { MODELS = sizeof models / sizeof *models };

/* A model whose encoder has run over one input, with its capture. */
struct fixture {
    struct arena arena;
    struct spec spec;
    struct weights weights;
    struct thread_pool *pool;
    struct workspace workspace;
    struct capture capture;
    unsigned tokens;
};

static void make_input(struct fixture *fixture, struct engine_input *input)
{
    const struct spec *spec = &fixture->spec;
    *input = (struct engine_input){.kind = spec->family->kind, .tokens = TOKENS};
    if (input->kind == ENGINE_TEXT) {
        static const int32_t ids[TOKENS] = {2, 11, 17, 5, 29, 31, 8, 13, 3};
        input->ids = ids;
        return;
    }
    size_t numbers = spec->patches * spec->channels * extent_area(spec->patch);
    float *patches = arena_alloc(&fixture->arena, numbers * sizeof *patches);
    numbers_fill(patches, numbers, 1, 5);
    input->patches = patches;
    input->tokens = spec_image_tokens(spec);
}

/* A zero-shot model gets three labels, as embeddings. */
static void set_labels(struct fixture *fixture)
{
    enum { COUNT = 3 };
    struct err err = {0};
    struct linear *classifier = &fixture->weights.classifier;
    float rows[COUNT * WIDEST];
    size_t width = fixture->spec.projection;
    numbers_fill(rows, COUNT * width, 1, 7);
    fixture->spec.label_count = COUNT;
    ck_assert(!linear_alloc(classifier, &linear_native[PRECISION_F32], width, COUNT, &err));
    linear_fill(classifier, 0, COUNT, rows);
}

static void setup(struct fixture *fixture, const char *name)
{
    char dir[128];
    struct err err = {0};
    struct checkpoint *checkpoint;
    struct engine_input input;
    *fixture = (struct fixture){0};
    arena_init(&fixture->arena);
    snprintf(dir, sizeof dir, GOLDEN "%s", name);
    spec_read(&fixture->spec, dir, &fixture->arena, &err);
    checkpoint_open(&checkpoint, dir, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    const struct linear_backend *native = &linear_native[PRECISION_F32];
    weights_open(&fixture->weights, &fixture->spec, checkpoint, native, native, 1, &err);
    checkpoint_close(checkpoint);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    if (fixture->spec.family->is_zero_shot)
        set_labels(fixture);
    make_input(fixture, &input);
    struct workspace *w = &fixture->workspace;
    ck_assert(!thread_pool_open(&fixture->pool, 2, &err));
    ck_assert(!workspace_open(w, &fixture->spec, native, input.tokens, fixture->pool,
                              kernels_best(), &err));
    ck_assert(!capture_open(&fixture->capture, &fixture->spec, input.tokens,
                            &(struct capture_wish){.to = fixture->spec.layers - 1}, &fixture->arena,
                            &err));
    w->captures[0] = &fixture->capture;
    w->captured = true;
    w->rows = 1;
    w->offset[0] = 0;
    w->offset[1] = fixture->tokens = input.tokens;
    embed(&fixture->spec, &fixture->weights, w, &input, 0);
    encoder_run(&fixture->spec, &fixture->weights, w);
}

static void drop(struct fixture *fixture)
{
    workspace_close(&fixture->workspace);
    thread_pool_close(fixture->pool);
    weights_close(&fixture->weights, &fixture->spec);
    arena_deinit(&fixture->arena);
}

/* ---- the oracle: from the attention of one token to its logit, in double ---- */

/* y = W x (+ b) */
static void multiply(const struct linear *linear, double *y, const double *x, bool biased)
{
    float column[WIDEST];
    ck_assert_uint_le(linear->in, WIDEST);
    for (size_t c = 0; c < linear->out; c++) {
        linear->backend->unpack(linear, c, column);
        y[c] = biased ? (double)linear->bias[c] : 0;
        for (size_t k = 0; k < linear->in; k++)
            y[c] += (double)column[k] * x[k];
    }
}

static void normalise(const struct norm *norm, double *y, const double *x, size_t n, double eps)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++)
        y[i] =
            (x[i] - mean) / sqrt(variance + eps) * (double)norm->gamma[i] + (double)norm->beta[i];
}

static double activate(double x, enum activation act)
{
    switch (act) {
    case ACTIVATION_GELU:
        return x * 0.5 * (1 + erf(x / sqrt(2)));
    case ACTIVATION_GELU_TANH:
        return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case ACTIVATION_TANH:
        return tanh(x);
    case ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case ACTIVATION_QUICK_GELU:
        return x / (1 + exp(-1.702 * x));
    default:
        return x;
    }
}

/* y = W_2 act(W_1 x + b_1) + b_2 + residual, or with a gate in place of act */
static void mlp(const struct fixture *fixture, double *y, const double *x, const double *residual)
{
    const struct layer *layer =
        &fixture->weights.layers[spec_block(&fixture->spec, fixture->spec.layers - 1)];
    double inner[WIDEST];
    multiply(&layer->mlp_in, inner, x, true);
    for (size_t c = 0; c < fixture->spec.intermediate; c++)
        if (fixture->spec.is_gated)
            inner[c] = activate(inner[c], spec_gate(&fixture->spec)) *
                       inner[fixture->spec.intermediate + c];
        else
            inner[c] = activate(inner[c], fixture->spec.activation);
    multiply(&layer->mlp_out, y, inner, true);
    for (size_t c = 0; c < fixture->spec.hidden; c++)
        y[c] += residual[c];
}

/* Number c of token j's value, of a token that sees all by its own projection. */
static double value_of(const struct fixture *fixture, size_t j, size_t c)
{
    const struct spec *spec = &fixture->spec;
    const struct capture *capture = &fixture->capture;
    const struct plain_linear *value = &fixture->weights.layers[spec->layers - 1].global.value;
    if (capture->states == NULL)
        return (double)capture->projected[(3 * j + 2) * spec->hidden + c];
    double sum = (double)value->bias[c];
    for (size_t i = 0; i < spec->hidden; i++)
        sum += (double)value->weight[c * spec->hidden + i] *
               (double)capture->states[j * spec->hidden + i];
    return sum;
}

/* The attention's sum when the probabilities of head h move by `delta` at token j. */
static void attention_sum(const struct fixture *fixture, unsigned token, size_t h, size_t j,
                          double delta, double *sum)
{
    const struct spec *spec = &fixture->spec;
    size_t hidden = spec->hidden, width = hidden / spec->heads;
    double moved[WIDEST] = {0}, out[WIDEST];
    for (size_t c = h * width; c < (h + 1) * width; c++)
        moved[c] = delta * value_of(fixture, j, c);
    multiply(&fixture->weights.layers[spec_block(spec, spec->layers - 1)].attention_out, out, moved,
             false);
    for (size_t c = 0; c < hidden; c++)
        sum[c] = (double)fixture->capture.sums[CAPTURE_ATTENTION][token * hidden + c] + out[c];
}

/* Features that the pooling makes of the token's last hidden state, all other states being zero. */
static void pooled(const struct fixture *fixture, unsigned token, double *features)
{
    const struct spec *spec = &fixture->spec;
    double from[WIDEST];
    size_t hidden = spec->hidden;
    memcpy(from, features, hidden * sizeof *from);
    for (size_t c = 0; c < 2 * hidden; c++)
        features[c] = 0;
    for (size_t c = 0; c < hidden && token == 0; c++)
        features[c] = from[c];
    for (size_t c = 0; c < hidden && token >= spec_image_specials(spec); c++)
        features[hidden + c] = from[c] / spec->patches;
}

/* The mean of the patches, the token's own hidden state being `last`, after the norm behind it. */
static void pooled_and_normed(const struct fixture *fixture, unsigned token, const double *last,
                              double *features)
{
    const struct spec *spec = &fixture->spec;
    const float *sums = fixture->capture.sums[CAPTURE_MLP];
    double mean[WIDEST] = {0};
    size_t hidden = spec->hidden;
    for (size_t t = spec_image_specials(spec); t < fixture->tokens; t++)
        for (size_t c = 0; c < hidden; c++)
            mean[c] += (t == token ? last[c] : (double)sums[t * hidden + c]) / spec->patches;
    normalise(&fixture->weights.pooled_norm, features, mean, hidden, spec->norm_eps);
}

/* features = the unit vector of their projection. */
static void projected(const struct fixture *fixture, double *features)
{
    double z[WIDEST], squares = 0;
    multiply(&fixture->weights.projection, z, features, false);
    for (size_t p = 0; p < fixture->spec.projection; p++)
        squares += z[p] * z[p];
    for (size_t p = 0; p < fixture->spec.projection; p++)
        features[p] = z[p] / sqrt(squares);
}

/* The mean of all tokens behind the last norm, the token's own hidden state being `last`. */
static void mean_of_tokens(const struct fixture *fixture, unsigned token, const double *last,
                           double *features)
{
    const float *sums = fixture->capture.sums[CAPTURE_MLP];
    size_t hidden = fixture->spec.hidden;
    double from[WIDEST] = {0}, normed[WIDEST];
    for (size_t c = 0; c < hidden; c++)
        features[c] = 0;
    for (size_t t = 0; t < fixture->tokens; t++) {
        for (size_t c = 0; c < hidden; c++)
            from[c] = t == token ? last[c] : (double)sums[t * hidden + c];
        normalise(&fixture->weights.final_norm, normed, from, hidden, fixture->spec.norm_eps);
        for (size_t c = 0; c < hidden; c++)
            features[c] += normed[c] / fixture->tokens;
    }
}

static double logit_of(const struct fixture *fixture, unsigned token, unsigned label, size_t h,
                       size_t j, double delta)
{
    const struct spec *spec = &fixture->spec;
    const struct weights *weights = &fixture->weights;
    const struct layer *layer = &weights->layers[spec_block(spec, spec->layers - 1)];
    double sum[WIDEST], normed[WIDEST], last[WIDEST], features[WIDEST], logits[WIDEST];
    attention_sum(fixture, token, h, j, delta, sum);
    if (spec->family->block.norm == NORM_AFTER) {
        normalise(&layer->attention_norm, normed, sum, spec->hidden, spec->norm_eps);
        mlp(fixture, last, normed, normed);
        normalise(&layer->mlp_norm, features, last, spec->hidden, spec->norm_eps);
    } else {
        normalise(&layer->mlp_norm, normed, sum, spec->hidden, spec->norm_eps);
        mlp(fixture, last, normed, sum);
        if (weights->final_norm.gamma != NULL)
            normalise(&weights->final_norm, features, last, spec->hidden, spec->norm_eps);
    }
    if (spec_pooling(spec) == POOLING_TOKENS)
        mean_of_tokens(fixture, token, last, features);
    if (spec->family->tensors[TENSOR_POOLER] != NULL) {
        multiply(&weights->pooler, normed, features, true);
        for (size_t c = 0; c < spec->hidden; c++)
            features[c] = activate(normed[c], spec_pooler_activation(spec));
    }
    if (spec->projection > 0)
        projected(fixture, features);
    if (weights->head_norm.gamma != NULL) {
        memcpy(normed, features, sizeof normed);
        normalise(&weights->head_norm, features, normed, spec->hidden, spec->norm_eps);
    }
    if (spec_pooling(spec) == POOLING_FIRST_AND_PATCHES)
        pooled(fixture, token, features);
    if (spec_pooling(spec) == POOLING_PATCHES)
        pooled_and_normed(fixture, token, last, features);
    multiply(token == 0 || spec_head_reads_all(spec) ? &weights->classifier
                                                     : &weights->distillation_classifier,
             logits, features, true);
    return logits[label] / spec_head_tokens(spec);
}

static double largest_of(const float *x, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)x[i]));
    return largest;
}

/* The tokens to look at: those that the head reads or, of all, [CLS] if it is one of them, and some
 * patches. */
static unsigned tokens_of(const struct spec *spec, unsigned tokens[3])
{
    const unsigned first = spec_pooling(spec) == POOLING_PATCHES ? 5 : 0;
    const unsigned patches[] = {first, spec_image_specials(spec), spec_image_tokens(spec) - 1};
    static const unsigned of_text[] = {0, 4, TOKENS - 1};
    const unsigned *all = spec->family->kind == ENGINE_TEXT ? of_text : patches;
    for (unsigned i = 0; i < 3; i++)
        tokens[i] = spec_head_reads_all(spec) ? all[i] : i;
    return spec_head_reads_all(spec) ? 3 : spec_head_tokens(spec);
}

static void check_model(const char *name)
{
    struct fixture fixture;
    struct err err = {0};
    setup(&fixture, name);
    const struct spec *spec = &fixture.spec;
    size_t n = fixture.tokens;
    float *gradient = arena_alloc(&fixture.arena, spec->heads * n * sizeof *gradient);
    unsigned label = spec->label_count - 1, tokens[3], count = tokens_of(spec, tokens);
    for (unsigned k = 0; k < count; k++) {
        unsigned token = tokens[k];
        ck_assert(!gradient_of_attention(spec, &fixture.weights, &fixture.capture, label, token,
                                         &fixture.arena, gradient, &err));
        double largest = largest_of(gradient, spec->heads * n);
        ck_assert_double_gt(largest, 0);
        for (size_t i = 0; i < spec->heads * n; i += 1 + n / 7) {
            double step = 1e-4, found = gradient[i];
            double difference = (logit_of(&fixture, token, label, i / n, i % n, step) -
                                 logit_of(&fixture, token, label, i / n, i % n, -step)) /
                                (2 * step);
            ck_assert_msg(fabs(found - difference) < 1e-4 * largest,
                          "%s, token %u, head %zu, key %zu: %g, differences %g", name, token, i / n,
                          i % n, found, difference);
        }
    }
    drop(&fixture);
}

START_TEST(gradient_of_attention_agrees_with_differences)
{
    for (size_t i = 0; i < MODELS; i++)
        check_model(models[i]);
}
END_TEST

static void expect_distribution(const float *relevance, size_t n, const char *what)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++) {
        ck_assert_msg(relevance[j] >= 0, "%s: %g", what, (double)relevance[j]);
        sum += (double)relevance[j];
    }
    ck_assert_msg(fabs(sum - 1) < 1e-5, "%s sums to %g", what, sum);
}

/* [heads][N] of one token in the last layer. */
static const float *attention_of(struct fixture *fixture, unsigned token)
{
    const struct spec *spec = &fixture->spec;
    size_t n = fixture->tokens, hidden = spec->hidden, width = hidden / spec->heads;
    if (!spec_head_reads_all(spec))
        return fixture->capture.last + token * spec->heads * n;
    const struct attention_bias *bias = &fixture->weights.layers[spec->layers - 1].bias;
    float *out = arena_alloc(&fixture->arena, spec->heads * n * sizeof *out);
    for (size_t h = 0; h < spec->heads; h++) {
        const float *q = fixture->capture.projected + token * 3 * hidden + h * width;
        for (size_t j = 0; j < n; j++) {
            const float *k = fixture->capture.projected + (3 * j + 1) * hidden + h * width;
            double sum = 0;
            for (size_t c = 0; c < width; c++)
                sum += (double)q[c] * (double)k[c];
            out[h * n + j] = (float)(sum / sqrt((double)width));
            if (bias->at != NULL)
                out[h * n + j] += attention_bias_key(bias, j)[h * bias->head_step + token];
        }
        kernels_reference.softmax(out + h * n, out + h * n, n);
    }
    return out;
}

/* The mean over heads of max(0, gradient x attention), over the tokens that the head reads; sums to
 * one. */
static void expected_last(struct fixture *fixture, unsigned label, double *expected)
{
    const struct spec *spec = &fixture->spec;
    struct err err = {0};
    size_t n = fixture->tokens;
    double total = 0;
    float *gradient = arena_alloc(&fixture->arena, (spec->heads * n + 1) * sizeof *gradient);
    gradient[spec->heads * n] = 123;
    for (size_t j = 0; j < n; j++)
        expected[j] = 0;
    for (unsigned token = 0; token < spec_kept_tokens(spec, fixture->tokens); token++) {
        const float *attention = attention_of(fixture, token);
        ck_assert(!gradient_of_attention(spec, &fixture->weights, &fixture->capture, label, token,
                                         &fixture->arena, gradient, &err));
        for (size_t h = 0; h < spec->heads; h++)
            for (size_t j = 0; j < n; j++)
                expected[j] += fmax(0, (double)gradient[h * n + j] * (double)attention[h * n + j]);
    }
    ck_assert_float_eq(gradient[spec->heads * n], 123);
    for (size_t j = 0; j < n; j++)
        total += expected[j];
    for (size_t j = 0; j < n; j++)
        expected[j] /= total;
}

/* gradient_map is what gradient_map_last gives, carried down. */
static void check_last(struct fixture *fixture, unsigned label, const float *carried)
{
    struct err err = {0};
    size_t n = fixture->tokens;
    float *last = arena_alloc(&fixture->arena, 2 * n * sizeof *last);
    for (size_t j = 0; j < n; j++)
        last[j] = 50;
    ck_assert(!gradient_map_last(&fixture->spec, &fixture->weights, &fixture->capture, label,
                                 &fixture->arena, last, &err));
    expect_distribution(last, n, "gradient-last");
    double *expected = arena_alloc(&fixture->arena, n * sizeof *expected);
    expected_last(fixture, label, expected);
    for (size_t j = 0; j < n; j++)
        ck_assert_double_eq_tol((double)last[j], expected[j], 1e-5);
    attention_map_down(&fixture->spec, &fixture->capture, last, last + n);
    for (size_t j = 0; j < n; j++)
        ck_assert_float_eq_tol(last[j], carried[j], 1e-6f);
}

static void check_maps(const char *name)
{
    struct fixture fixture;
    struct err err = {0};
    setup(&fixture, name);
    size_t n = fixture.tokens;
    float *relevance = arena_alloc(&fixture.arena, 2 * n * sizeof *relevance);
    attention_map_rollout(&fixture.spec, &fixture.capture, fixture.spec.layers, relevance,
                          relevance + n);
    expect_distribution(relevance, n, "rollout");
    attention_map_layer(&fixture.spec, &fixture.capture, fixture.spec.layers, relevance);
    expect_distribution(relevance, n, "attention");
    for (unsigned label = 0; label < fixture.spec.label_count; label++) {
        ck_assert(!gradient_map(&fixture.spec, &fixture.weights, &fixture.capture, label,
                                &fixture.arena, relevance, &err));
        expect_distribution(relevance, n, "gradient");
        check_last(&fixture, label, relevance);
    }
    drop(&fixture);
}

START_TEST(every_map_is_a_distribution_over_the_tokens)
{
    for (size_t i = 0; i < MODELS; i++)
        check_maps(models[i]);
}
END_TEST

/* A classifier of zeros speaks for no class: the attention itself is the answer. The earlier
 * numbers in the result are forgotten. */
START_TEST(gradient_map_of_a_zero_gradient_is_the_attention_of_the_last_layer)
{
    static const float zeros[WIDEST * WIDEST];
    struct fixture fixture;
    struct err err = {0};
    setup(&fixture, "bert-3");
    size_t n = fixture.tokens;
    float *found = arena_alloc(&fixture.arena, 3 * n * sizeof *found), *expected = found + n;
    linear_fill(&fixture.weights.classifier, 0, fixture.spec.label_count, zeros);
    for (size_t j = 0; j < n; j++)
        found[j] = 50;
    ck_assert(!gradient_map_last(&fixture.spec, &fixture.weights, &fixture.capture, 0,
                                 &fixture.arena, found, &err));
    attention_map_layer(&fixture.spec, &fixture.capture, fixture.spec.layers, expected);
    expect_distribution(found, n, "without a gradient");
    ck_assert(memcmp(found, expected, n * sizeof *found) == 0);
    ck_assert(!gradient_map(&fixture.spec, &fixture.weights, &fixture.capture, 0, &fixture.arena,
                            found, &err));
    attention_map_down(&fixture.spec, &fixture.capture, expected, expected + n);
    ck_assert(memcmp(found, expected, n * sizeof *found) == 0);
    drop(&fixture);
}
END_TEST

SUITE("gradient", gradient_map_of_a_zero_gradient_is_the_attention_of_the_last_layer,
      gradient_of_attention_agrees_with_differences, every_map_is_a_distribution_over_the_tokens)
