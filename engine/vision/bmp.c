/* bmp.c - see decoders.h. A file is a header of 14 bytes, a DIB header whose first number is its
 * length and tells its version, a palette or masks of channels, and rows of pixels, bottom row
 * first unless the height is negative (Microsoft, Windows GDI, "Bitmap Storage": BITMAPFILEHEADER,
 * BITMAPCOREHEADER, BITMAPINFOHEADER, BITMAPV4HEADER, BITMAPV5HEADER). Numbers are little-endian.
 *
 * The decoder reads 1, 4 and 8 bits with a palette, 16, 24 and 32 bits, masks (BI_BITFIELDS), and
 * runs (BI_RLE8, BI_RLE4). Pixels equal PIL's: a channel of n bits is v x 255 / (2^n - 1), rounded
 * down; alpha, gamma and profiles are ignored; pixels that runs leave out have the first colour.
 *
 * Nothing is allocated but the image's pixels, and these only when the file is as long as its
 * header declares. Runs are the exception, since a few bytes may stand for a whole image:
 * pixels_max bounds what they take, and the file's length the work, at most 255 pixels a code.
 * The decoder refuses what has no agreed meaning: an index behind the palette, a mask with gaps or
 * without bits, runs that end before the last row without saying so. */
#include "engine/vision/decoders.h"

#include <stdint.h>
#include <string.h>

enum {
    FILE_HEADER_BYTES = 14,
    CORE_HEADER_BYTES = 12, /* OS/2 1.x: 16-bit sides, palette entries of three bytes */
    INFO_HEADER_BYTES = 40,
    MASKS_AT = FILE_HEADER_BYTES + INFO_HEADER_BYTES, /* in or behind the header */
    MASKS_BYTES = 12,
    COLOURS_MAX = 256,
};

enum compression { BI_RGB, BI_RLE8, BI_RLE4, BI_BITFIELDS };

/* A channel of a pixel is (pixel >> shift) & max. */
struct channel {
    unsigned shift;
    uint32_t max;
};

struct decoder {
    const unsigned char *bytes;
    size_t len;
    size_t header_bytes; /* of the DIB header */
    uint32_t width, height;
    bool top_down;
    unsigned bits;
    uint32_t compression;
    size_t pixels_at, row_bytes, stride; /* a row without and with its padding */
    unsigned colours;                    /* of the palette; 0: there is none */
    unsigned char palette[COLOURS_MAX][3];
    struct channel channels[3]; /* red, green, blue; without a palette */
};

static uint32_t read_u16(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t read_u32(const unsigned char *at)
{
    return read_u16(at) | read_u16(at + 2) << 16;
}

static enum err_code cut_off(const struct decoder *decoder, struct err *err)
{
    return err_set(err, ERR_UNUSABLE, "the BMP is cut off after %zu bytes", decoder->len);
}

/* ---- header ---- */

static enum err_code read_sizes(struct decoder *decoder, struct err *err)
{
    const unsigned char *header = decoder->bytes + FILE_HEADER_BYTES;
    if (decoder->len < FILE_HEADER_BYTES + CORE_HEADER_BYTES)
        return cut_off(decoder, err);
    decoder->header_bytes = read_u32(header);
    if (decoder->header_bytes == CORE_HEADER_BYTES) {
        decoder->width = read_u16(header + 4);
        decoder->height = read_u16(header + 6);
        decoder->bits = read_u16(header + 10);
        return ERR_OK;
    }
    static const unsigned char known[] = {INFO_HEADER_BYTES, 52, 56, 108, 124};
    if (decoder->header_bytes > UINT8_MAX ||
        memchr(known, (int)decoder->header_bytes, sizeof known) == NULL)
        return err_set(err, ERR_UNUSABLE,
                       "the BMP has a header of %zu bytes; 12, 40, 52, 56, 108 and 124 can be "
                       "decoded",
                       decoder->header_bytes);
    if (decoder->header_bytes > decoder->len - FILE_HEADER_BYTES)
        return cut_off(decoder, err);
    decoder->width = read_u32(header + 4);
    decoder->height = read_u32(header + 8);
    decoder->top_down = decoder->height > INT32_MAX;
    if (decoder->top_down)
        decoder->height = 0 - decoder->height;
    decoder->bits = read_u16(header + 14);
    decoder->compression = read_u32(header + 16);
    return ERR_OK;
}

static enum err_code check_kind(const struct decoder *decoder, struct err *err)
{
    const unsigned bits = decoder->bits;
    const bool has_palette = bits == 1 || bits == 4 || bits == 8;
    const bool has_masks = bits == 16 || bits == 32;
    const bool is_core = decoder->header_bytes == CORE_HEADER_BYTES;
    const bool is_known = decoder->compression == BI_RGB
                              ? has_palette || bits == 24 || (has_masks && !is_core)
                          : decoder->compression == BI_RLE8      ? bits == 8
                          : decoder->compression == BI_RLE4      ? bits == 4
                          : decoder->compression == BI_BITFIELDS ? has_masks
                                                                 : false;
    if (is_known)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "the BMP has %u bits a pixel in compression %u; 1, 4, 8, 16, 24 and 32 bits, "
                   "runs and masks can be decoded",
                   bits, decoder->compression);
}

