/* resize.c - see resize.h. The arithmetic is Pillow's (libImaging/Resample.c, Geometry.c). A
 * filter's weights are computed in double, normalised to sum to one, and rounded to integers of 22
 * fractional bits. Both passes are exact integer sums, rounded and clipped to a byte. Only the
 * weights are floating point, so any order of summation gives the same bytes. This allows two
 * optimisations.
 *
 * A weight is split into coarse x 4096 + fine, both 16 bits wide. A dot product of 16-bit pixels
 * and 16-bit weights is one instruction on every CPU of interest (pmaddwd, smlal), but a 32-bit one
 * is not: 4096 x 4096 to 224 x 224, on one core, bilinear 21 ms instead of 35, Lanczos 39 instead
 * of 66 (Pillow 12.3: 48 and 134).
 *
 * Source rows are read once, in order. Each is resampled horizontally into one row of bytes and
 * added, weighted, to the sums of the few output rows that it touches. The image between the two
 * passes, which for a tall source is larger than the source, is never stored. (Newer Pillows, for
 * example 12.3, save that memory by the other order of passes if the height is over a hundred times
 * the width, and so round such images differently. This file does not.)
 */
#include "engine/vision/resize.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    FRACTION_BITS = 22,
    HALF = 1 << (FRACTION_BITS - 1),
    FINE_UNIT = 4096, /* a weight is coarse x FINE_UNIT + fine */
    TAPS_ALIGNMENT = 16,
};

/* The filters, with Pillow's order of operations. */

