/* png.c - reading; see png.h. libpng reports by longjmp, so there is one struct that holds
 * everything a decoding owns, one function that sets the jump and nothing else, and one place that
 * frees. (Its simplified interface returns errors, but inflates chunks that we skip.) Rows are read
 * straight into the arena's pixels; nothing else of the image's size is allocated.
 *
 * libpng reads only the chunks IHDR, PLTE, sBIT, IDAT and IEND. All others are skipped by length,
 * neither stored nor inflated. They cannot change the pixels of PIL's convert("RGB") (alpha and
 * tRNS are dropped, gamma and profiles ignored), and their parsers have libpng's memory bombs and
 * most of its CVEs. The orientation in eXIf is read in place, like a JPEG's.
 *
 * The pixels bound the inflating, with one exception: after the last row libpng inflates all image
 * data that still follows. 300 KB of it took 0.6 s, 30 MB would take a minute. So the input after
 * that row has a limit.
 *
 * libpng would skip chunks in front of IHDR if they are of a skipped kind. Such a file has no size
 * for png_probe, from which the server estimates the memory and time of an image: it is refused. */
#include "engine/vision/png.h"

#include "engine/vision/exif.h"

#include <assert.h>
#include <png.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    SURPLUS_BYTES_MAX = 1 << 16,
    PROBE_BYTES = 24, /* signature, and IHDR up to the height */
};

struct decoder {
    png_structp png;
    png_infop info;
    const unsigned char *bytes;
    size_t len, at;
    bool cut_off, no_memory;
    bool in_last_row, rows_complete;
    size_t surplus; /* bytes read after the last row was complete */
    const struct image_options *options;
    struct arena *arena;
    struct image *out;
    struct err *err;
};

static PNG_NORETURN void on_error(png_structp png, png_const_charp message)
{
    (void)message; /* repeats the client's bytes */
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep out, size_t len)
{
    struct decoder *decoder = png_get_io_ptr(png);
    if (len > decoder->len - decoder->at) {
        decoder->cut_off = true;
        png_longjmp(png, 1);
    }
    if (decoder->rows_complete && len > SURPLUS_BYTES_MAX - decoder->surplus)
        png_longjmp(png, 1);
    if (interrupt_look(decoder->options->interrupt, decoder->err))
        png_longjmp(png, 1);
    decoder->surplus += decoder->rows_complete ? len : 0;
    memcpy(out, decoder->bytes + decoder->at, len);
    decoder->at += len;
}

/* Called for each row when it has been inflated and unfiltered; changes nothing. */
static void on_row(png_structp png, png_row_infop row, png_bytep bytes)
{
    struct decoder *decoder = png_get_user_transform_ptr(png);
    (void)row;
    (void)bytes;
    decoder->rows_complete = decoder->in_last_row;
}

static png_voidp on_malloc(png_structp png, png_alloc_size_t bytes)
{
    struct decoder *decoder = png_get_mem_ptr(png);
    void *memory = malloc(bytes);
    if (memory == NULL)
        decoder->no_memory = true;
    return memory;
}

static void on_free(png_structp png, png_voidp memory)
{
    (void)png;
    free(memory);
}

/* Statistics of all samples of a 16-bit grey image. */
struct grey16 {
    unsigned min, max;
    unsigned bits; /* all samples or-ed */
};

static enum err_code grey16_scan(const struct image *image, struct interrupt *interrupt,
                                 struct grey16 *out, struct err *err)
{
    struct grey16 seen = {.min = UINT16_MAX};
    for (size_t y = 0; y < image->height; y++) {
        const unsigned char *row = image->rgb + y * image->width * 3;
        if (interrupt_look(interrupt, err))
            return err->code;
        for (size_t x = 0; x < image->width; x++) {
            unsigned value = (unsigned)row[x * 2] << 8 | row[x * 2 + 1];
            seen.min = value < seen.min ? value : seen.min;
            seen.max = value > seen.max ? value : seen.max;
            seen.bits |= value;
        }
    }
    *out = seen;
    return ERR_OK;
}

/* A byte is ((sample >> shift) - zero) x 255 / range, rounded. */
struct grey16_scale {
    unsigned shift, zero, range;
};

/* sBIT says how many bits of the 16 were measured. By the PNG specification (11.3.2.4) they are the
 * upper ones, with the lower filled by zeros or by repetition. Some frame grabbers write an n-bit
 * value unchanged, in the lower bits. The two differ: a sample that follows the specification and
 * is below 2^n has zeros in its lower 16 - n bits. */
static struct grey16_scale grey16_choose(struct grey16 seen, unsigned bits, bool minmax)
{
    if (minmax)
        return (struct grey16_scale){.zero = seen.min,
                                     .range = seen.max > seen.min ? seen.max - seen.min : 1};
    unsigned range = (1u << bits) - 1, unused = 16 - bits;
    bool in_lower_bits = seen.max <= range && (seen.bits & ((1u << unused) - 1)) != 0;
    return (struct grey16_scale){.shift = in_lower_bits ? 0 : unused, .range = range};
}

