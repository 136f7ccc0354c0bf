/* jpeg.c - see decoders.h. libjpeg reports by calling error_exit, which may not return, so there is
 * one struct that holds everything a decoding owns, one function that sets the jump, and one place
 * that frees. The settings are libjpeg's defaults (slow integer DCT, fancy upsampling), which are
 * PIL's.
 *
 * Refused are: a file that ends before its last pixel, more scans than any real encoder writes
 * (each scan of a progressive file costs a pass over the whole image), two components, more than
 * four, and features that libjpeg lacks. Its other warnings are tolerated, as PIL does.
 *
 * Rows are decoded into the arena's pixels. If the image is CMYK, or EXIF says that it lies on its
 * side, each row is decoded into a buffer and scattered to its place, so a rotated image does not
 * exist twice. */
#include "engine/vision/decoders.h"

#include "engine/vision/exif.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

enum { SCANS_MAX = 100, EXIF_HEADER_BYTES = 6 };

struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct jpeg_source_mgr source;
    jmp_buf leave;
    struct interrupt *interrupt; /* NULL: none */
    struct err *err;             /* the interrupt's error, if that ended the decoding */
    size_t len;
    bool cut_off, too_many_scans, exif_seen;
    unsigned orientation;
};

static _Noreturn void on_error(j_common_ptr jpeg)
{
    struct decoder *decoder = jpeg->client_data;
    longjmp(decoder->leave, 1);
}

static _Noreturn void leave_cut_off(j_common_ptr jpeg)
{
    struct decoder *decoder = jpeg->client_data;
    decoder->cut_off = true;
    longjmp(decoder->leave, 1);
}

static void look(struct decoder *decoder)
{
    if (interrupt_look(decoder->interrupt, decoder->err))
        longjmp(decoder->leave, 1);
}

/* Level -1 is a warning. The two codes here mean that libjpeg invents pixels because the data ends.
 * An early marker that only begins the next restart interval is not the end: libjpeg resynchronises
 * there, and PIL shows the picture with its flaw (hopper_bad_exif of its tests).
 *
 * Messages of higher levels check the interrupt: each marker has at least one, and a file may have
 * millions of markers before its pixels. */
static void on_message(j_common_ptr jpeg, int level)
{
    struct decoder *decoder = jpeg->client_data;
    int code = jpeg->err->msg_code, marker = decoder->jpeg.unread_marker;
    bool restarts = marker >= JPEG_RST0 && marker <= JPEG_RST0 + 7;
    if (level < 0 && (code == JWRN_JPEG_EOF || (code == JWRN_HIT_MARKER && !restarts)))
        leave_cut_off(jpeg);
    look(decoder);
}

