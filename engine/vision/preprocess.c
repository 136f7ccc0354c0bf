/* preprocess.c - see preprocess.h. The processors differ only in their defaults and in two habits,
 * so they are rows of a table; what preprocessor_config.json spells out overrides the row. The
 * habits: a bare number as `size` is a square for the ViT family and a shortest edge for the CLIP
 * family, and ViT's processor never crops, whatever the file says.
 *
 * A crop is not made after the resize but decides which part of the resized image is computed.
 * Normalisation has 256 possible inputs a channel, so it is a table too, whose entries are rounded
 * where the reference rounds: pixel x factor in double, then single precision to the end.
 */
#include "engine/vision/preprocess.h"

#include "engine/base/doc.h"
#include "engine/vision/resize_lines.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "preprocessor_config.json"

enum { FILE_BYTES_MAX = 1 << 20, SIDE_MAX = 16384 };

/* transformers.utils.constants: ViT and DeiT default to IMAGENET_STANDARD, one half throughout,
 * which is not ImageNet's mean (IMAGENET_DEFAULT; checkpoints that want that one say so). */
#define HALVES                                                                                     \
    {                                                                                              \
        0.5f, 0.5f, 0.5f                                                                           \
    }
#define CLIP_MEAN                                                                                  \
    {                                                                                              \
        0.48145466f, 0.4578275f, 0.40821073f                                                       \
    }
#define CLIP_STD                                                                                   \
    {                                                                                              \
        0.26862954f, 0.26130258f, 0.27577711f                                                      \
    }

static const struct processor {
    const char
        *name; /* without the suffix ImageProcessor, ImageProcessorFast or FeatureExtractor */
    bool crops, number_is_shortest_edge;
    struct preprocess defaults;
} processors[] = {
    {"ViT",
     false,
     false,
     {.resize_height = 224,
      .resize_width = 224,
      .resample = RESAMPLE_BILINEAR,
      .mean = HALVES,
      .std = HALVES}},
    {"DeiT",
     true,
     false,
     {.resize_height = 256,
      .resize_width = 256,
      .resample = RESAMPLE_BICUBIC,
      .mean = HALVES,
      .std = HALVES}},
    {"Beit",
     true,
     false,
     {.resize_height = 256,
      .resize_width = 256,
      .resample = RESAMPLE_BICUBIC,
      .mean = HALVES,
      .std = HALVES}},
    {"Bit",
     true,
     true,
     {.shortest_edge = 224, .resample = RESAMPLE_BICUBIC, .mean = CLIP_MEAN, .std = CLIP_STD}},
    {"CLIP",
     true,
     true,
     {.shortest_edge = 224, .resample = RESAMPLE_BICUBIC, .mean = CLIP_MEAN, .std = CLIP_STD}},
};

enum { PROCESSOR_VIT = 0, PROCESSOR_DEIT = 1 };

static struct preprocess defaults_of(const struct processor *processor)
{
    struct preprocess out = processor->defaults;
    out.do_resize = out.do_rescale = out.do_normalize = true;
    out.do_center_crop = processor->crops;
    out.crop_height = out.crop_width = 224;
    out.rescale_factor = 1.0 / 255.0;
    return out;
}

static bool name_matches(const char *name, const char *family)
{
    size_t len = strlen(family);
    if (strncmp(name, family, len) != 0)
        return false;
    return strcmp(name + len, "ImageProcessor") == 0 ||
           strcmp(name + len, "ImageProcessorFast") == 0 ||
           strcmp(name + len, "FeatureExtractor") == 0;
}

/* A file that names no processor is from before the names: only DeiT's had a crop then. */
static enum err_code find_processor(const struct json_t *root, const struct processor **out,
                                    struct err *err)
{
    const char *name = NULL;
    bool crops = doc_member(root, "crop_size") != NULL;
    *out = &processors[crops ? PROCESSOR_DEIT : PROCESSOR_VIT];
    if (doc_get_string(root, "$", "feature_extractor_type", &name, err) ||
        doc_get_string(root, "$", "image_processor_type", &name, err))
        return err->code;
    if (name == NULL)
        return ERR_OK;
    for (size_t i = 0; i < sizeof processors / sizeof processors[0]; i++) {
        *out = &processors[i];
        if (name_matches(name, processors[i].name))
            return ERR_OK;
    }
    return err_set(err, ERR_UNSUPPORTED,
                   "$.image_processor_type: '%.64s' is not one of the image processors of ViT, "
                   "DeiT, BEiT, Bit and CLIP",
                   name);
}

