#include "engine/train/mimetic.h"

#include "engine/base/rng.h"
#include "engine/train/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float query_key_identity = 0.7f, query_key_noise = 0.7f;
static const float value_out_identity = -0.4f, value_out_noise = 0.4f;
static const float position_scale = 0.5f; /* of sines and cosines */

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* `rows` random orthonormal rows of `width` numbers, rows <= width, by Gram and Schmidt. */
static void random_rotation(float *q, size_t rows, size_t width, struct rng *rng)
{
    for (size_t r = 0; r < rows; r++) {
        float *row = q + r * width;
        for (size_t i = 0; i < width; i++)
            row[i] = rng_normal(rng);
        for (size_t pass = 0; pass < 2; pass++) /* the second removes the first one's rounding */
            for (size_t p = 0; p < r; p++) {
                float share = (float)dot(row, q + p * width, width);
                for (size_t i = 0; i < width; i++)
                    row[i] -= share * q[p * width + i];
            }
        float scale = (float)(1 / sqrt(dot(row, row, width)));
        for (size_t i = 0; i < width; i++)
            row[i] *= scale;
    }
}

/* m [width, width] = identity I + noise Z. */
static void noisy_identity(float *m, size_t width, float identity, float noise, struct rng *rng)
{
    float deviation = noise / sqrtf((float)width);
    for (size_t i = 0; i < width * width; i++)
        m[i] = deviation * rng_normal(rng) + (i % (width + 1) == 0 ? identity : 0);
}

/* out [rows, width] = a [rows, width] m [width, width]; small and once: plain loops. */
static void multiply(float *out, const float *a, const float *m, size_t rows, size_t width)
{
    memset(out, 0, rows * width * sizeof *out);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < width; k++)
            for (size_t c = 0; c < width; c++)
                out[r * width + c] += a[r * width + k] * m[k * width + c];
}

/* W_q = R and W_k = R M with R [d, D] orthonormal: W_q^T W_k = R^T R M. */
static void init_query_key(float *query, float *key, size_t heads, size_t width, float *m,
                           struct rng *rng)
{
    size_t d = width / heads;
    for (size_t h = 0; h < heads; h++) {
        noisy_identity(m, width, query_key_identity, query_key_noise, rng);
        random_rotation(query + h * d * width, d, width, rng);
        multiply(key + h * d * width, query + h * d * width, m, d, width);
    }
}

/* W_v = R and W_o = M R^T with R [D, D] orthonormal: W_o W_v = M. W_o^T = R M^T is made and turned.
 */
static void init_value_out(float *value, float *out, size_t width, float *m, float *turned,
                           struct rng *rng)
{
    noisy_identity(m, width, value_out_identity, value_out_noise, rng);
    random_rotation(value, width, width, rng);
    multiply(turned, value, m, width, width);
    for (size_t r = 0; r < width; r++)
        for (size_t c = 0; c < width; c++)
            out[r * width + c] = turned[c * width + r];
}

/* A quarter of the numbers each: sine and cosine of the row, of the column. */
static void init_positions(float *positions, const struct spec *spec)
{
    size_t width = spec->hidden, quarter = width / 4, across = spec->image_size / spec->patch;
    float *first = positions + spec->family->image_specials * width;
    for (size_t p = 0; p < across * across; p++)
        for (size_t i = 0; i < quarter; i++) {
            double pace = pow(10000, -(double)i / (double)quarter);
            double row = (double)(p / across) * pace, column = (double)(p % across) * pace;
            float *at = first + p * width + i;
            at[0] = position_scale * (float)sin(column);
            at[quarter] = position_scale * (float)cos(column);
            at[2 * quarter] = position_scale * (float)sin(row);
            at[3 * quarter] = position_scale * (float)cos(row);
        }
}

enum err_code mimetic_init(struct parameters *parameters, uint64_t seed, struct err *err)
{
    const struct spec *spec = &parameters->spec;
    size_t width = spec->hidden;
    float *m = calloc(2 * width * width, sizeof *m);
    if (m == NULL)
        return err_no_memory(err, 2 * width * width * sizeof *m);
    for (unsigned i = 0; i < spec->layers; i++) {
        const struct parameters_layer *layer = &parameters->map.layers[i];
        float *qkv = parameters->values + layer->qkv_weight;
        struct rng rng = rng_for(seed, PLACE_INIT, i + 1);
        init_query_key(qkv, qkv + width * width, spec->heads, width, m, &rng);
        init_value_out(qkv + 2 * width * width, parameters->values + layer->out_weight, width, m,
                       m + width * width, &rng);
    }
    init_positions(parameters->values + parameters->map.position, spec);
    free(m);
    return ERR_OK;
}