static enum err_code read_palette(struct decoder *decoder, struct err *err)
{
    const bool is_core = decoder->header_bytes == CORE_HEADER_BYTES;
    const size_t at = FILE_HEADER_BYTES + decoder->header_bytes, entry = is_core ? 3 : 4;
    const uint32_t all = 1u << decoder->bits;
    const uint32_t used = is_core ? 0 : read_u32(decoder->bytes + FILE_HEADER_BYTES + 32);
    decoder->colours = used == 0 || used > all ? all : used;
    if (decoder->colours * entry > decoder->len - at)
        return cut_off(decoder, err);
    for (unsigned i = 0; i < decoder->colours; i++)
        for (unsigned c = 0; c < 3; c++) /* blue comes first */
            decoder->palette[i][c] = decoder->bytes[at + i * entry + 2 - c];
    return ERR_OK;
}

static enum err_code read_masks(struct decoder *decoder, struct err *err)
{
    static const uint32_t usual[][3] = {{0x7C00, 0x03E0, 0x001F}, {0xFF0000, 0x00FF00, 0x0000FF}};
    const bool are_told = decoder->compression == BI_BITFIELDS;
    if (are_told && decoder->len < MASKS_AT + MASKS_BYTES)
        return cut_off(decoder, err);
    for (unsigned c = 0; c < 3; c++) {
        const uint32_t mask = are_told ? read_u32(decoder->bytes + MASKS_AT + 4 * (size_t)c)
                                       : usual[decoder->bits != 16][c];
        const unsigned shift = mask != 0 ? (unsigned)__builtin_ctz(mask) : 0;
        const uint32_t max = mask >> shift;
        if (max == 0 || (max & (max + 1)) != 0 || (decoder->bits == 16 && mask > UINT16_MAX))
            return err_set(err, ERR_UNUSABLE, "the BMP is damaged: mask %u is 0x%08x", c, mask);
        decoder->channels[c] = (struct channel){.shift = shift, .max = max};
    }
    return ERR_OK;
}

static enum err_code read_header(struct decoder *decoder, const void *bytes, size_t len,
                                 struct err *err)
{
    *decoder = (struct decoder){.bytes = bytes, .len = len};
    if (read_sizes(decoder, err) || check_kind(decoder, err) ||
        (decoder->bits <= 8 ? read_palette(decoder, err) : read_masks(decoder, err)))
        return err->code;
    /* The sizes that are declared are held against the file's length. */
    decoder->pixels_at = read_u32(decoder->bytes + 10);
    if (decoder->pixels_at < FILE_HEADER_BYTES + decoder->header_bytes)
        return err_set(err, ERR_UNUSABLE, "the BMP is damaged: its pixels begin at byte %zu",
                       decoder->pixels_at);
    if (decoder->pixels_at > decoder->len)
        return cut_off(decoder, err);
    decoder->row_bytes = ((size_t)decoder->width * decoder->bits + 7) / 8;
    decoder->stride = (decoder->row_bytes + 3) / 4 * 4;
    if (decoder->compression == BI_RLE8 || decoder->compression == BI_RLE4 || decoder->height == 0)
        return ERR_OK;
    const size_t before_last = memory_product(decoder->stride, decoder->height - 1);
    if (memory_sum(before_last, decoder->row_bytes) > decoder->len - decoder->pixels_at)
        return cut_off(decoder, err);
    return ERR_OK;
}