static enum err_code wrong_size(const char *key, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "$.%s: expected a number, [height, width], {height, width} or {shortest_edge}, "
                   "from 1 to %d pixels",
                   key, SIDE_MAX);
}

static enum err_code read_side(const struct json_t *value, const char *key, unsigned *out,
                               struct err *err)
{
    double number;
    if (!doc_as_number(value, &number) || !(number >= 1 && number <= SIDE_MAX) ||
        number != floor(number))
        return wrong_size(key, err);
    *out = (unsigned)number;
    return ERR_OK;
}

/* `size` and `crop_size` in all the spellings of transformers' get_size_dict that make sense here.
 * Either height and width or shortest_edge is set, the rest is zero. */
static enum err_code read_size(const struct json_t *root, const char *key, bool number_is_edge,
                               unsigned *height, unsigned *width, unsigned *edge, struct err *err)
{
    const struct json_t *value = doc_member(root, key);
    double number;
    if (value == NULL)
        return ERR_OK;
    *height = *width = *edge = 0;
    if (doc_as_number(value, &number)) {
        if (read_side(value, key, number_is_edge ? edge : height, err))
            return err->code;
        *width = *height;
        return ERR_OK;
    }
    if (doc_array_count(value) == 2)
        return read_side(doc_array_item(value, 0), key, height, err)
                   ? err->code
                   : read_side(doc_array_item(value, 1), key, width, err);
    if (doc_object_count(value) == 1 && doc_member(value, "shortest_edge") != NULL)
        return read_side(doc_member(value, "shortest_edge"), key, edge, err);
    if (doc_object_count(value) != 2)
        return wrong_size(key, err);
    return read_side(doc_member(value, "height"), key, height, err)
               ? err->code
               : read_side(doc_member(value, "width"), key, width, err);
}

static enum err_code read_sizes(const struct json_t *root, const struct processor *processor,
                                struct preprocess *out, struct err *err)
{
    unsigned crop_edge = 0;
    if (read_size(root, "size", processor->number_is_shortest_edge, &out->resize_height,
                  &out->resize_width, &out->shortest_edge, err) ||
        read_size(root, "crop_size", false, &out->crop_height, &out->crop_width, &crop_edge, err))
        return err->code;
    return crop_edge == 0 ? ERR_OK : wrong_size("crop_size", err);
}

/* image_mean and image_std: one number for all channels, or three. */
static enum err_code read_channels(const struct json_t *root, const char *key, float out[3],
                                   struct err *err)
{
    const struct json_t *value = doc_member(root, key);
    double number;
    for (size_t c = 0; value != NULL && c < 3; c++) {
        const struct json_t *item = doc_array_count(value) == 3 ? doc_array_item(value, c) : value;
        if (!doc_as_number(item, &number) || !isfinite((float)number))
            return err_set(err, ERR_UNSUPPORTED, "$.%s: expected a number or three", key);
        out[c] = (float)number;
    }
    return ERR_OK;
}

static enum err_code read_normalisation(const struct json_t *root, struct preprocess *out,
                                        struct err *err)
{
    if (doc_get_number(root, "$", "rescale_factor", &out->rescale_factor, err) ||
        read_channels(root, "image_mean", out->mean, err) ||
        read_channels(root, "image_std", out->std, err))
        return err->code;
    for (size_t c = 0; c < 3; c++)
        if (out->std[c] == 0.0f)
            return err_set(err, ERR_UNSUPPORTED, "$.image_std: must not be zero");
    return ERR_OK;
}