static double filter_box(double x)
{
    return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double filter_bilinear(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double filter_hamming(double x)
{
    x = fabs(x);
    if (x == 0.0)
        return 1.0;
    if (x >= 1.0)
        return 0.0;
    x *= M_PI;
    return sin(x) / x * (0.54f + 0.46f * cos(x)); /* single-precision constants, as in Pillow */
}

/* Keys's cubic convolution with a = -1/2. */
static double filter_bicubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0)
        return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double sinc(double x)
{
    if (x == 0.0)
        return 1.0;
    x *= M_PI;
    return sin(x) / x;
}

static double filter_lanczos(double x)
{
    return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

static const struct filter {
    double (*weight)(double x);
    double support;
} filters[] = {
    [RESAMPLE_LANCZOS] = {filter_lanczos, 3.0}, [RESAMPLE_BILINEAR] = {filter_bilinear, 1.0},
    [RESAMPLE_BICUBIC] = {filter_bicubic, 2.0}, [RESAMPLE_BOX] = {filter_box, 0.5},
    [RESAMPLE_HAMMING] = {filter_hamming, 1.0},
};

/* One direction of a resampling: output i is the sum of weight[i][k] x source[first[i] + k]. */
struct axis {
    unsigned outputs;
    size_t taps;     /* weights an output, the unused ones zero */
    unsigned *first; /* [outputs], never descending */
    unsigned *end;   /* [outputs], one past the last source with a weight */
    int32_t *weight; /* [outputs, taps] */
};

/* Computes the weights of the output pixel at `at`: Pillow's precompute_coeffs and
 * normalize_coeffs_8bpc. */
static void axis_weigh(struct axis *axis, unsigned index, unsigned at, unsigned source,
                       double scale, const struct filter *filter, double *raw)
{
    double filter_scale = scale < 1.0 ? 1.0 : scale;
    double support = filter->support * filter_scale;
    double center = (at + 0.5) * scale, step = 1.0 / filter_scale, sum = 0.0;
    double low = center - support + 0.5, high = center + support + 0.5;
    unsigned first = low < 0.0 ? 0 : (unsigned)low;
    unsigned end = high > source ? source : (unsigned)high;
    for (unsigned i = first; i < end; i++) {
        raw[i - first] = filter->weight(((double)i - center + 0.5) * step);
        sum += raw[i - first];
    }
    int32_t *weight = axis->weight + index * axis->taps;
    for (unsigned i = 0; i < end - first; i++) {
        double scaled = (sum != 0.0 ? raw[i] / sum : raw[i]) * (1 << FRACTION_BITS);
        weight[i] = (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    }
    axis->first[index] = first;
    axis->end[index] = end;
}

/* Returns the weights of an output, with room for whole vectors. */
static size_t taps_of(unsigned source, unsigned target, const struct filter *filter)
{
    double scale = (double)source / target;
    double support = filter->support * (scale < 1.0 ? 1.0 : scale);
    size_t taps = (size_t)ceil(support) * 2 + 1;
    return (taps + TAPS_ALIGNMENT - 1) / TAPS_ALIGNMENT * TAPS_ALIGNMENT;
}

/* Prepares outputs [offset, offset + count) of a resampling from `source` to `target` pixels. */
static enum err_code axis_init(struct axis *axis, unsigned source, unsigned target, unsigned offset,
                               unsigned count, const struct filter *filter, struct arena *arena,
                               struct err *err)
{
    double scale = (double)source / target;
    size_t taps = taps_of(source, target, filter);
    *axis = (struct axis){.outputs = count, .taps = taps};
    axis->first = arena_alloc_array(arena, count, sizeof *axis->first);
    axis->end = arena_alloc_array(arena, count, sizeof *axis->end);
    axis->weight = arena_alloc_array(arena, count, taps * sizeof *axis->weight);
    double *raw = arena_alloc_array(arena, taps, sizeof *raw);
    if (axis->first == NULL || axis->end == NULL || axis->weight == NULL || raw == NULL)
        return err_no_memory(err, count * taps * sizeof *axis->weight);
    for (unsigned i = 0; i < count; i++)
        axis_weigh(axis, i, offset + i, source, scale, filter, raw);
    return ERR_OK;
}

static unsigned char clip(int32_t sum)
{
    int32_t value = sum >> FRACTION_BITS;
    return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* The horizontal pass over one row: planes of 16-bit pixels, and weights in two 16-bit parts. */
struct row_pass {
    const struct axis *axis;
    unsigned left, columns; /* the source columns that any output needs */
    size_t plane;           /* stride of pixels: columns and room for unused taps */
    int16_t *pixels;        /* [3, plane] */
    int16_t *coarse, *fine; /* [outputs, taps] */
    unsigned char *out;     /* [outputs, 3] */
};

static enum err_code row_pass_init(struct row_pass *pass, const struct axis *axis,
                                   struct arena *arena, struct err *err)
{
    size_t count = axis->outputs * axis->taps;
    *pass = (struct row_pass){.axis = axis, .left = axis->first[0]};
    pass->columns = axis->end[axis->outputs - 1] - pass->left;
    pass->plane = pass->columns + axis->taps;
    pass->pixels = arena_alloc_array(arena, pass->plane, 3 * sizeof *pass->pixels);
    pass->coarse = arena_alloc_array(arena, count, sizeof *pass->coarse);
    pass->fine = arena_alloc_array(arena, count, sizeof *pass->fine);
    pass->out = arena_alloc_array(arena, axis->outputs, 3);
    if (pass->pixels == NULL || pass->coarse == NULL || pass->fine == NULL || pass->out == NULL)
        return err_no_memory(err, pass->plane * 3 * sizeof *pass->pixels);
    for (size_t i = 0; i < count; i++) {
        pass->coarse[i] = (int16_t)(axis->weight[i] / FINE_UNIT);
        pass->fine[i] = (int16_t)(axis->weight[i] % FINE_UNIT);
    }
    return ERR_OK;
}

/* Both parts have the weight's sign, so no partial sum exceeds that of the absolute weights: twice
 * 2^22 x 255 at worst, inside an int32. taps is a multiple of TAPS_ALIGNMENT. */
static int32_t dot(const int16_t *pixels, const int16_t *coarse, const int16_t *fine, size_t taps)
{
    int32_t coarse_sum = 0, fine_sum = 0;
    for (size_t i = 0; i < taps / TAPS_ALIGNMENT * TAPS_ALIGNMENT; i++) {
        coarse_sum += pixels[i] * coarse[i];
        fine_sum += pixels[i] * fine[i];
    }
    return coarse_sum * FINE_UNIT + fine_sum;
}

static void row_pass_run(struct row_pass *pass, const unsigned char *row)
{
    const struct axis *axis = pass->axis;
    int16_t *red = pass->pixels, *green = red + pass->plane, *blue = green + pass->plane;
    row += (size_t)pass->left * 3;
    for (size_t x = 0; x < pass->columns; x++) {
        red[x] = row[x * 3];
        green[x] = row[x * 3 + 1];
        blue[x] = row[x * 3 + 2];
    }
    for (unsigned i = 0; i < axis->outputs; i++) {
        const int16_t *coarse = pass->coarse + i * axis->taps;
        const int16_t *fine = pass->fine + i * axis->taps;
        size_t first = axis->first[i] - pass->left;
        for (size_t c = 0; c < 3; c++)
            pass->out[i * 3 + c] =
                clip(dot(pass->pixels + c * pass->plane + first, coarse, fine, axis->taps) + HALF);
    }
}

static void add_weighted(int32_t *sums, const unsigned char *row, size_t count, int32_t weight)
{
    for (size_t i = 0; i < count; i++)
        sums[i] += weight * row[i];
}

/* Runs the rows of the source through the horizontal pass into the sums of the output rows. Borders
 * never descend from one output to the next, so the outputs that a row touches are a sliding
 * range. */
static enum err_code sum_rows(const struct image *image, struct row_pass *pass,
                              const struct axis *vertical, struct interrupt *interrupt,
                              int32_t *sums, struct err *err)
{
    size_t count = (size_t)pass->axis->outputs * 3;
    unsigned active = 0, last = vertical->outputs - 1;
    for (unsigned y = vertical->first[0]; y < vertical->end[last]; y++) {
        if (interrupt_look(interrupt, err))
            return err->code;
        while (active < last && vertical->end[active] <= y)
            active++;
        row_pass_run(pass, image->rgb + (size_t)y * image->width * 3);
        for (unsigned i = active; i <= last && vertical->first[i] <= y; i++)
            if (y < vertical->end[i])
                add_weighted(sums + i * count, pass->out, count,
                             vertical->weight[i * vertical->taps + (y - vertical->first[i])]);
    }
    return ERR_OK;
}

static enum err_code resize_filtered(const struct image *image, unsigned width, unsigned height,
                                     struct resize_window window, const struct filter *filter,
                                     struct interrupt *interrupt, struct arena *scratch,
                                     struct image *out, struct err *err)
{
    struct axis horizontal, vertical;
    struct row_pass pass;
    size_t count = (size_t)window.width * window.height * 3;
    int32_t *sums = arena_alloc_array(scratch, count, sizeof *sums);
    if (sums == NULL)
        return err_no_memory(err, count * sizeof *sums);
    if (axis_init(&horizontal, image->width, width, window.left, window.width, filter, scratch,
                  err) ||
        axis_init(&vertical, image->height, height, window.top, window.height, filter, scratch,
                  err) ||
        row_pass_init(&pass, &horizontal, scratch, err) ||
        sum_rows(image, &pass, &vertical, interrupt, sums, err))
        return err->code;
    for (size_t i = 0; i < count; i++)
        out->rgb[i] = clip(sums[i] + HALF);
    return ERR_OK;
}

enum { OUTSIDE = -1 };

/* Returns the source index of each output of a window, or OUTSIDE. As in Pillow's
 * ImagingScaleAffine, the position is accumulated, not multiplied, and its rounding errors decide
 * ties, so it starts at zero. */
static int *nearest_index(unsigned source, unsigned target, unsigned offset, unsigned count,
                          struct arena *arena)
{
    int *index = arena_alloc_array(arena, count, sizeof *index);
    double step = (double)source / target, position = step * 0.5;
    for (unsigned i = 0; index != NULL && i < offset + count; i++) {
        if (i >= offset)
            index[i - offset] = position < source ? (int)position : OUTSIDE;
        position += step;
    }
    return index;
}

static enum err_code resize_nearest(const struct image *image, unsigned width, unsigned height,
                                    struct resize_window window, struct arena *scratch,
                                    struct image *out, struct err *err)
{
    int *column = nearest_index(image->width, width, window.left, window.width, scratch);
    int *row = nearest_index(image->height, height, window.top, window.height, scratch);
    if (column == NULL || row == NULL)
        return err_no_memory(err, window.width * sizeof *column);
    memset(out->rgb, 0, (size_t)out->width * out->height * 3);
    unsigned char *to = out->rgb;
    for (unsigned y = 0; y < window.height; y++)
        for (unsigned x = 0; x < window.width; x++, to += 3)
            if (row[y] != OUTSIDE && column[x] != OUTSIDE)
                memcpy(to, image->rgb + ((size_t)row[y] * image->width + (size_t)column[x]) * 3, 3);
    return ERR_OK;
}

enum err_code resize_rgb_window(const struct image *image, unsigned width, unsigned height,
                                struct resize_window window, enum resample resample,
                                struct interrupt *interrupt, struct arena *arena, struct image *out,
                                struct err *err)
{
    assert(window.width > 0 && window.width <= width && window.left <= width - window.width);
    assert(window.height > 0 && window.height <= height && window.top <= height - window.height);
    size_t bytes = (size_t)window.width * window.height * 3;
    *out = (struct image){.width = window.width, .height = window.height};
    out->rgb = arena_alloc(arena, bytes);
    if (out->rgb == NULL)
        return err_no_memory(err, bytes);
    if (width == image->width && height == image->height) {
        for (size_t y = 0; y < window.height; y++)
            memcpy(out->rgb + y * window.width * 3,
                   image->rgb + ((window.top + y) * image->width + window.left) * 3,
                   (size_t)window.width * 3);
        return ERR_OK;
    }
    struct arena scratch;
    arena_init(&scratch);
    enum err_code code = resample == RESAMPLE_NEAREST
                             ? resize_nearest(image, width, height, window, &scratch, out, err)
                             : resize_filtered(image, width, height, window, &filters[resample],
                                               interrupt, &scratch, out, err);
    arena_deinit(&scratch);
    return code;
}

/* Bytes that axis_init takes for `count` outputs, and row_pass_init for the same axis. */
static size_t axis_bytes(unsigned source, unsigned target, unsigned count,
                         const struct filter *filter)
{
    size_t taps = taps_of(source, target, filter);
    size_t weights = count * taps * (sizeof(int32_t) + 2 * sizeof(int16_t));
    size_t row = (source + taps) * 3 * sizeof(int16_t) + (size_t)count * 3;
    return weights + row + taps * sizeof(double) + (size_t)count * 2 * sizeof(unsigned);
}

size_t resize_bytes(const struct image *image, unsigned width, unsigned height,
                    struct resize_window window, enum resample resample)
{
    enum { BLOCKS_BYTES = 32 * 1024 }; /* unused rest of an arena's blocks */
    size_t pixels = (size_t)window.width * window.height;
    size_t bytes = pixels * 3 + BLOCKS_BYTES;
    if (resample == RESAMPLE_NEAREST)
        return bytes + ((size_t)window.width + window.height) * sizeof(int);
    const struct filter *filter = &filters[resample];
    return bytes + pixels * 3 * sizeof(int32_t) +
           axis_bytes(image->width, width, window.width, filter) +
           axis_bytes(image->height, height, window.height, filter);
}

enum err_code resize_rgb(const struct image *image, unsigned width, unsigned height,
                         enum resample resample, struct arena *arena, struct image *out,
                         struct err *err)
{
    struct resize_window whole = {.width = width, .height = height};
    return resize_rgb_window(image, width, height, whole, resample, NULL, arena, out, err);
}
