#include "learn/data/picture.h"

#include "engine/base/file.h"
#include "engine/fab/lot_formats.h"
#include "engine/fab/lot_picture.h"
#include "engine/vision/image.h"
#include "learn/data/digest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IMAGE_BYTES_MAX = 256 * 1024 * 1024 };

bool picture_is_lot(const char *path, size_t *file_len, const char **wafer)
{
    const bool is_file = strchr(path, '#') != NULL && access(path, F_OK) == 0;
    for (size_t len = is_file ? strlen(path) : strcspn(path, "#");;
         len += 1 + strcspn(path + len + 1, "#")) {
        if (lot_format_of_name(path, len) != NULL) {
            *file_len = len;
            *wafer = path[len] == '#' ? path + len + 1 : NULL;
            return true;
        }
        if (path[len] == '\0')
            return false;
    }
}

void pictures_close(struct pictures *pictures)
{
    if (pictures->lot_path != NULL)
        lot_close(&pictures->lot);
    free(pictures->lot_path);
    *pictures = (struct pictures){0};
}

static enum err_code open_lot(struct pictures *pictures, const char *path, size_t len,
                              struct err *err)
{
    const char *open = pictures->lot_path;
    if (open != NULL && strlen(open) == len && memcmp(open, path, len) == 0)
        return ERR_OK;
    pictures_close(pictures);
    pictures->lot_path = strndup(path, len);
    if (pictures->lot_path == NULL)
        return err_no_memory(err, len);
    if (lot_open(&pictures->lot, pictures->lot_path, err))
        pictures_close(pictures);
    return err->code;
}

static enum err_code decode(struct pictures *pictures, const void *bytes, size_t len,
                            const struct image_options *options, struct arena *arena,
                            struct image *out, struct err *err)
{
    if (!image_decode(out, bytes, len, options, arena, err))
        pictures->contrast = contrast_of(bytes, len, out);
    return err->code;
}

/* Digest of a grey picture's pixels, one byte each. */
static enum err_code digest_greys(uint64_t *digest, const struct image *image, struct err *err)
{
    const size_t count = (size_t)image->width * image->height;
    unsigned char *greys = malloc(count);
    if (greys == NULL)
        return err_no_memory(err, count);
    for (size_t i = 0; i < count; i++)
        greys[i] = image->rgb[3 * i];
    *digest = digest_of(greys, count);
    free(greys);
    return ERR_OK;
}

static enum err_code draw_wafer(struct pictures *pictures, const char *wafer,
                                const struct image_options *options, struct arena *arena,
                                struct image *out, struct err *err)
{
    unsigned number;
    struct lot_picture picture;
    struct arena scratch;
    arena_init(&scratch);
    if (!lot_find(&pictures->lot, wafer, &number, err) &&
        !lot_picture_draw(&pictures->lot, number, &scratch, &picture, err) &&
        !decode(pictures, picture.bytes, picture.len, options, arena, out, err))
        digest_greys(&pictures->digest, out, err);
    arena_deinit(&scratch);
    return err->code;
}

static enum err_code decode_file(struct pictures *pictures, const char *path,
                                 const struct image_options *options, struct arena *arena,
                                 struct image *out, struct err *err)
{
    char *bytes;
    size_t len;
    if (file_read_input(&bytes, &len, path, IMAGE_BYTES_MAX, err))
        return err->code;
    pictures->digest = digest_of(bytes, len);
    decode(pictures, bytes, len, options, arena, out, err);
    free(bytes);
    return err->code;
}

enum err_code picture_read(struct pictures *pictures, const char *path,
                           const struct image_options *options, struct arena *arena,
                           struct image *out, struct err *err)
{
    const char *wafer;
    size_t file_len;
    pictures->side = 0;
    if (!picture_is_lot(path, &file_len, &wafer))
        decode_file(pictures, path, options, arena, out, err);
    else if (!open_lot(pictures, path, file_len, err))
        draw_wafer(pictures, wafer, options, arena, out, err);
    if (err->code == ERR_OK)
        pictures->side = out->width > out->height ? out->width : out->height;
    return err->code;
}
