#include "engine/prepare/pipeline.h"

#include "engine/prepare/views.h"
#include "engine/vision/image.h"

#include <math.h>

enum { CLS_AND_SEP = 2 };

/* ---- open and close ---- */

/* Windows, views and heads count on one special token at each end of a text. */
static enum err_code check_ends(const struct tokenizer_template *single, struct err *err)
{
    const struct template_item *items = single->items;
    if (single->count == 1 + CLS_AND_SEP && items[0].source == TEMPLATE_SPECIAL &&
        items[1].source == TEMPLATE_TEXT && items[2].source == TEMPLATE_SPECIAL)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "tokenizer.json: $.post_processor: only one special token at each end of a text "
                   "is supported");
}

static enum err_code open_tokenizer(struct pipeline *pipeline, const char *dir, struct err *err)
{
    const struct spec *spec = pipeline->spec;
    if (tokenizer_open(&pipeline->tokenizer, dir, spec_tokens_max(spec), err))
        return err->code;
    if (spec->head != HEAD_STATES && check_ends(&pipeline->tokenizer->single, err))
        return err->code;
    tokenizer_fit(pipeline->tokenizer, spec->vocab_size);
    unsigned words = pipeline->tokenizer->vocab_size;
    if (words > spec->vocab_size)
        return err_set(err, ERR_UNSUPPORTED,
                       "the vocabulary has %u entries but config.json's vocab_size is %u", words,
                       spec->vocab_size);
    const unsigned room = pipeline->tokenizer->limit - CLS_AND_SEP;
    unsigned stride = spec->long_text.stride;
    if (stride == 0 && spec_row_size(spec) > 0) /* windows of tokens need each other's context */
        stride = room - room / 4;
    if (windows_shape_make(&pipeline->windows, room, stride, err))
        return err_prefix(err, "attnd.json: ");
    if (spec->head == HEAD_TAGS &&
        tokenizer_piece_lengths(pipeline->tokenizer, &pipeline->piece_lengths,
                                &pipeline->tokenizer->arena, err))
        return err_prefix(err, "tokenizer.json: ");
    return ERR_OK;
}

enum err_code pipeline_fit(struct spec *spec, const char *dir, struct err *err)
{
    struct extent size;
    const char *name;
    if (!spec->family->takes_any_size)
        return ERR_OK;
    if (preprocess_size(dir, spec->family->image_processor, &size, err) ||
        preprocess_file(dir, &name, err))
        return err->code;
    return spec_fit_image_size(spec, size, err) ? err_prefix(err, "%s: ", name) : ERR_OK;
}

/* Patches of a turned image are the turned patches only where both are squares and patches cover
 * it. */
static enum err_code check_views(const struct spec *spec, struct err *err)
{
    if (spec->image_reading.views == 1 || spec_reads_upright(spec))
        return ERR_OK;
    if (!extent_is_square(spec->image_size) || !extent_is_square(spec->patch))
        return err_set(err, ERR_UNSUPPORTED,
                       "attnd.json: $.views: images of %s pixels in patches of %s are not turned "
                       "(supported: squares in squares)",
                       extent_text(spec->image_size).text, extent_text(spec->patch).text);
    if (spec->image_size.width % spec->patch.width != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "attnd.json: $.views: patches of %u pixels do not cover an image of %u",
                       spec->patch.width, spec->image_size.width);
    return ERR_OK;
}

static enum err_code open_preprocess(struct pipeline *pipeline, const char *dir, struct err *err)
{
    const struct spec *spec = pipeline->spec;
    if (check_views(spec, err))
        return err->code;
    if (preprocess_open(&pipeline->preprocess, dir, spec->family->image_processor, spec->image_size,
                        err))
        return err->code;
    pipeline->preprocess.keeps_lines = spec->image_reading.reduction == REDUCTION_LINES;
    return ERR_OK;
}

enum err_code pipeline_open(struct pipeline *out, const struct spec *spec, const char *dir,
                            struct err *err)
{
    *out = (struct pipeline){.spec = spec};
    if (spec->family->kind == ENGINE_IMAGE)
        return open_preprocess(out, dir, err);
    return open_tokenizer(out, dir, err);
}

void pipeline_close(struct pipeline *pipeline)
{
    tokenizer_close(pipeline->tokenizer);
    pipeline->tokenizer = NULL;
}