/* The samples are at the start of each RGB row, two bytes each, so the row is rewritten from its
 * end: pixel x is written at 3x and read at 2x. */
static enum err_code grey16_expand(struct image *image, struct grey16_scale scale,
                                   struct interrupt *interrupt, struct err *err)
{
    for (size_t y = 0; y < image->height; y++) {
        unsigned char *row = image->rgb + y * image->width * 3;
        if (interrupt_look(interrupt, err))
            return err->code;
        for (size_t x = image->width; x-- > 0;) {
            unsigned value = (unsigned)row[x * 2] << 8 | row[x * 2 + 1];
            value = ((value >> scale.shift) - scale.zero) * 255;
            memset(row + x * 3, (int)((value + scale.range / 2) / scale.range), 3);
        }
    }
    return ERR_OK;
}

/* The samples of 16-bit grey become RGB. */
static enum err_code grey16_finish(const struct decoder *decoder, struct image *image)
{
    struct interrupt *interrupt = decoder->options->interrupt;
    struct grey16 seen;
    png_color_8p depth;
    unsigned bits = 16;
    if (grey16_scan(image, interrupt, &seen, decoder->err))
        return decoder->err->code;
    if (png_get_sBIT(decoder->png, decoder->info, &depth) != 0 && depth->gray >= 1 &&
        depth->gray <= 16)
        bits = depth->gray;
    return grey16_expand(image, grey16_choose(seen, bits, decoder->options->grey16_minmax),
                         interrupt, decoder->err);
}

/* After this the rows are RGB bytes; those of 16-bit grey are big-endian samples. */
static void set_transforms(const struct decoder *decoder, bool grey16)
{
    png_structp png = decoder->png;
    unsigned type = png_get_color_type(png, decoder->info);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    if (type & PNG_COLOR_MASK_ALPHA)
        png_set_strip_alpha(png);
    if (grey16)
        return;
    if (type == PNG_COLOR_TYPE_GRAY)
        png_set_expand_gray_1_2_4_to_8(png);
    if (!(type & PNG_COLOR_MASK_COLOR))
        png_set_gray_to_rgb(png);
    png_set_strip_16(png); /* keeps the high byte, as PIL does */
}

static enum err_code read_rows(struct decoder *decoder, const struct image *image)
{
    png_set_read_user_transform_fn(decoder->png, on_row);
    png_set_user_transform_info(decoder->png, decoder, 0, 0);
    int passes = png_set_interlace_handling(decoder->png);
    png_read_update_info(decoder->png, decoder->info);
    assert(png_get_rowbytes(decoder->png, decoder->info) <= (size_t)image->width * 3);
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < image->height; y++) {
            if (interrupt_look(decoder->options->interrupt, decoder->err))
                return decoder->err->code;
            if (pass == passes - 1 && y == image->height - 1) {
                /* The last of Adam7's passes fills the odd rows, so a last row with an even index
                 * has no data in it: all rows are complete when it begins. */
                decoder->in_last_row = true;
                decoder->rows_complete = passes > 1 && image->height % 2 == 1;
            }
            png_read_row(decoder->png, image->rgb + y * image->width * 3, NULL);
        }
    decoder->rows_complete = decoder->in_last_row = false;
    png_read_end(decoder->png, NULL);
    return ERR_OK;
}

/* ---- orientation ---- */

static unsigned read_u32(const unsigned char *bytes)
{
    return (unsigned)bytes[0] << 24 | (unsigned)bytes[1] << 16 | (unsigned)bytes[2] << 8 | bytes[3];
}

/* Reads the orientation. The last eXIf chunk counts, before the image data or behind them (PNG
 * 11.3.4.5). As in PIL, the block may begin with the letters that it has in a JPEG. */
static unsigned orientation_of(const unsigned char *bytes, size_t len)
{
    enum { SIGNATURE = 8, HEAD = 8, CRC = 4, UPRIGHT = 1 };
    static const char prefix[] = "Exif\0"; /* and a NUL */
    unsigned orientation = UPRIGHT;
    size_t at = SIGNATURE;
    while (len - at >= HEAD + CRC) {
        const unsigned char *block = bytes + at + HEAD;
        size_t block_len = read_u32(bytes + at);
        if (block_len > len - at - HEAD - CRC || memcmp(bytes + at + 4, "IEND", 4) == 0)
            break;
        at += HEAD + block_len + CRC;
        if (memcmp(block - 4, "eXIf", 4) != 0)
            continue;
        if (block_len >= sizeof prefix && memcmp(block, prefix, sizeof prefix) == 0) {
            block += sizeof prefix;
            block_len -= sizeof prefix;
        }
        orientation = exif_orientation(block, block_len);
    }
    return orientation;
}

