/* augment.c - see samples.h. Mirror, quarter turns and shift are one affine walk over the source,
 * which may have been spun before. The other changes are made in place. A pixel's random number is
 * rng_hash of a key, drawn once, and the pixel's index, so that the loops have no state and
 * vectorise. */
#include "learn/data/samples.h"

#include <math.h>
#include <string.h>

/* ---- wafer maps ---- */

enum { OFF_WAFER = 0, USUAL_PASS = 127, USUAL_FAIL = 255 };

static size_t values_of(const struct augment_pixels *pixels)
{
    return (size_t)pixels->width * pixels->height * pixels->channels;
}

void augment_detect_map(struct augment_pixels *pixels)
{
    bool seen[256] = {false};
    unsigned found[4] = {0}, kinds = 0;
    pixels->pass = pixels->fail = 0;
    if (pixels->channels != 1)
        return;
    for (size_t i = 0; i < values_of(pixels); i++)
        seen[pixels->values[i]] = true;
    for (unsigned value = 0; value < 256 && kinds < 4; value++)
        if (seen[value])
            found[kinds++] = value;
    bool usual = kinds == 2;
    for (unsigned i = 0; i < kinds; i++)
        usual =
            usual && (found[i] == OFF_WAFER || found[i] == USUAL_PASS || found[i] == USUAL_FAIL);
    if (kinds == 3 && found[0] == OFF_WAFER) {
        pixels->pass = (unsigned char)found[1];
        pixels->fail = (unsigned char)found[2];
    } else if (usual) {
        pixels->pass = USUAL_PASS;
        pixels->fail = USUAL_FAIL;
    }
}

/* Draws a probability from 0 to `rate`, as a bound for 32 random bits. */
static uint32_t draw_bound(float rate, struct rng *rng)
{
    return (uint32_t)((double)(rate * rng_uniform(rng)) * 4294967295.0);
}

static void change_dies(const struct augment *augment, struct rng *rng, unsigned char *values,
                        const struct augment_pixels *pixels)
{
    const size_t count = values_of(pixels);
    const unsigned char pass = pixels->pass, fail = pixels->fail, change = pass ^ fail;
    if (augment->die_noise > 0) {
        const uint32_t bound = draw_bound(augment->die_noise, rng), key = (uint32_t)rng_next(rng);
        for (size_t i = 0; i < count; i++) {
            bool flips = values[i] != OFF_WAFER && rng_hash(key, (uint32_t)i) < bound;
            values[i] ^= flips ? change : 0;
        }
    }
    if (augment->die_dropout > 0) {
        const uint32_t bound = draw_bound(augment->die_dropout, rng), key = (uint32_t)rng_next(rng);
        for (size_t i = 0; i < count; i++) {
            bool passes = values[i] == fail && rng_hash(key, (uint32_t)i) < bound;
            values[i] = passes ? pass : values[i];
        }
    }
}

/* ---- other images ---- */

/* Draws a number from -rate to rate. */
static float draw_signed(float rate, struct rng *rng)
{
    return rate > 0 ? rate * (2 * rng_uniform(rng) - 1) : 0;
}

static unsigned char clip(float value)
{
    return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5f);
}

/* The sum of four uniform bytes less its mean, over its deviation (sqrt(4 (256^2 - 1) / 12)): near
 * enough to a normal number (Irwin 1927, Hall 1927), and one hash. */
static float near_normal(uint32_t bits)
{
    uint32_t sum = (bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24);
    return ((float)sum - 510) * (1 / 147.8005f);
}

static void change_greys(const struct augment *augment, struct rng *rng, unsigned char *values,
                         size_t count)
{
    float bright = 255 * draw_signed(augment->brightness, rng);
    float contrast = 1 + draw_signed(augment->contrast, rng);
    float deviation = augment->noise > 0 ? 255 * augment->noise * rng_uniform(rng) : 0;
    uint32_t key = augment->noise > 0 ? (uint32_t)rng_next(rng) : 0;
    uint64_t sum = 0;
    if (augment->brightness == 0 && augment->contrast == 0 && augment->noise == 0)
        return;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    float mean = count > 0 ? (float)sum / (float)count : 0, shift = mean - mean * contrast + bright;
    for (size_t i = 0; i < count; i++) {
        float noise = deviation * near_normal(rng_hash(key, (uint32_t)i));
        values[i] = clip((float)values[i] * contrast + shift + noise);
    }
}

/* ---- geometry ---- */

/* Maps output pixels to source pixels: source index = origin + u x across + v x down, with u and v
 * counted from the shifted corner. */
struct walk {
    unsigned width, height; /* of the output */
    ptrdiff_t origin, across, down;
    int shift_x, shift_y;
};

/* The source index of the unshifted output pixel (u, v): turned clockwise, after a mirror. */
static ptrdiff_t source_of(const struct augment_pixels *in, bool mirror, unsigned turns,
                           ptrdiff_t u, ptrdiff_t v)
{
    ptrdiff_t right = (ptrdiff_t)in->width - 1, bottom = (ptrdiff_t)in->height - 1;
    ptrdiff_t x = turns == 0 ? u : turns == 1 ? v : turns == 2 ? right - u : right - v;
    ptrdiff_t y = turns == 0 ? v : turns == 1 ? bottom - u : turns == 2 ? bottom - v : u;
    return y * (ptrdiff_t)in->width + (mirror ? right - x : x);
}

