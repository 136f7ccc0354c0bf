#include "learn/train/network/structured.h"

#include "engine/base/rng.h"
#include "learn/train/network/rng_streams.h"

#include <math.h>
#include <string.h>

enum { OFFSETS = 5 };

static const double pi = 3.14159265358979323846;
static const float deviation_init = 0.02f; /* of parameters_init */
static const float deviation_head = 0.02f; /* noise on the structure of queries and keys */
static const float deviation_cls = 0.3f;
static const float scale_out = 0.5f,
                   scale_mlp_in = 0.7f;      /* small additions to the residual stream */
static const float scale_patch_place = 0.1f; /* of the patch weights of the position's channels */
static const double peak_logit = 8;

/* D, d, the number of frequencies of one axis, d / 4, and the patches of an image. */
struct shape {
    size_t width, head, quarter;
    struct extent grid;
};

static struct shape shape_of(const struct parameters *parameters)
{
    const struct spec *spec = &parameters->spec;
    size_t head = spec->hidden / spec->heads;
    return (struct shape){spec->hidden, head, head / 4,
                          extent_parts(spec->image_size, spec->patch)};
}

/* Angle of one step along an axis. The lowest frequency has half a period over the image; the
 * highest still distinguishes single steps. */
static double pace(const struct shape *shape, size_t i)
{
    const unsigned longer =
        shape->grid.height > shape->grid.width ? shape->grid.height : shape->grid.width;
    double steps = fmax((double)shape->quarter, longer / 2.0);
    return pi * ((double)i + 0.5) / steps;
}

static void scale(float *x, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void init_positions(float *positions, const struct spec *spec, const struct shape *shape)
{
    size_t q = shape->quarter, specials = spec->family->image_specials;
    memset(positions, 0, specials * shape->width * sizeof *positions);
    for (size_t p = 0; p < spec->patches; p++) {
        float *at = positions + (specials + p) * shape->width;
        double row = (double)(p / shape->grid.width), column = (double)(p % shape->grid.width);
        for (size_t i = 0; i < q; i++) {
            at[i] = (float)sin(row * pace(shape, i));
            at[q + i] = (float)cos(row * pace(shape, i));
            at[2 * q + i] = (float)sin(column * pace(shape, i));
            at[3 * q + i] = (float)cos(column * pace(shape, i));
        }
    }
}

/* Makes W_q of one head rotate the position's angles by (y, x) steps. */
static void add_turn(float *query, const struct shape *shape, const int offset[2])
{
    size_t q = shape->quarter, width = shape->width;
    for (size_t axis = 0; axis < 2; axis++)
        for (size_t i = 0; i < q; i++) {
            size_t s = 2 * axis * q + i, c = s + q;
            float cosine = (float)cos(pace(shape, i) * offset[axis]);
            float sine = (float)sin(pace(shape, i) * offset[axis]);
            query[s * width + s] += cosine;
            query[s * width + c] += sine;
            query[c * width + s] -= sine;
            query[c * width + c] += cosine;
        }
}

static void init_block(struct parameters *parameters, const struct shape *shape, unsigned layer)
{
    const struct parameters_layer *map = &parameters->map.layers[layer];
    float *values = parameters->values;
    size_t intermediate = parameters->spec.intermediate;
    scale(values + map->out_weight, shape->width * shape->width, scale_out);
    scale(values + map->mlp_in_weight, shape->width * intermediate, scale_mlp_in);
    scale(values + map->mlp_out_weight, shape->width * intermediate, scale_out);
    memset(values + map->out_weight, 0, shape->head * shape->width * sizeof *values);
    memset(values + map->mlp_out_weight, 0, shape->head * intermediate * sizeof *values);
    static const int offsets[2][OFFSETS][2] = {{{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {0, 0}},
                                               {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}, {0, 0}}};
    size_t width = shape->width, numbers = shape->head * width;
    float quieter = deviation_head * sqrtf((float)width);
    for (unsigned h = 0; h < parameters->spec.heads && h < OFFSETS; h++) {
        float *query = values + map->qkv_weight + h * numbers, *key = query + width * width;
        scale(query, numbers, quieter);
        scale(key, numbers, quieter);
        add_turn(query, shape, offsets[layer % 2][h]);
        for (size_t i = 0; i < shape->head; i++)
            key[i * width + i] += 1;
    }
}

void structured_init(struct parameters *parameters, uint64_t seed)
{
    struct shape shape = shape_of(parameters);
    const struct parameters_map *map = &parameters->map;
    size_t patch = 3 * extent_area(parameters->spec.patch);
    struct rng rng = rng_for(seed, STREAM_INIT, 1);
    float *values = parameters->values, *cls = values + map->cls_token;
    parameters_init(parameters, seed);
    for (unsigned i = 0; i < parameters->count; i++)
        if (parameters->list[i].row.part == TENSOR_WEIGHT &&
            parameters->list[i].row.depth <= parameters->spec.layers)
            scale(values + parameters->list[i].offset, parameters->list[i].row.count,
                  1 / (deviation_init * sqrtf((float)shape.width)));
    scale(values + map->patch_weight, patch * shape.width, 1 / sqrtf(3)); /* channels are alike */
    scale(values + map->patch_weight, patch * shape.head, scale_patch_place);
    init_positions(values + map->position, &parameters->spec, &shape);
    for (size_t i = 0; i < shape.width; i++)
        cls[i] = i < shape.head ? 0 : deviation_cls * rng_normal(&rng);
    for (unsigned layer = 0; layer < parameters->spec.layers; layer++)
        init_block(parameters, &shape, layer);
}

/* ---- sharpening ---- */

/* Mean logit of a patch with itself from the position channels alone, before any gain:
 * |position|^2 / sqrt(d). */
static double mean_match(const struct parameters *parameters, const struct shape *shape,
                         const struct network *network, const struct network_batch *batch,
                         unsigned layer)
{
    size_t stride, specials = spec_image_specials(&parameters->spec);
    const float *x = network_attention_input(network, layer, &stride);
    size_t tokens = specials + parameters->spec.patches, counted = 0;
    double sum = 0;
    for (size_t row = 0; row < batch->rows; row++)
        for (size_t t = specials; t < tokens; t++, counted++)
            for (size_t i = 0; i < shape->head; i++) {
                double place = x[(row * tokens + t) * stride + i];
                sum += place * place;
            }
    return sum / (double)counted / sqrt((double)shape->head);
}

void structured_sharpen(struct parameters *parameters, struct network *network,
                        const struct network_batch *batch)
{
    struct shape shape = shape_of(parameters);
    size_t width = shape.width, heads = parameters->spec.heads;
    size_t numbers = (heads < OFFSETS ? heads : OFFSETS) * shape.head * width;
    for (unsigned layer = 0; layer < parameters->spec.layers; layer++) {
        float *query = parameters->values + parameters->map.layers[layer].qkv_weight;
        network_repack(network, parameters->values);
        network_forward(network, batch);
        double gain = sqrt(peak_logit / mean_match(parameters, &shape, network, batch, layer));
        scale(query, numbers, (float)gain);
        scale(query + width * width, numbers, (float)gain);
    }
    network_repack(network, parameters->values);
}