static enum err_code read_flags(const struct json_t *root, const struct processor *processor,
                                struct preprocess *out, struct err *err)
{
    long long resample = out->resample;
    if (doc_get_bool(root, "$", "do_resize", &out->do_resize, err) ||
        doc_get_bool(root, "$", "do_center_crop", &out->do_center_crop, err) ||
        doc_get_bool(root, "$", "do_rescale", &out->do_rescale, err) ||
        doc_get_bool(root, "$", "do_normalize", &out->do_normalize, err) ||
        doc_get_integer(root, "$", "resample", RESAMPLE_NEAREST, RESAMPLE_HAMMING, &resample, err))
        return err->code;
    out->do_center_crop = out->do_center_crop && processor->crops;
    out->resample = (enum resample)resample;
    return ERR_OK;
}

/* transformers' rescale and normalize, for one channel and every value of a byte. */
static void fill_table(const struct preprocess *preprocess, size_t channel, float table[256])
{
    for (int value = 0; value < 256; value++) {
        float number = (float)value;
        if (preprocess->do_rescale)
            number = (float)((double)value * preprocess->rescale_factor);
        if (preprocess->do_normalize)
            number = (number - preprocess->mean[channel]) / preprocess->std[channel];
        table[value] = number;
    }
}

/* Refuses a table that makes a pixel infinite, or black and white the same. */
static enum err_code check_pixels(const struct preprocess *preprocess, struct err *err)
{
    for (size_t c = 0; c < 3; c++) {
        float table[256];
        bool finite = true;
        fill_table(preprocess, c, table);
        for (int value = 0; value < 256; value++)
            finite = finite && isfinite(table[value]);
        if (!finite || table[0] == table[255])
            return err_set(err, ERR_UNSUPPORTED,
                           "$.rescale_factor, $.image_mean and $.image_std make pixels %s",
                           finite ? "that are all the same" : "that are not finite numbers");
    }
    return ERR_OK;
}

/* The result must have the model's input size, for every image; of 0, it has to be a square. */
static enum err_code check_result(const struct preprocess *preprocess, unsigned image_size,
                                  struct err *err)
{
    bool crop = preprocess->do_center_crop;
    if (!crop && (!preprocess->do_resize || preprocess->shortest_edge != 0) && image_size == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "images would keep their own shape; the model takes squares");
    if (!crop && (!preprocess->do_resize || preprocess->shortest_edge != 0))
        return err_set(err, ERR_UNSUPPORTED,
                       "images would keep their own shape; the model takes %u x %u", image_size,
                       image_size);
    unsigned height = crop ? preprocess->crop_height : preprocess->resize_height;
    unsigned width = crop ? preprocess->crop_width : preprocess->resize_width;
    if (image_size == 0)
        image_size = height;
    if (height != image_size || width != image_size)
        return err_set(err, ERR_UNSUPPORTED, "images become %u x %u; the model takes %u x %u",
                       height, width, image_size, image_size);
    return ERR_OK;
}

static enum err_code read_config(const struct json_t *root, unsigned image_size,
                                 struct preprocess *out, struct err *err)
{
    const struct processor *processor;
    if (find_processor(root, &processor, err))
        return err->code;
    *out = defaults_of(processor);
    if (read_flags(root, processor, out, err) || read_sizes(root, processor, out, err) ||
        read_normalisation(root, out, err) || check_pixels(out, err))
        return err->code;
    return check_result(out, image_size, err);
}

static enum err_code open_path(struct preprocess *out, const char *path, unsigned image_size,
                               struct err *err)
{
    struct stat status;
    if (stat(path, &status) != 0 && errno == ENOENT) {
        *out = defaults_of(&processors[PROCESSOR_VIT]);
        out->resize_height = out->resize_width = image_size;
        return ERR_OK;
    }
    struct json_t *root;
    if (!doc_parse_file(&root, path, FILE_BYTES_MAX, err)) {
        read_config(root, image_size, out, err);
        doc_free(root);
    }
    return err->code != ERR_OK ? err_prefix(err, "%s: ", FILE_NAME) : ERR_OK;
}

