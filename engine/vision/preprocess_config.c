/* preprocess_config.c - the files of preprocess.h. The image processors of transformers differ in
 * their defaults and in four rules, so they are rows of a table. A member of a file overrides the
 * row; a member that the row's class does not know changes nothing, as in transformers.
 *
 * A null is not the same as an absent member. It makes a switch false. As a size or a mean, a slow
 * class takes its default for it; a fast one has none and fails if it is needed
 * (ViTImageProcessor's __init__; BaseImageProcessorFast.__init__ and
 * validate_fast_preprocess_arguments).
 */
#include "engine/vision/preprocess.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20, SIDE_MAX = 16384 };

/* ---- the classes ---- */

/* transformers.utils.constants: ViT and DeiT default to IMAGENET_STANDARD, one half throughout,
 * which is not ImageNet's mean (IMAGENET_DEFAULT; checkpoints that need that one name it). */
#define HALVES .mean = {0.5f, 0.5f, 0.5f}, .std = {0.5f, 0.5f, 0.5f}
#define CLIP                                                                                       \
    .mean = {0.48145466f, 0.4578275f, 0.40821073f}, .std = {0.26862954f, 0.26130258f, 0.27577711f}
#define SQUARE(side) .resize_height = (side), .resize_width = (side)
#define CROP(side) .do_center_crop = true, .crop_height = (side), .crop_width = (side)

static const struct processor {
    const char *name; /* without ImageProcessor and the rest */
    bool is_fast;     /* the class's name ends in Fast */
    bool crops;       /* obeys do_center_crop */
    bool takes_edge;  /* resizes to a shortest edge, too */
    bool reads_edge;  /* a number as size is a shortest edge; of a fast one, by default */
    bool pads;        /* obeys do_pad */
    struct preprocess defaults;
} processors[] = {
    {"ViT", .defaults = {SQUARE(224), .resample = RESAMPLE_BILINEAR, HALVES}},
    {"ViT", .is_fast = true, .crops = true, .takes_edge = true, .pads = true,
     .defaults = {SQUARE(224), .resample = RESAMPLE_BILINEAR, HALVES}},
    {"DeiT", .crops = true,
     .defaults = {SQUARE(256), CROP(224), .resample = RESAMPLE_BICUBIC, HALVES}},
    {"DeiT", .is_fast = true, .crops = true, .takes_edge = true, .pads = true,
     .defaults = {SQUARE(256), CROP(224), .resample = RESAMPLE_BICUBIC, HALVES}},
    {"Beit", .crops = true,
     .defaults = {SQUARE(256), CROP(224), .resample = RESAMPLE_BICUBIC, HALVES}},
    {"Beit", .is_fast = true, .crops = true, .takes_edge = true,
     .defaults = {SQUARE(224), .crop_height = 224, .crop_width = 224, .resample = RESAMPLE_BICUBIC,
                  HALVES}},
    {"Bit", .crops = true, .takes_edge = true, .reads_edge = true,
     .defaults = {.shortest_edge = 224, CROP(224), .resample = RESAMPLE_BICUBIC, CLIP}},
    {"Bit", .is_fast = true, .crops = true, .takes_edge = true, .reads_edge = true, .pads = true,
     .defaults = {.shortest_edge = 224, CROP(224), .resample = RESAMPLE_BICUBIC, CLIP}},
    {"CLIP", .crops = true, .takes_edge = true, .reads_edge = true,
     .defaults = {.shortest_edge = 224, CROP(224), .resample = RESAMPLE_BICUBIC, CLIP}},
    {"CLIP", .is_fast = true, .crops = true, .takes_edge = true, .reads_edge = true, .pads = true,
     .defaults = {.shortest_edge = 224, CROP(224), .resample = RESAMPLE_BICUBIC, CLIP}},
    {"Siglip", .reads_edge = true, .defaults = {SQUARE(224), .resample = RESAMPLE_BICUBIC, HALVES}},
    {"Siglip", .is_fast = true, .crops = true, .takes_edge = true, .reads_edge = true, .pads = true,
     .defaults = {SQUARE(224), .resample = RESAMPLE_BICUBIC, HALVES}},
};