static const char *describe_resize(const struct preprocess *steps, struct arena *arena)
{
    static const char *const filters[] = {"nearest", "Lanczos", "bilinear",
                                          "bicubic", "box",     "Hamming"};
    const char *filter = filters[steps->resample];
    if (!steps->do_resize)
        return "taken at its size";
    if (steps->shortest_edge > 0)
        return arena_format(arena, "resized to a shorter side of %u (%s)", steps->shortest_edge,
                            filter);
    return arena_format(arena, "resized to %u x %u (%s)", steps->resize_width, steps->resize_height,
                        filter);
}

const char *pipeline_describe(const struct pipeline *pipeline, struct arena *arena)
{
    const struct preprocess *steps = &pipeline->preprocess;
    if (pipeline->tokenizer != NULL)
        return pipeline->tokenizer->kind->name;
    const char *resize = describe_resize(steps, arena);
    const char *crop = !steps->do_center_crop ? ""
                                              : arena_format(arena, ", cropped to %u x %u",
                                                             steps->crop_width, steps->crop_height);
    const char *rescale =
        !steps->do_rescale ? "" : arena_format(arena, ", times %.6g", steps->rescale_factor);
    const float *mean = steps->mean, *std = steps->std;
    const char *normalise = !steps->do_normalize
                                ? ""
                                : arena_format(arena, ", less %.4g %.4g %.4g, over %.4g %.4g %.4g",
                                               (double)mean[0], (double)mean[1], (double)mean[2],
                                               (double)std[0], (double)std[1], (double)std[2]);
    if (resize == NULL || crop == NULL || rescale == NULL || normalise == NULL)
        return NULL;
    const unsigned views = pipeline->spec->image_reading.views;
    const char *in_views = views == 1 ? "" : arena_format(arena, "; in %u views", views);
    if (in_views == NULL)
        return NULL;
    return arena_format(
        arena, "%s%s%s%s; greys of 16 bits by %s%s", resize, crop, rescale, normalise,
        pipeline->spec->grey16_minmax ? "each image's own range" : "their full range", in_views);
}

/* ---- texts ---- */

bool pipeline_reads_pairs(const struct pipeline *pipeline)
{
    const struct tokenizer_template *order = &pipeline->tokenizer->pair;
    const unsigned types = pipeline->spec->token_types;
    for (unsigned i = 0; i < order->count; i++)
        if (types > 0 && order->items[i].type >= types)
            return false;
    return order->count > 0;
}

static enum err_code encode_pair(const struct pipeline *pipeline, unsigned limit,
                                 const struct pipeline_text *text, struct interrupt *interrupt,
                                 struct arena *arena, struct encoding *out, struct err *err)
{
    if (!text->is_utf8 && (err_check_utf8(err, text->bytes, text->len, "the text") ||
                           err_check_utf8(err, text->pair, text->pair_len, "the second text")))
        return err->code;
    if (!pipeline_reads_pairs(pipeline))
        return err_set(err, ERR_UNUSABLE, "the model reads one text, not a pair");
    return tokenizer_encode_pair(pipeline->tokenizer, limit, text->bytes, text->len, text->pair,
                                 text->pair_len, interrupt, arena, out, err);
}

enum err_code pipeline_encode(const struct pipeline *pipeline, unsigned limit,
                              const struct pipeline_text *text, struct interrupt *interrupt,
                              struct arena *arena, struct encoding *out, struct err *err)
{
    const struct tokenizer *tokenizer = pipeline->tokenizer;
    if (text->pair_len > 0)
        encode_pair(pipeline, limit, text, interrupt, arena, out, err);
    else if (text->is_utf8)
        tokenizer_encode_utf8(tokenizer, limit, text->bytes, text->len, interrupt, arena, out, err);
    else
        tokenizer_encode(tokenizer, limit, text->bytes, text->len, interrupt, arena, out, err);
    if (err->code == ERR_OK && !tokenizer_has_token(out))
        err_set(err, ERR_UNUSABLE,
                "the text has no token: it is empty, blank or holds only control characters");
    return err->code;
}

/* ---- images ---- */

enum err_code pipeline_decode(const struct pipeline *pipeline, const void *bytes, size_t len,
                              size_t pixels_max, struct interrupt *interrupt, struct arena *arena,
                              struct image *out, struct err *err)
{
    const struct image_options options = {.pixels_max = pixels_max,
                                          .grey16_minmax = pipeline->spec->grey16_minmax,
                                          .interrupt = interrupt};
    return image_decode(out, bytes, len, &options, arena, err);
}