static int draw_shift(float rate, unsigned side, struct rng *rng)
{
    uint32_t most = (uint32_t)(rate * (float)side + 0.5f);
    return (int)rng_below(rng, 2 * most + 1) - (int)most;
}

static struct walk draw_walk(const struct augment *augment, const struct augment_pixels *in,
                             struct rng *rng)
{
    bool mirror = augment->mirror > 0 && rng_uniform(rng) < augment->mirror;
    bool turn = augment->turn > 0 && rng_uniform(rng) < augment->turn;
    unsigned turns = turn ? rng_below(rng, 4) : 0;
    bool lies = turns % 2 == 1;
    struct walk walk = {.width = lies ? in->height : in->width,
                        .height = lies ? in->width : in->height,
                        .origin = source_of(in, mirror, turns, 0, 0)};
    walk.across = source_of(in, mirror, turns, 1, 0) - walk.origin;
    walk.down = source_of(in, mirror, turns, 0, 1) - walk.origin;
    if (augment->shift > 0) {
        walk.shift_x = draw_shift(augment->shift, walk.width, rng);
        walk.shift_y = draw_shift(augment->shift, walk.height, rng);
    }
    return walk;
}

static void copy_row(const struct augment_pixels *in, ptrdiff_t from, ptrdiff_t step,
                     unsigned count, unsigned char *out)
{
    const unsigned char *values = in->values;
    if (in->channels == 1)
        for (unsigned i = 0; i < count; i++, from += step)
            out[i] = values[from];
    else
        for (unsigned i = 0; i < count; i++, from += step)
            memcpy(out + (size_t)i * in->channels, values + from * (ptrdiff_t)in->channels,
                   in->channels);
}

/* One direction of a shifted image: outputs [to, to + count) show sources [from, from + count). */
struct reach {
    unsigned to, from, count;
};

static struct reach span_of(unsigned side, int shift)
{
    unsigned size = (unsigned)(shift < 0 ? -shift : shift);
    struct reach span = {.count = size < side ? side - size : 0};
    span.to = shift > 0 ? size : 0;
    span.from = shift < 0 ? size : 0;
    return span;
}

/* Rotates the image by an angle about its middle; each pixel gets the nearest source pixel. The
 * coordinates make the wafer a circle, whatever the shape of its dies. Pixels off the wafer do not
 * change, and a die whose source pixel is off the wafer keeps its value. */
static void spin(const struct augment_pixels *in, float angle, unsigned char *out)
{
    unsigned width = in->width, height = in->height, channels = in->channels;
    float cosine = cosf(angle), sine = sinf(angle), shape = (float)width / (float)height;
    float middle_x = (float)(width - 1) / 2, middle_y = (float)(height - 1) / 2;
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++) {
            float u = (float)x - middle_x, v = ((float)y - middle_y) * shape;
            float from_x = middle_x + cosine * u + sine * v + 0.5f;
            float from_y = middle_y + (cosine * v - sine * u) / shape + 0.5f;
            size_t to = (size_t)y * width + x, from = to;
            if (from_x >= 0 && from_x < (float)width && from_y >= 0 && from_y < (float)height)
                from = (size_t)from_y * width + (size_t)from_x;
            bool stays = in->pass != in->fail &&
                         (in->values[to] == OFF_WAFER || in->values[from] == OFF_WAFER);
            memcpy(out + to * channels, in->values + (stays ? to : from) * channels, channels);
        }
}

void augment_apply(const struct augment *augment, const struct augment_pixels *in, struct rng *rng,
                   unsigned char *room, struct augment_pixels *out)
{
    struct augment_pixels source = *in;
    if (augment->spin > 0 && rng_uniform(rng) < augment->spin) {
        unsigned char *spun = room + values_of(in);
        spin(in, 6.2831853f * rng_uniform(rng), spun);
        source.values = spun;
    }
    struct walk walk = draw_walk(augment, &source, rng);
    struct reach rows = span_of(walk.height, walk.shift_y);
    struct reach columns = span_of(walk.width, walk.shift_x);
    size_t stride = (size_t)walk.width * source.channels;
    if (rows.count < walk.height || columns.count < walk.width)
        memset(room, OFF_WAFER, stride * walk.height);
    for (unsigned i = 0; i < rows.count; i++) {
        ptrdiff_t from = walk.origin + (ptrdiff_t)(rows.from + i) * walk.down +
                         (ptrdiff_t)columns.from * walk.across;
        unsigned char *row = room + (rows.to + i) * stride;
        copy_row(&source, from, walk.across, columns.count,
                 row + (size_t)columns.to * source.channels);
    }
    *out = *in;
    out->width = walk.width;
    out->height = walk.height;
    out->values = room;
    if (in->pass != in->fail)
        change_dies(augment, rng, room, out);
    else
        change_greys(augment, rng, room, values_of(out));
}