/* Matches "ViTImageProcessor", "ViTImageProcessorFast", "ViTFeatureExtractor" of older files, and
 * "ViTImageProcessorPil", the slow class's name in transformers 5. */
static bool name_matches(const char *name, const struct processor *processor)
{
    static const char *const slow[] = {"ImageProcessor", "FeatureExtractor", "ImageProcessorPil"};
    const size_t len = strlen(processor->name);
    if (strncmp(name, processor->name, len) != 0)
        return false;
    if (processor->is_fast)
        return strcmp(name + len, "ImageProcessorFast") == 0;
    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++)
        if (strcmp(name + len, slow[i]) == 0)
            return true;
    return false;
}

/* Finds the class that the file names, else the class of the model's family. */
static enum err_code find_processor(const struct json_t *root, const char *family_class,
                                    const struct processor **out, struct err *err)
{
    const char *name = NULL;
    if (doc_get_string(root, "$", "feature_extractor_type", &name, err) ||
        doc_get_string(root, "$", "image_processor_type", &name, err))
        return err->code;
    for (size_t i = 0; i < sizeof processors / sizeof processors[0]; i++) {
        *out = &processors[i];
        if (name != NULL ? name_matches(name, *out) : strcmp((*out)->name, family_class) == 0)
            return ERR_OK;
    }
    return err_set(err, ERR_UNSUPPORTED,
                   "$.image_processor_type: '%.64s' is not one of the image processors of ViT, "
                   "DeiT, BEiT, Bit, CLIP and SigLIP",
                   name);
}

/* ---- switches ---- */

static enum err_code read_flag(const struct json_t *root, const char *key, bool *flag,
                               struct err *err)
{
    if (doc_has_null(root, key))
        *flag = false;
    return doc_get_bool(root, "$", key, flag, err);
}

static enum err_code read_flags(const struct json_t *root, const struct processor *processor,
                                struct preprocess *out, struct err *err)
{
    long long resample = out->resample;
    if (read_flag(root, "do_resize", &out->do_resize, err) ||
        read_flag(root, "do_center_crop", &out->do_center_crop, err) ||
        read_flag(root, "do_rescale", &out->do_rescale, err) ||
        read_flag(root, "do_normalize", &out->do_normalize, err) ||
        doc_get_integer(root, "$", "resample", RESAMPLE_NEAREST, RESAMPLE_HAMMING, &resample, err))
        return err->code;
    out->do_center_crop = out->do_center_crop && processor->crops;
    out->resample = (enum resample)resample;
    if (processor->is_fast && out->do_resize && resample > RESAMPLE_BICUBIC)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.resample %lld is not a filter of the fast image processors (supported: "
                       "0 to 3)",
                       resample);
    return ERR_OK;
}