static void on_output_message(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void on_source_event(j_decompress_ptr jpeg)
{
    (void)jpeg;
}

/* All bytes are in memory from the start, so a request for more means the end of the input. */
static boolean on_fill(j_decompress_ptr jpeg)
{
    leave_cut_off((j_common_ptr)jpeg);
}

static void on_skip(j_decompress_ptr jpeg, long count)
{
    if (count <= 0)
        return;
    if ((size_t)count > jpeg->src->bytes_in_buffer)
        leave_cut_off((j_common_ptr)jpeg);
    jpeg->src->next_input_byte += count;
    jpeg->src->bytes_in_buffer -= (size_t)count;
}

/* Called for each scanline, and for each row of blocks while all scans of a progressive file are
 * read. */
static void on_progress(j_common_ptr jpeg)
{
    struct decoder *decoder = jpeg->client_data;
    if (decoder->jpeg.input_scan_number > SCANS_MAX) {
        decoder->too_many_scans = true;
        longjmp(decoder->leave, 1);
    }
    look(decoder);
}

/* An APP1 segment: two bytes of length, which count themselves, then the payload. The first that
 * holds EXIF gives the orientation. Nothing is copied: the input lies in one piece. */
static boolean on_app1(j_decompress_ptr jpeg)
{
    struct decoder *decoder = jpeg->client_data;
    struct jpeg_source_mgr *source = jpeg->src;
    const unsigned char *at = source->next_input_byte;
    size_t len = source->bytes_in_buffer < 2 ? 2 : (size_t)at[0] << 8 | at[1];
    if (len > source->bytes_in_buffer)
        leave_cut_off((j_common_ptr)jpeg);
    if (len < 2)
        ERREXIT(jpeg, JERR_BAD_LENGTH);
    const unsigned char *payload = at + 2;
    size_t payload_len = len - 2;
    if (!decoder->exif_seen && payload_len >= EXIF_HEADER_BYTES &&
        memcmp(payload, "Exif\0", EXIF_HEADER_BYTES) == 0) {
        decoder->exif_seen = true;
        decoder->orientation =
            exif_orientation(payload + EXIF_HEADER_BYTES, payload_len - EXIF_HEADER_BYTES);
    }
    on_skip(jpeg, (long)len);
    return TRUE;
}

/* Called after setjmp, because even creating may fail. jpeg_create_decompress clears the struct but
 * keeps err and client_data. */
static void open_and_read_header(struct decoder *decoder, const void *bytes)
{
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    jpeg_create_decompress(jpeg);
    decoder->progress.progress_monitor = on_progress;
    decoder->source = (struct jpeg_source_mgr){.next_input_byte = bytes,
                                               .bytes_in_buffer = decoder->len,
                                               .init_source = on_source_event,
                                               .fill_input_buffer = on_fill,
                                               .skip_input_data = on_skip,
                                               .resync_to_restart = jpeg_resync_to_restart,
                                               .term_source = on_source_event};
    jpeg->progress = &decoder->progress;
    jpeg->src = &decoder->source;
    jpeg_set_marker_processor(jpeg, JPEG_APP0 + 1, on_app1);
    jpeg_read_header(jpeg, TRUE);
}

/* PIL treats every four-component JPEG as Adobe's, which stores inverted ink, and scales the
 * colours by black: with inverted values c and k, k - (255 - c) * k / 255. In place, front to
 * back. */
static void cmyk_to_rgb(unsigned char *row, unsigned width)
{
    for (size_t x = 0; x < width; x++) {
        unsigned black = row[x * 4 + 3];
        for (size_t c = 0; c < 3; c++) {
            unsigned product = (255u - row[x * 4 + c]) * black + 128;
            unsigned scaled = ((product >> 8) + product) >> 8; /* rounded, as PIL's MULDIV255 */
            row[x * 3 + c] = (unsigned char)(black - scaled);
        }
    }
}

/* row: NULL if rows can be decoded in place. */
static void read_rows(struct jpeg_decompress_struct *jpeg, unsigned char *row,
                      struct exif_placement place, unsigned char *rgb)
{
    while (jpeg->output_scanline < jpeg->output_height) {
        unsigned y = jpeg->output_scanline;
        JSAMPROW into = row != NULL ? row : rgb + (size_t)y * jpeg->output_width * 3;
        jpeg_read_scanlines(jpeg, &into, 1);
        if (row == NULL)
            continue;
        if (jpeg->out_color_space == JCS_CMYK)
            cmyk_to_rgb(row, jpeg->output_width);
        ptrdiff_t at = place.origin + (ptrdiff_t)y * place.step_y;
        for (size_t x = 0; x < jpeg->output_width; x++, at += place.step_x)
            memcpy(rgb + at * 3, row + x * 3, 3);
    }
}

static enum err_code decode(struct decoder *decoder, struct image *out,
                            const struct image_options *options, struct arena *arena,
                            struct err *err)
{
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    unsigned width = jpeg->image_width, height = jpeg->image_height;
    if (jpeg->num_components != 1 && jpeg->num_components != 3 && jpeg->num_components != 4)
        return err_set(err, ERR_UNUSABLE, "the JPEG has %d components; 1, 3 and 4 can be decoded",
                       jpeg->num_components);
    struct exif_placement place = exif_placement(decoder->orientation, width, height);
    struct image image;
    if (image_create(&image, place.on_side ? height : width, place.on_side ? width : height,
                     options, arena, err))
        return err->code;
    unsigned char *row = NULL;
    bool cmyk = jpeg->num_components == 4;
    if (cmyk || decoder->orientation != 1) {
        row = arena_alloc(arena, (size_t)width * 4);
        if (row == NULL)
            return err_no_memory(err, (size_t)width * 4);
    }
    jpeg->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(jpeg);
    read_rows(jpeg, row, place, image.rgb);
    *out = image;
    return ERR_OK;
}

static void decoder_init(struct decoder *decoder, size_t len)
{
    *decoder = (struct decoder){.len = len, .orientation = 1};
    decoder->jpeg.err = jpeg_std_error(&decoder->errors);
    decoder->jpeg.client_data = decoder;
    decoder->errors.error_exit = on_error;
    decoder->errors.emit_message = on_message;
    decoder->errors.output_message = on_output_message;
}

/* No local variable that is live across the jump changes after setjmp: results go through pointers.
 * After an interrupt err is already set and does not change. */
static enum err_code decode_or_explain(struct decoder *decoder, const void *bytes,
                                       struct image *out, const struct image_options *options,
                                       struct arena *arena, struct err *err)
{
    if (setjmp(decoder->leave) == 0) {
        open_and_read_header(decoder, bytes);
        return decode(decoder, out, options, arena, err);
    }
    if (decoder->errors.msg_code == JERR_OUT_OF_MEMORY)
        return err_set(err, ERR_NO_MEMORY, "out of memory while decoding a JPEG");
    if (decoder->too_many_scans)
        return err_set(err, ERR_UNUSABLE, "the JPEG has more than %d scans", SCANS_MAX);
    if (decoder->cut_off)
        return err_set(err, ERR_UNUSABLE, "the JPEG is cut off: it has %zu bytes", decoder->len);
    return err_set(err, ERR_UNUSABLE,
                   "the JPEG is damaged, or of an unsupported kind, near byte %zu",
                   decoder->len - decoder->source.bytes_in_buffer);
}

enum err_code jpeg_decode(struct image *out, const void *bytes, size_t len,
                          const struct image_options *options, struct arena *arena, struct err *err)
{
    struct decoder decoder;
    decoder_init(&decoder, len);
    decoder.interrupt = options->interrupt;
    decoder.err = err;
    enum err_code code = decode_or_explain(&decoder, bytes, out, options, arena, err);
    jpeg_destroy_decompress(&decoder.jpeg);
    return code;
}

static bool read_header(struct decoder *decoder, const void *bytes)
{
    if (setjmp(decoder->leave) != 0)
        return false;
    open_and_read_header(decoder, bytes);
    return true;
}

bool jpeg_probe(const void *bytes, size_t len, unsigned *width, unsigned *height)
{
    struct decoder decoder;
    decoder_init(&decoder, len);
    bool readable = read_header(&decoder, bytes);
    if (readable) {
        bool on_side = exif_placement(decoder.orientation, 1, 1).on_side;
        *width = on_side ? decoder.jpeg.image_height : decoder.jpeg.image_width;
        *height = on_side ? decoder.jpeg.image_width : decoder.jpeg.image_height;
    }
    jpeg_destroy_decompress(&decoder.jpeg);
    return readable;
}

/* Blocks are whole, and so are the groups of them that one step decodes: width_in_blocks is rounded
 * up to the sampling factor, as jinit_d_coef_controller does. A file in several scans (progressive
 * or not interleaved) keeps all its coefficients, two bytes each. Decoding a row takes at most 12
 * lines of blocks (jdmainct's groups with their context) and the upsampled rows. */
static size_t component_bytes(const struct jpeg_decompress_struct *jpeg,
                              const jpeg_component_info *component, bool several_scans)
{
    const size_t across = component->h_samp_factor, down = component->v_samp_factor;
    const size_t columns = ((size_t)component->width_in_blocks + across) * DCTSIZE;
    const size_t rows = ((size_t)component->height_in_blocks + down) * DCTSIZE;
    const size_t upsampled =
        ((size_t)jpeg->image_width + DCTSIZE * MAX_SAMP_FACTOR) * jpeg->max_v_samp_factor;
    return (several_scans ? columns * rows * sizeof(JCOEF) : 0) + 12 * columns * down + upsampled;
}

size_t jpeg_decode_bytes(const void *bytes, size_t len)
{
    enum { STATE_BYTES = 256 * 1024 };
    struct decoder decoder;
    decoder_init(&decoder, len);
    size_t sum = STATE_BYTES;
    if (read_header(&decoder, bytes)) {
        struct jpeg_decompress_struct *jpeg = &decoder.jpeg;
        const bool several_scans = jpeg_has_multiple_scans(jpeg);
        for (int i = 0; i < jpeg->num_components; i++)
            sum += component_bytes(jpeg, &jpeg->comp_info[i], several_scans);
        sum += (size_t)jpeg->image_width * jpeg->image_height * 3 + (size_t)jpeg->image_width * 4;
    }
    jpeg_destroy_decompress(&decoder.jpeg);
    return sum;
}
