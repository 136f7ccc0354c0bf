/* sentence_pooling.c - see sentence_pooling.h. Columns are summed in blocks whose sums in double
 * fit into the caches and the stack, so that the pooling needs no scratch. */
#include "engine/model/sentence_pooling.h"

#include "engine/tensor/dot.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 64 };

/* ---- pooling ---- */

/* sums[c] <- sum over the tokens of x[t][column + c], each times t + 1 if they are weighted. */
static void sum_block(double sums[BLOCK], const struct sentence_tokens *tokens, size_t column,
                      size_t count, bool is_weighted)
{
    for (size_t c = 0; c < count; c++)
        sums[c] = 0;
    for (size_t t = tokens->first; t < tokens->end; t++) {
        const float *x = tokens->x + t * tokens->stride + column;
        const double weight = is_weighted ? (double)(t + 1) : 1;
        for (size_t c = 0; c < count; c++)
            sums[c] += weight * (double)x[c];
    }
}

/* out [width] <- the sums over `divisor`. */
static void take_mean(float *out, const struct sentence_tokens *tokens, unsigned width,
                      bool is_weighted, double divisor)
{
    for (size_t column = 0; column < width; column += BLOCK) {
        const size_t count = width - column < BLOCK ? width - column : BLOCK;
        double sums[BLOCK];
        sum_block(sums, tokens, column, count, is_weighted);
        for (size_t c = 0; c < count; c++)
            out[column + c] = (float)(sums[c] / divisor);
    }
}

static void take_max(float *out, const struct sentence_tokens *tokens, unsigned width)
{
    memcpy(out, tokens->x + tokens->first * tokens->stride, width * sizeof *out);
    for (size_t t = (size_t)tokens->first + 1; t < tokens->end; t++) {
        const float *x = tokens->x + t * tokens->stride;
        for (size_t c = 0; c < width; c++)
            out[c] = x[c] > out[c] || isnan(x[c]) ? x[c] : out[c];
    }
}

static void take_token(float *out, const struct sentence_tokens *tokens, size_t token,
                       unsigned width)
{
    memcpy(out, tokens->x + token * tokens->stride, width * sizeof *out);
}

/* The sum of first + 1, ..., end. */
static double sum_of_weights(const struct sentence_tokens *tokens)
{
    const double first = tokens->first, end = tokens->end;
    return (end * (end + 1) - first * (first + 1)) / 2;
}

static void pool_one(float *out, enum sentence_mode mode, const struct sentence_tokens *tokens,
                     unsigned width)
{
    const double count = tokens->end - tokens->first;
    switch (mode) {
    case SENTENCE_CLS:
        take_token(out, tokens, 0, width);
        return;
    case SENTENCE_MAX:
        take_max(out, tokens, width);
        return;
    case SENTENCE_MEAN:
        take_mean(out, tokens, width, false, count);
        return;
    case SENTENCE_MEAN_SQRT_LENGTH:
        take_mean(out, tokens, width, false, sqrt(count));
        return;
    case SENTENCE_WEIGHTED_MEAN:
        take_mean(out, tokens, width, true, sum_of_weights(tokens));
        return;
    case SENTENCE_LAST_TOKEN:
        take_token(out, tokens, tokens->end - 1, width);
        return;
    case SENTENCE_MODES:
        break;
    }
    assert(false);
}

void sentence_pool(float *out, const struct sentence_pooling *pooling,
                   const struct sentence_tokens *tokens, unsigned width)
{
    assert(tokens->first < tokens->end && tokens->stride >= width);
    for (unsigned i = 0; i < pooling->count; i++)
        pool_one(out + (size_t)i * width, pooling->modes[i], tokens, width);
}

/* ---- Dense and Normalize ---- */

static float activate(float x, enum sentence_activation activation)
{
    switch (activation) {
    case SENTENCE_TANH:
        return tanhf(x);
    case SENTENCE_RELU:
        return x < 0 ? 0 : x; /* NaN stays */
    case SENTENCE_GELU:
        return x / 2 * (1 + erff(x * 0.70710678118654752440f));
    case SENTENCE_SILU:
        return x / (1 + expf(-x));
    case SENTENCE_SIGMOID:
        return 1 / (1 + expf(-x));
    case SENTENCE_IDENTITY:
    case SENTENCE_ACTIVATIONS:
        break;
    }
    return x;
}

void sentence_normalize(float *vector, unsigned width)
{
    static const double eps = 1e-12; /* torch.nn.functional.normalize */
    double squares = 0;
    for (unsigned i = 0; i < width; i++)
        squares += (double)vector[i] * (double)vector[i];
    const double norm = sqrt(squares), divisor = norm < eps ? eps : norm; /* NaN stays */
    for (unsigned i = 0; i < width; i++)
        vector[i] = (float)((double)vector[i] / divisor);
}

/* ---- all of it ---- */

/* Returns the largest width on the way. */
static size_t widest(const struct sentence_modules *modules)
{
    size_t width = (size_t)modules->pooling.count * modules->hidden;
    if (modules->width > width)
        width = modules->width;
    for (unsigned i = 0; i < modules->step_count; i++) {
        const struct sentence_step *step = &modules->steps[i];
        if (step->kind == SENTENCE_DENSE && step->dense.out > width)
            width = step->dense.out;
    }
    return width;
}

size_t sentence_scratch(const struct sentence_modules *modules)
{
    return 2 * widest(modules);
}

/* out <- all steps behind the pooling, of the vector at the beginning of scratch. */
static void run_steps(float *out, const struct sentence_modules *modules, unsigned width,
                      float *scratch)
{
    float *now = scratch, *next = scratch + widest(modules);
    for (unsigned i = 0; i < modules->step_count; i++) {
        const struct sentence_step *step = &modules->steps[i];
        if (step->kind == SENTENCE_NORMALIZE) {
            sentence_normalize(now, width);
            continue;
        }
        /* y [out] <- act(W x + b). */
        const struct sentence_dense *dense = &step->dense;
        assert(dense->weight != NULL);
        for (size_t o = 0; o < dense->out; o++) {
            const float sum = dot(dense->weight + o * dense->in, now, dense->in);
            next[o] = activate(dense->bias != NULL ? sum + dense->bias[o] : sum, dense->activation);
        }
        float *before = now;
        now = next;
        next = before;
        width = step->dense.out;
    }
    memcpy(out, now, width * sizeof *out);
}

void sentence_finish(float *out, const struct sentence_modules *modules, const float *vector,
                     float *scratch)
{
    memcpy(scratch, vector, modules->width * sizeof *vector);
    run_steps(out, modules, modules->width, scratch);
}

void sentence_embed(float *out, const struct sentence_modules *modules,
                    const struct sentence_tokens *tokens, float *scratch)
{
    sentence_pool(scratch, &modules->pooling, tokens, modules->hidden);
    run_steps(out, modules, modules->pooling.count * modules->hidden, scratch);
}