static unsigned scaled(unsigned side, unsigned from, unsigned to)
{
    return side == 0 ? 0 : (unsigned)fmax(1, round((double)side * to / from));
}

static struct preprocess preprocess_at(const struct pipeline *pipeline, struct extent to)
{
    struct preprocess out = pipeline->preprocess;
    const struct extent from = pipeline->spec->image_size;
    out.resize_height = scaled(out.resize_height, from.height, to.height);
    out.resize_width = scaled(out.resize_width, from.width, to.width);
    out.shortest_edge = scaled(out.shortest_edge, from.height, to.height);
    out.crop_height = scaled(out.crop_height, from.height, to.height);
    out.crop_width = scaled(out.crop_width, from.width, to.width);
    return out;
}

/* The image in each view, cut into patches. */
static enum err_code cut_views(const struct pipeline *pipeline, const struct preprocess *preprocess,
                               const struct image *fitted, const struct pipeline_size *size,
                               size_t numbers, struct arena *scratch, float *patches,
                               struct err *err)
{
    const bool is_upright = spec_reads_upright(pipeline->spec);
    const size_t bytes = 3 * (size_t)fitted->width * fitted->height;
    struct image turned = *fitted;
    preprocess_patches(preprocess, fitted, size->patch, patches);
    if (size->views == 1)
        return ERR_OK;
    turned.rgb = arena_alloc(scratch, bytes);
    if (turned.rgb == NULL)
        return err_no_memory(err, bytes);
    for (unsigned v = 1; v < size->views; v++) {
        (is_upright ? views_move : views_turn)(fitted, v, turned.rgb);
        preprocess_patches(preprocess, &turned, size->patch, patches + v * numbers);
    }
    return ERR_OK;
}

enum err_code pipeline_patches(const struct pipeline *pipeline, const struct image *image,
                               const struct pipeline_size *size, struct interrupt *interrupt,
                               struct arena *scratch, struct arena *arena, struct engine_input *out,
                               struct err *err)
{
    const struct spec *spec = pipeline->spec;
    const struct pipeline_size own = {spec->image_size, spec->patch, spec->image_reading.views};
    struct image fitted;
    if (size == NULL)
        size = &own;
    struct preprocess preprocess = preprocess_at(pipeline, size->image_size);
    if (preprocess_geometry(&preprocess, image, interrupt, scratch, &fitted, err))
        return err->code;
    const size_t count = extent_area(extent_parts(size->image_size, size->patch));
    const size_t numbers = count * spec->channels * extent_area(size->patch);
    float *patches = arena_alloc_array(arena, size->views, numbers * sizeof *patches);
    if (patches == NULL)
        return err_no_memory(err, size->views * numbers * sizeof *patches);
    *out = (struct engine_input){.kind = ENGINE_IMAGE,
                                 .tokens = (unsigned)count + spec_image_specials(spec),
                                 .patches = patches,
                                 .view_numbers = numbers,
                                 .width = image->width,
                                 .height = image->height};
    if (cut_views(pipeline, &preprocess, &fitted, size, numbers, scratch, patches, err))
        return err->code;
    /* The first token of each view is listed. A single view needs no list. */
    const unsigned views = size->views;
    if (views == 1)
        return ERR_OK;
    unsigned *offset = arena_alloc_array(arena, views + 1, sizeof *offset);
    if (offset == NULL)
        return err_no_memory(err, (views + 1) * sizeof *offset);
    for (unsigned v = 0; v <= views; v++)
        offset[v] = v * out->tokens;
    out->tokens *= views;
    out->windows = views;
    out->window_offset = offset;
    return ERR_OK;
}

size_t pipeline_patches_bytes(const struct pipeline *pipeline)
{
    const struct spec *spec = pipeline->spec;
    const size_t views = spec->image_reading.views;
    const size_t numbers = (size_t)spec->patches * spec->channels * extent_area(spec->patch);
    const size_t list = views == 1 ? 0 : (views + 1) * sizeof(unsigned) + ARENA_ALIGNMENT;
    return views * numbers * sizeof(float) + ARENA_ALIGNMENT + list;
}