/* Rotates into a new image: a file on its side cannot be rotated in place row by row. */
static enum err_code turn(const struct decoder *decoder, struct image *image)
{
    const unsigned orientation = orientation_of(decoder->bytes, decoder->len);
    const struct exif_placement place = exif_placement(orientation, image->width, image->height);
    const struct image file = *image;
    const unsigned char *pixel = file.rgb;
    if (orientation == 1)
        return ERR_OK;
    if (image_create(image, place.on_side ? file.height : file.width,
                     place.on_side ? file.width : file.height, decoder->options, decoder->arena,
                     decoder->err))
        return decoder->err->code;
    for (ptrdiff_t y = 0; y < (ptrdiff_t)file.height; y++) {
        if (interrupt_look(decoder->options->interrupt, decoder->err))
            return decoder->err->code;
        for (ptrdiff_t x = 0; x < (ptrdiff_t)file.width; x++, pixel += 3)
            memcpy(image->rgb + 3 * (place.origin + x * place.step_x + y * place.step_y), pixel, 3);
    }
    return ERR_OK;
}

/* Leaves by longjmp on libpng's errors; returns early on others. */
static void decode(struct decoder *decoder)
{
    static const unsigned char transparency[] = "tRNS", significance[] = "sBIT";
    png_structp png = decoder->png;
    png_set_chunk_malloc_max(png, 1 << 16);
    png_set_chunk_cache_max(png, 16);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, transparency, 1);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, significance, 1);
    png_set_read_fn(png, decoder, on_read);
    png_read_info(png, decoder->info);
    struct image image;
    if (image_create(&image, png_get_image_width(png, decoder->info),
                     png_get_image_height(png, decoder->info), decoder->options, decoder->arena,
                     decoder->err))
        return;
    bool grey16 = png_get_bit_depth(png, decoder->info) == 16 &&
                  !(png_get_color_type(png, decoder->info) & PNG_COLOR_MASK_COLOR);
    set_transforms(decoder, grey16);
    if (read_rows(decoder, &image) || (grey16 && grey16_finish(decoder, &image)) ||
        turn(decoder, &image))
        return;
    *decoder->out = image;
}

/* The only local variable that is live across the jump is the parameter, which never changes. After
 * an interrupt err is already set and does not change. */
static void decode_or_explain(struct decoder *decoder)
{
    if (setjmp(png_jmpbuf(decoder->png)) == 0)
        decode(decoder);
    else if (decoder->no_memory)
        err_set(decoder->err, ERR_NO_MEMORY, "out of memory while decoding a PNG");
    else if (decoder->cut_off)
        err_set(decoder->err, ERR_UNUSABLE, "the PNG is cut off after %zu bytes", decoder->len);
    else
        err_set(decoder->err, ERR_UNUSABLE, "the PNG is damaged near byte %zu", decoder->at);
}

enum err_code png_decode(struct image *out, const void *bytes, size_t len,
                         const struct image_options *options, struct arena *arena, struct err *err)
{
    struct decoder decoder = {
        .bytes = bytes, .len = len, .options = options, .arena = arena, .out = out, .err = err};
    unsigned width, height;
    if (len >= PROBE_BYTES && !png_probe(bytes, len, &width, &height))
        return err_set(err, ERR_UNUSABLE, "the PNG does not begin with its header (IHDR)");
    decoder.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &decoder, on_error, on_warning,
                                           &decoder, on_malloc, on_free);
    if (decoder.png != NULL)
        decoder.info = png_create_info_struct(decoder.png);
    if (decoder.info != NULL)
        decode_or_explain(&decoder);
    else
        err_set(err, ERR_NO_MEMORY, "out of memory while opening a PNG");
    png_destroy_read_struct(&decoder.png, &decoder.info, NULL);
    return out->rgb != NULL ? ERR_OK : err->code;
}

/* PNG 5.6: IHDR comes first, so the sizes lie at bytes 16 and 20. */
bool png_probe(const void *bytes, size_t len, unsigned *width, unsigned *height)
{
    const unsigned char *at = bytes;
    if (len < PROBE_BYTES || memcmp(at + 8, "\0\0\0\x0dIHDR", 8) != 0)
        return false;
    bool on_side = exif_placement(orientation_of(bytes, len), 1, 1).on_side;
    *width = read_u32(at + (on_side ? 20 : 16));
    *height = read_u32(at + (on_side ? 16 : 20));
    return true;
}

/* Counts the pixels (twice if they are rotated), zlib's window and state, a chunk (decode), and
 * libpng's two rows of at most eight bytes a pixel, one of which it may have to grow. */
size_t png_decode_bytes(const void *bytes, size_t len)
{
    enum { STATE_BYTES = 256 * 1024, ROW_BYTES_PER_PIXEL = 32 };
    unsigned width, height;
    if (!png_probe(bytes, len, &width, &height))
        return STATE_BYTES;
    size_t images = orientation_of(bytes, len) == 1 ? 1 : 2;
    size_t row = read_u32((const unsigned char *)bytes + 16); /* the file's width */
    return images * width * height * 3 + row * ROW_BYTES_PER_PIXEL + STATE_BYTES;
}