/* ---- pixels ---- */

static enum err_code refuse_index(const struct decoder *decoder, unsigned index, struct err *err)
{
    return err_set(err, ERR_UNUSABLE, "the BMP is damaged: a pixel has colour %u of %u", index,
                   decoder->colours);
}

static unsigned char *row_of(const struct decoder *decoder, const struct image *image, size_t y)
{
    return image->rgb + (decoder->top_down ? y : image->height - 1 - y) * image->width * 3;
}

/* The first pixel of a byte is in its upper bits. */
static unsigned index_at(const unsigned char *packed, size_t x, unsigned bits)
{
    const size_t bit = x * bits;
    return packed[bit / 8] >> (8 - bits - bit % 8) & ((1u << bits) - 1);
}

static enum err_code expand_row(const struct decoder *decoder, const unsigned char *row,
                                unsigned char *rgb, struct err *err)
{
    for (size_t x = 0; x < decoder->width; x++, rgb += 3) {
        const unsigned index = index_at(row, x, decoder->bits);
        if (index >= decoder->colours)
            return refuse_index(decoder, index, err);
        memcpy(rgb, decoder->palette[index], 3);
    }
    return ERR_OK;
}

static void split_row(const struct decoder *decoder, const unsigned char *row, unsigned char *rgb)
{
    const size_t step = decoder->bits / 8;
    for (size_t x = 0; x < decoder->width; x++, row += step, rgb += 3) {
        const uint32_t low = read_u16(row);
        const uint32_t pixel = step == 2   ? low
                               : step == 3 ? low | (uint32_t)row[2] << 16
                                           : read_u32(row);
        for (unsigned c = 0; c < 3; c++) {
            const struct channel channel = decoder->channels[c];
            const uint32_t value = pixel >> channel.shift & channel.max;
            rgb[c] =
                (unsigned char)(channel.max == 255 ? value : (uint64_t)value * 255 / channel.max);
        }
    }
}

static enum err_code read_rows(const struct decoder *decoder, const struct image *image,
                               struct interrupt *interrupt, struct err *err)
{
    const unsigned char *row = decoder->bytes + decoder->pixels_at;
    for (size_t y = 0; y < image->height; y++) {
        unsigned char *rgb = row_of(decoder, image, y);
        if (interrupt_look(interrupt, err))
            return err->code;
        if (decoder->colours == 0)
            split_row(decoder, row + y * decoder->stride, rgb);
        else if (expand_row(decoder, row + y * decoder->stride, rgb, err))
            return err->code;
    }
    return ERR_OK;
}

/* ---- runs ---- */

static enum err_code fill(const struct decoder *decoder, const struct image *image,
                          struct interrupt *interrupt, struct err *err)
{
    for (size_t y = 0; y < image->height; y++) {
        unsigned char *rgb = image->rgb + y * image->width * 3;
        if (interrupt_look(interrupt, err))
            return err->code;
        for (size_t x = 0; x < image->width; x++)
            memcpy(rgb + 3 * x, decoder->palette[0], 3);
    }
    return ERR_OK;
}

/* Puts `count` pixels from column x on; those behind the row's end are dropped, as PIL does. The
 * indices are packed as in a row, or alternate between those of one byte. */
static enum err_code put_run(const struct decoder *decoder, const unsigned char *packed,
                             bool alternates, size_t count, size_t x, unsigned char *rgb,
                             struct err *err)
{
    for (size_t i = 0; i < count && x + i < decoder->width; i++) {
        const size_t place = alternates ? i % (8 / decoder->bits) : i;
        const unsigned index = index_at(packed, place, decoder->bits);
        if (index >= decoder->colours)
            return refuse_index(decoder, index, err);
        memcpy(rgb + 3 * (x + i), decoder->palette[index], 3);
    }
    return ERR_OK;
}