/* Refuses a null or absent member that a switch needs. */
static enum err_code check_needs(const struct json_t *root, const struct processor *processor,
                                 const struct preprocess *out, struct err *err)
{
    const struct {
        const char *key, *flag;
        bool is_asked, has_default;
    } needs[] = {
        {"size", "do_resize", out->do_resize, !processor->is_fast},
        {"resample", "do_resize", out->do_resize, false},
        {"crop_size", "do_center_crop", out->do_center_crop, !processor->is_fast},
        {"rescale_factor", "do_rescale", out->do_rescale, false},
        {"image_mean", "do_normalize", out->do_normalize, !processor->is_fast},
        {"image_std", "do_normalize", out->do_normalize, !processor->is_fast},
    };
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (needs[i].is_asked && !needs[i].has_default && doc_has_null(root, needs[i].key))
            return err_set(err, ERR_UNSUPPORTED, "$.%s is null, but $.%s needs it", needs[i].key,
                           needs[i].flag);
    if (out->do_center_crop && out->crop_height == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.crop_size is missing, but $.do_center_crop needs it");
    return ERR_OK;
}

/* ---- sizes ---- */

/* A size in the spellings of transformers' get_size_dict: height and width, or the edge; the other
 * fields are zero. */
struct size {
    unsigned height, width, edge;
    bool has_longest; /* the longest edge is bounded, too */
};

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

static enum err_code read_size(const struct json_t *value, const char *key, bool number_is_edge,
                               struct size *out, struct err *err)
{
    const struct json_t *edge = doc_member(value, "shortest_edge");
    double number;
    *out = (struct size){0};
    if (doc_as_number(value, &number)) {
        if (read_side(value, key, number_is_edge ? &out->edge : &out->height, err))
            return err->code;
        out->width = out->height;
        return ERR_OK;
    }
    if (doc_array_count(value) == 2)
        return read_side(doc_array_item(value, 0), key, &out->height, err)
                   ? err->code
                   : read_side(doc_array_item(value, 1), key, &out->width, err);
    out->has_longest = doc_member(value, "longest_edge") != NULL;
    if (edge != NULL && doc_object_count(value) == 1 + (size_t)out->has_longest)
        return read_side(edge, key, &out->edge, err);
    if (doc_object_count(value) != 2)
        return wrong_size(key, err);
    return read_side(doc_member(value, "height"), key, &out->height, err)
               ? err->code
               : read_side(doc_member(value, "width"), key, &out->width, err);
}

/* `default_to_square` is a member of fast classes; a slow one has its own. */
static enum err_code read_resize(const struct json_t *root, const struct processor *processor,
                                 struct preprocess *out, struct err *err)
{
    const struct json_t *value = doc_member(root, "size");
    bool is_square = !processor->reads_edge;
    struct size size;
    if (processor->is_fast && read_flag(root, "default_to_square", &is_square, err))
        return err->code;
    if (value == NULL)
        return ERR_OK;
    if (read_size(value, "size", !is_square, &size, err))
        return err->code;
    if (size.edge > 0 && (!processor->takes_edge || (processor->is_fast && size.has_longest)))
        return err_set(err, ERR_UNSUPPORTED, "$.size: %sImageProcessor%s takes %s", processor->name,
                       processor->is_fast ? "Fast" : "",
                       processor->takes_edge ? "a shortest edge without a longest one here"
                                             : "a height and a width, not a shortest edge");
    out->resize_height = size.height;
    out->resize_width = size.width;
    out->shortest_edge = size.edge;
    return ERR_OK;
}

static enum err_code read_crop(const struct json_t *root, struct preprocess *out, struct err *err)
{
    const struct json_t *value = doc_member(root, "crop_size");
    struct size size;
    if (value == NULL)
        return ERR_OK;
    if (read_size(value, "crop_size", false, &size, err))
        return err->code;
    out->crop_height = size.height;
    out->crop_width = size.width;
    return size.edge == 0 ? ERR_OK : wrong_size("crop_size", err);
}

/* ---- pixels ---- */

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

/* Refuses a table that makes a pixel infinite, or black and white the same. */
static enum err_code check_pixels(const struct preprocess *preprocess, struct err *err)
{
    for (size_t c = 0; c < 3; c++) {
        float table[256];
        bool finite = true;
        preprocess_table(preprocess, c, table);
        for (int value = 0; value < 256; value++)
            finite = finite && isfinite(table[value]);
        if (!finite || table[0] == table[255])
            return err_set(err, ERR_UNSUPPORTED,
                           "$.rescale_factor, $.image_mean and $.image_std make pixels %s",
                           finite ? "that are all the same" : "that are not finite numbers");
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
    return check_pixels(out, err);
}

/* ---- the result ---- */

/* Checks that every image gets the model's input size; with size 0, that it gets a size. */
static enum err_code check_result(const struct json_t *root, const struct processor *processor,
                                  const struct preprocess *out, struct extent image_size,
                                  struct err *err)
{
    bool crop = out->do_center_crop;
    if (!crop && (!out->do_resize || out->shortest_edge != 0) && image_size.height == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "images would keep their own shape; the model takes one size");
    if (!crop && (!out->do_resize || out->shortest_edge != 0))
        return err_set(err, ERR_UNSUPPORTED,
                       "images would keep their own shape; the model takes %u x %u",
                       image_size.height, image_size.width);
    unsigned height = crop ? out->crop_height : out->resize_height;
    unsigned width = crop ? out->crop_width : out->resize_width;
    if (image_size.height == 0)
        image_size = (struct extent){height, width};
    if (height != image_size.height || width != image_size.width)
        return err_set(err, ERR_UNSUPPORTED, "images become %u x %u; the model takes %u x %u",
                       height, width, image_size.height, image_size.width);
    /* Padding to the size that an image already has changes nothing. */
    const struct json_t *value = doc_member(root, "pad_size");
    bool pads = false;
    struct size size;
    if (!processor->pads || read_flag(root, "do_pad", &pads, err) || !pads || value == NULL)
        return err->code;
    if (read_size(value, "pad_size", false, &size, err))
        return err->code;
    if (size.height == height && size.width == width)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "$.pad_size: padding of %u x %u to %u x %u is not supported", height, width,
                   size.height, size.width);
}

static enum err_code read_config(const struct json_t *root, const char *family_class,
                                 struct extent image_size, struct preprocess *out, struct err *err)
{
    const struct processor *processor = NULL;
    if (find_processor(root, family_class, &processor, err))
        return err->code;
    *out = processor->defaults;
    out->do_resize = out->do_rescale = out->do_normalize = true;
    out->rescale_factor = 1.0 / 255.0;
    out->pads_more_behind = processor->is_fast;
    if (read_flags(root, processor, out, err) || read_resize(root, processor, out, err) ||
        read_crop(root, out, err) || check_needs(root, processor, out, err) ||
        read_normalisation(root, out, err))
        return err->code;
    return check_result(root, processor, out, image_size, err);
}

/* ---- the file ---- */

/* Looks in the order of transformers 4.57: preprocessor_config.json, else processor_config.json,
 * which transformers 5 writes. */
enum err_code preprocess_file(const char *dir, const char **name, struct err *err)
{
    static const char *const names[] = {"preprocessor_config.json", "processor_config.json"};
    char path[PATH_MAX];
    bool found = false;
    *name = NULL;
    for (size_t i = 0; i < 2 && !found; i++) {
        *name = names[i];
        if (file_path(path, dir, names[i], err) || file_exists(path, &found, err))
            return err->code;
    }
    if (!found)
        *name = NULL;
    return ERR_OK;
}

/* Finds the steps: the whole file, or one member of it. */
static enum err_code find_steps(const struct json_t *root, const struct json_t **out,
                                struct err *err)
{
    static const char key[] = "image_processor";
    const struct json_t *nested = doc_member(root, key);
    *out = nested != NULL ? nested : root;
    if (doc_has_null(root, key) ||
        (nested != NULL && strcmp(doc_type_name(nested), "an object") != 0))
        return err_set(err, ERR_UNSUPPORTED, "$.%s: expected an object, found %s", key,
                       nested != NULL ? doc_type_name(nested) : "null");
    return ERR_OK;
}

enum err_code preprocess_open(struct preprocess *out, const char *dir, const char *family_class,
                              struct extent image_size, struct err *err)
{
    const char *name;
    char path[PATH_MAX];
    struct json_t *root = NULL;
    const struct json_t *steps;
    *out = (struct preprocess){0};
    if (preprocess_file(dir, &name, err))
        return err->code;
    const struct extent size = image_size.height > 0 ? image_size : extent_square(224);
    if (name == NULL)
        return err_set(
            err, ERR_UNSUPPORTED,
            "there is no preprocessor_config.json, which says how images are resized and "
            "normalised: copy it from the source of the model, or write the values of its "
            "training, such as {\"image_processor_type\": \"%sImageProcessor\", \"size\": "
            "{\"height\": %u, \"width\": %u}, \"image_mean\": [0.5, 0.5, 0.5], \"image_std\": "
            "[0.5, 0.5, 0.5]}",
            family_class, size.height, size.width);
    if (file_path(path, dir, name, err) || doc_read_object(&root, path, FILE_BYTES_MAX, err) ||
        find_steps(root, &steps, err))
        goto out;
    read_config(steps, family_class, image_size, out, err);
out:
    doc_free(root);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", name) : ERR_OK;
}

enum err_code preprocess_size(const char *dir, const char *family_class, struct extent *image_size,
                              struct err *err)
{
    struct preprocess preprocess;
    if (preprocess_open(&preprocess, dir, family_class, (struct extent){0}, err))
        return err->code;
    *image_size = preprocess.do_center_crop
                      ? (struct extent){preprocess.crop_height, preprocess.crop_width}
                      : (struct extent){preprocess.resize_height, preprocess.resize_width};
    return ERR_OK;
}
