#include "learn/data/picture.h"

#include "engine/base/file.h"
#include "engine/vision/image.h"
#include "learn/data/digest.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { IMAGE_BYTES_MAX = 256 * 1024 * 1024 };

static bool ends_in(const char *path, size_t len, const char *suffix)
{
    size_t tail = strlen(suffix);
    return len > tail && strncasecmp(path + len - tail, suffix, tail) == 0;
}

bool picture_is_stdf(const char *path, size_t *file_len, const char **wafer)
{
    static const char *const suffixes[] = {".stdf", ".std", ".stdf.gz", ".std.gz"};
    const bool is_file = strchr(path, '#') != NULL && access(path, F_OK) == 0;
    for (size_t len = is_file ? strlen(path) : strcspn(path, "#");;
         len += 1 + strcspn(path + len + 1, "#")) {
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
            if (!ends_in(path, len, suffixes[i]))
                continue;
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
    if (pictures->stdf_path != NULL)
        stdf_close(&pictures->stdf);
    free(pictures->stdf_path);
    *pictures = (struct pictures){0};
}

static enum err_code open_stdf(struct pictures *pictures, const char *path, size_t len,
                               struct err *err)
{
    const char *open = pictures->stdf_path;
    if (open != NULL && strlen(open) == len && memcmp(open, path, len) == 0)
        return ERR_OK;
    pictures_close(pictures);
    pictures->stdf_path = strndup(path, len);
    if (pictures->stdf_path == NULL)
        return err_no_memory(err, len);
    if (stdf_open(&pictures->stdf, pictures->stdf_path, err))
        pictures_close(pictures);
    return err->code;
}

static enum err_code widen(const struct stdf_map *map, const struct image_options *options,
                           struct arena *arena, struct image *out, struct err *err)
{
    size_t count = (size_t)map->width * map->height;
    if (image_create(out, map->width, map->height, options, arena, err))
        return err->code;
    for (size_t i = 0; i < count; i++)
        memset(out->rgb + 3 * i, map->grey[i], 3);
    return ERR_OK;
}

static enum err_code draw_wafer(struct pictures *pictures, const char *wafer,
                                const struct image_options *options, struct arena *arena,
                                struct image *out, struct err *err)
{
    unsigned number;
    struct stdf_map map;
    struct arena scratch;
    arena_init(&scratch);
    if (!stdf_find(&pictures->stdf, wafer, &number, err) &&
        !stdf_draw(&pictures->stdf, number, &scratch, &map, err)) {
        pictures->digest = digest_of(map.grey, (size_t)map.width * map.height);
        if (!widen(&map, options, arena, out, err))
            pictures->contrast = contrast_of("", 0, out);
    }
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
    if (!image_decode(out, bytes, len, options, arena, err))
        pictures->contrast = contrast_of(bytes, len, out);
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
    if (!picture_is_stdf(path, &file_len, &wafer))
        decode_file(pictures, path, options, arena, out, err);
    else if (!open_stdf(pictures, path, file_len, err))
        draw_wafer(pictures, wafer, options, arena, out, err);
    if (err->code == ERR_OK)
        pictures->side = out->width > out->height ? out->width : out->height;
    return err->code;
}