enum err_code preprocess_open(struct preprocess *out, const char *dir, unsigned image_size,
                              struct err *err)
{
    *out = (struct preprocess){0};
    struct arena scratch;
    arena_init(&scratch);
    const char *path = arena_format(&scratch, "%s/" FILE_NAME, dir);
    enum err_code code = path != NULL ? open_path(out, path, image_size, err)
                                      : err_no_memory(err, strlen(dir) + sizeof FILE_NAME);
    arena_deinit(&scratch);
    return code;
}

enum err_code preprocess_size(const char *dir, unsigned *image_size, struct err *err)
{
    struct preprocess preprocess;
    if (preprocess_open(&preprocess, dir, 0, err))
        return err->code;
    unsigned side = preprocess.do_center_crop ? preprocess.crop_height : preprocess.resize_height;
    if (side > 0) /* no file: 0 was all that is known */
        *image_size = side;
    return ERR_OK;
}

/* The size before the crop. transformers' get_resize_output_image_size computes the longer side as
 * int(edge * longer / shorter), one product and one division in double. */
static enum err_code resized_size(const struct preprocess *preprocess, const struct image *image,
                                  unsigned *height, unsigned *width, struct err *err)
{
    *height = preprocess->do_resize ? preprocess->resize_height : image->height;
    *width = preprocess->do_resize ? preprocess->resize_width : image->width;
    if (!preprocess->do_resize || preprocess->shortest_edge == 0)
        return ERR_OK;
    bool upright = image->width <= image->height;
    unsigned shorter = upright ? image->width : image->height;
    unsigned longer = upright ? image->height : image->width;
    double edge = preprocess->shortest_edge, length = edge * longer / shorter;
    if (length > IMAGE_SIDE_MAX)
        return err_set(err, ERR_UNUSABLE,
                       "the image is %u x %u: too thin for a shortest edge of %u pixels (the limit "
                       "is %d a side)",
                       image->width, image->height, preprocess->shortest_edge, IMAGE_SIDE_MAX);
    *height = upright ? (unsigned)length : preprocess->shortest_edge;
    *width = upright ? preprocess->shortest_edge : (unsigned)length;
    return ERR_OK;
}

/* One direction of transformers' center_crop: which pixels are kept, and where they land in a crop
 * that is larger than the image (the margin before is the one rounded up). */
struct crop_span {
    unsigned from, to, count;
};

static struct crop_span crop_span(unsigned side, unsigned crop)
{
    if (crop <= side)
        return (struct crop_span){.from = (side - crop) / 2, .count = crop};
    return (struct crop_span){.to = (crop - side + 1) / 2, .count = side};
}

/* Sets `part` in the middle of black. */
static enum err_code pad(const struct image *part, struct crop_span rows, struct crop_span columns,
                         struct arena *arena, struct image *out, struct err *err)
{
    out->rgb = arena_alloc_array(arena, (size_t)out->width * out->height, 3);
    if (out->rgb == NULL)
        return err_no_memory(err, (size_t)out->width * out->height * 3);
    for (size_t y = 0; y < part->height; y++)
        memcpy(out->rgb + ((rows.to + y) * out->width + columns.to) * 3,
               part->rgb + y * part->width * 3, (size_t)part->width * 3);
    return ERR_OK;
}

/* Each pixel halfway from what the filter gave to what its lines give. */
static enum err_code lift_lines(const struct image *image, unsigned width, unsigned height,
                                struct resize_window window, struct interrupt *interrupt,
                                struct arena *arena, struct image *out, struct err *err)
{
    struct image lines;
    if (resize_lines(image, width, height, window, interrupt, arena, &lines, err))
        return err->code;
    for (size_t i = 0; i < (size_t)out->width * out->height * 3; i++)
        out->rgb[i] = (unsigned char)((out->rgb[i] + lines.rgb[i] + 1) / 2);
    return ERR_OK;
}