struct runs {
    const unsigned char *at, *end;
    size_t x, y; /* the next pixel: column and row, in the file's order of rows */
};

/* A code is a count and the indices to repeat, or 0 and: 0, the row ends; 1, the image ends; 2,
 * columns and rows to step over; n > 2, n pixels follow, padded to two bytes. */
static enum err_code read_code(const struct decoder *decoder, const struct image *image,
                               struct runs *runs, struct err *err)
{
    enum { ROW_ENDS, IMAGE_ENDS, STEP };
    const unsigned count = runs->at[0], word = runs->at[1];
    const unsigned char *packed = runs->at += 2;
    const size_t left = (size_t)(runs->end - packed);
    unsigned char *rgb = row_of(decoder, image, runs->y);
    if (count > 0) {
        runs->x += count;
        return put_run(decoder, packed - 1, true, count, runs->x - count, rgb, err);
    }
    if (word == ROW_ENDS) {
        runs->x = 0;
        runs->y++;
    } else if (word == IMAGE_ENDS) {
        runs->y = image->height;
    } else if (word == STEP) {
        if (left < 2)
            return cut_off(decoder, err);
        runs->x += packed[0];
        runs->y += packed[1];
        runs->at += 2;
    } else {
        const size_t size = (word * decoder->bits + 7) / 8, padded = (size + 1) / 2 * 2;
        if (size > left)
            return cut_off(decoder, err);
        runs->at += padded < left ? padded : left;
        runs->x += word;
        return put_run(decoder, packed, false, word, runs->x - word, rgb, err);
    }
    return ERR_OK;
}

static enum err_code read_runs(const struct decoder *decoder, const struct image *image,
                               struct interrupt *interrupt, struct err *err)
{
    enum { CODES_PER_LOOK = 64 };
    struct runs runs = {.at = decoder->bytes + decoder->pixels_at,
                        .end = decoder->bytes + decoder->len};
    for (size_t codes = 1; runs.y < image->height && runs.end - runs.at >= 2; codes++) {
        if (codes % CODES_PER_LOOK == 0 && interrupt_look(interrupt, err))
            return err->code;
        if (read_code(decoder, image, &runs, err))
            return err->code;
    }
    const bool is_whole =
        runs.y >= image->height || (runs.y == image->height - 1 && runs.x >= image->width);
    return is_whole ? ERR_OK : cut_off(decoder, err);
}

/* ---- all ---- */

enum err_code bmp_decode(struct image *out, const void *bytes, size_t len,
                         const struct image_options *options, struct arena *arena, struct err *err)
{
    struct decoder decoder;
    struct image image;
    if (read_header(&decoder, bytes, len, err) ||
        image_create(&image, decoder.width, decoder.height, options, arena, err))
        return err->code;
    const bool has_runs = decoder.compression == BI_RLE8 || decoder.compression == BI_RLE4;
    if (has_runs ? fill(&decoder, &image, options->interrupt, err) ||
                       read_runs(&decoder, &image, options->interrupt, err)
                 : read_rows(&decoder, &image, options->interrupt, err))
        return err->code;
    *out = image;
    return ERR_OK;
}

bool bmp_probe(const void *bytes, size_t len, unsigned *width, unsigned *height)
{
    struct decoder decoder;
    struct err ignored = {0};
    if (read_header(&decoder, bytes, len, &ignored))
        return false;
    *width = decoder.width;
    *height = decoder.height;
    return true;
}

/* Counts the pixels, and the unused rest of an arena's block, which a small image shares. */
size_t bmp_decode_bytes(const void *bytes, size_t len)
{
    enum { BLOCK_BYTES = 32 * 1024 };
    unsigned width, height;
    if (!bmp_probe(bytes, len, &width, &height))
        return BLOCK_BYTES;
    return memory_sum(memory_product(memory_product(width, height), 3), BLOCK_BYTES);
}
