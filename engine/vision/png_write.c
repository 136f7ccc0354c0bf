/* png_write.c - writing; see png.h. As in png.c, one function only sets the jump, to which libpng
 * returns by longjmp. (Its simplified interface writes the same bytes, but cannot be interrupted,
 * and takes half a second for four megapixels.) */
#include "engine/vision/png.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 1 << 16 };

struct encoder {
    png_structp png;
    png_infop info;
    struct interrupt *interrupt; /* NULL: none */
    struct err *err;
    /* The pixels to write. */
    unsigned width, height;
    int colour; /* PNG_COLOR_TYPE_... */
    size_t pixel_bytes;
    const unsigned char *pixels;
    /* The bytes written so far. */
    char *bytes; /* malloc */
    size_t len, capacity;
};

static PNG_NORETURN void on_error(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_write(png_structp png, png_bytep bytes, size_t len)
{
    struct encoder *encoder = png_get_io_ptr(png);
    if (len > encoder->capacity - encoder->len) {
        size_t capacity = 2 * encoder->capacity + len + FIRST_BYTES;
        char *grown = realloc(encoder->bytes, capacity);
        if (grown == NULL) {
            err_no_memory(encoder->err, capacity);
            png_longjmp(png, 1);
        }
        encoder->bytes = grown;
        encoder->capacity = capacity;
    }
    memcpy(encoder->bytes + encoder->len, bytes, len);
    encoder->len += len;
}

static void on_flush(png_structp png)
{
    (void)png;
}

/* Leaves by longjmp on libpng's errors; returns early on others. */
static void encode(struct encoder *encoder)
{
    png_structp png = encoder->png;
    const size_t stride = encoder->width * encoder->pixel_bytes;
    png_set_write_fn(png, encoder, on_write, on_flush);
    png_set_IHDR(png, encoder->info, encoder->width, encoder->height, 8, encoder->colour,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
    png_set_sRGB(png, encoder->info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(png, encoder->info);
    for (size_t y = 0; y < encoder->height; y++) {
        if (interrupt_look(encoder->interrupt, encoder->err))
            return;
        png_write_row(png, encoder->pixels + y * stride);
    }
    png_write_end(png, encoder->info);
}

/* The only local variables that are live across the jump never change. libpng reports only that it
 * failed; within its bounds the cause can only be lack of memory. */
static void encode_or_explain(struct encoder *encoder)
{
    const unsigned width = encoder->width, height = encoder->height;
    if (setjmp(png_jmpbuf(encoder->png)) == 0)
        encode(encoder);
    else if (width - 1 < PNG_USER_WIDTH_MAX && height - 1 < PNG_USER_HEIGHT_MAX)
        err_set(encoder->err, ERR_NO_MEMORY, "out of memory while writing a PNG");
    else
        err_set(encoder->err, ERR_TOO_LARGE, "%u x %u pixels cannot be written as a PNG", width,
                height);
}

static enum err_code write_png(struct encoder *encoder, char **out, size_t *len)
{
    encoder->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    if (encoder->png != NULL)
        encoder->info = png_create_info_struct(encoder->png);
    if (encoder->info != NULL)
        encode_or_explain(encoder);
    else
        err_set(encoder->err, ERR_NO_MEMORY, "out of memory while opening a PNG");
    png_destroy_write_struct(&encoder->png, &encoder->info);
    if (encoder->err->code != ERR_OK) {
        free(encoder->bytes);
        return encoder->err->code;
    }
    *out = encoder->bytes;
    *len = encoder->len;
    return ERR_OK;
}

static bool is_grey(const struct image *image)
{
    for (size_t i = 0; i < (size_t)image->width * image->height; i++) {
        const unsigned char *pixel = image->rgb + 3 * i;
        if (pixel[0] != pixel[1] || pixel[1] != pixel[2])
            return false;
    }
    return true;
}

enum err_code png_encode(char **out, size_t *len, const struct image *image, struct err *err)
{
    const size_t count = (size_t)image->width * image->height;
    bool grey = is_grey(image);
    unsigned char *pixels = image->rgb;
    if (grey)
        pixels = calloc(count, 1); /* cleared: gcc 12 warns about it otherwise */
    if (pixels == NULL)
        return err_no_memory(err, count);
    for (size_t i = 0; grey && i < count; i++)
        pixels[i] = image->rgb[3 * i];
    struct encoder encoder = {.err = err,
                              .width = image->width,
                              .height = image->height,
                              .colour = grey ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                              .pixel_bytes = grey ? 1 : 3,
                              .pixels = pixels};
    write_png(&encoder, out, len);
    if (grey)
        free(pixels);
    return err->code;
}

enum err_code png_encode_rgba(char **out, size_t *len, unsigned width, unsigned height,
                              const unsigned char *rgba, struct interrupt *interrupt,
                              struct err *err)
{
    struct encoder encoder = {.interrupt = interrupt,
                              .err = err,
                              .width = width,
                              .height = height,
                              .colour = PNG_COLOR_TYPE_RGB_ALPHA,
                              .pixel_bytes = 4,
                              .pixels = rgba};
    return write_png(&encoder, out, len);
}