enum err_code preprocess_geometry(const struct preprocess *preprocess, const struct image *image,
                                  struct interrupt *interrupt, struct arena *arena,
                                  struct image *out, struct err *err)
{
    unsigned height, width;
    if (resized_size(preprocess, image, &height, &width, err))
        return err->code;
    bool crop = preprocess->do_center_crop;
    struct image crop_size = {.width = crop ? preprocess->crop_width : width,
                              .height = crop ? preprocess->crop_height : height};
    struct crop_span rows = crop_span(height, crop_size.height);
    struct crop_span columns = crop_span(width, crop_size.width);
    struct resize_window window = {
        .left = columns.from, .top = rows.from, .width = columns.count, .height = rows.count};
    if (resize_rgb_window(image, width, height, window, preprocess->resample, interrupt, arena, out,
                          err))
        return err->code;
    if (preprocess->keeps_lines && resize_lines_applies(image, width, height) &&
        lift_lines(image, width, height, window, interrupt, arena, out, err))
        return err->code;
    if (out->width == crop_size.width && out->height == crop_size.height)
        return ERR_OK;
    struct image part = *out;
    *out = crop_size;
    return pad(&part, rows, columns, arena, out, err);
}

size_t preprocess_bytes(const struct preprocess *preprocess, unsigned width, unsigned height)
{
    struct image image = {.width = width, .height = height};
    struct err ignored = {0};
    unsigned resized_height, resized_width;
    if (width == 0 || height == 0 ||
        resized_size(preprocess, &image, &resized_height, &resized_width, &ignored))
        return 0; /* refused before anything is taken */
    bool crop = preprocess->do_center_crop;
    unsigned crop_width = crop ? preprocess->crop_width : resized_width;
    unsigned crop_height = crop ? preprocess->crop_height : resized_height;
    struct resize_window window = {.width = crop_width < resized_width ? crop_width : resized_width,
                                   .height =
                                       crop_height < resized_height ? crop_height : resized_height};
    const bool keeps =
        preprocess->keeps_lines && resize_lines_applies(&image, resized_width, resized_height);
    const size_t lines =
        keeps ? resize_lines_bytes(&image, resized_width, resized_height, window) : 0;
    return resize_bytes(&image, resized_width, resized_height, window, preprocess->resample) +
           lines + (size_t)crop_width * crop_height * 3;
}

/* One direction of the view: where it begins and how long it is, in pixels of the image. */
static void view_span(unsigned side, unsigned resized, unsigned crop, double *start, double *length)
{
    struct crop_span span = crop_span(resized, crop);
    double scale = (double)side / resized;
    *start = ((double)span.from - span.to) * scale;
    *length = crop * scale;
}

struct image_region preprocess_view(const struct preprocess *preprocess, unsigned width,
                                    unsigned height)
{
    struct image image = {.width = width, .height = height};
    struct err ignored = {0};
    unsigned rows = height, columns = width;
    bool crop = preprocess->do_center_crop;
    struct image_region view;
    resized_size(preprocess, &image, &rows, &columns, &ignored);
    view_span(width, columns, crop ? preprocess->crop_width : columns, &view.left, &view.width);
    view_span(height, rows, crop ? preprocess->crop_height : rows, &view.top, &view.height);
    return view;
}

/* One patch: out[channel, y, x] of the square whose first pixel is `corner`. */
static void write_patch(const unsigned char *corner, size_t stride, unsigned patch,
                        float tables[3][256], float *out)
{
    for (size_t c = 0; c < 3; c++)
        for (size_t y = 0; y < patch; y++)
            for (size_t x = 0; x < patch; x++)
                *out++ = tables[c][corner[y * stride + x * 3 + c]];
}

void preprocess_patches(const struct preprocess *preprocess, const struct image *image,
                        unsigned patch, float *out)
{
    assert(patch > 0);
    float tables[3][256];
    for (size_t c = 0; c < 3; c++)
        fill_table(preprocess, c, tables[c]);
    size_t stride = (size_t)image->width * 3;
    for (size_t row = 0; row < image->height / patch; row++)
        for (size_t column = 0; column < image->width / patch; column++) {
            const unsigned char *corner = image->rgb + row * patch * stride + column * patch * 3;
            write_patch(corner, stride, patch, tables, out);
            out += (size_t)3 * patch * patch;
        }
}
