#include "engine/model/spec_head.h"

#include "engine/format/head_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum err_code spec_take_neighbours(struct ood *ood, const struct head_bank *bank,
                                   struct arena *arena, struct err *err)
{
    const size_t width = bank->width - ood->hidden, numbers = bank->count * width;
    float *rows = arena_alloc_array(arena, numbers + 1, sizeof *rows);
    if (rows == NULL)
        return err_no_memory(err, numbers * sizeof *rows);
    for (size_t i = 0; i < bank->count; i++) {
        memcpy(rows + i * width, bank->features + i * bank->width + ood->hidden,
               width * sizeof *rows);
        neighbours_scale(rows + i * width, (unsigned)width);
    }
    ood->neighbours.rows = rows;
    ood->neighbours.count = bank->count;
    ood->neighbours.width = (unsigned)width;
    return ERR_OK;
}

static enum err_code read_neighbours(struct spec *spec, const struct head_file *file,
                                     struct arena *arena, struct err *err)
{
    struct head_bank bank;
    struct arena passing;
    arena_init(&passing);
    if (!head_file_bank(file, &bank, &passing, err))
        spec_take_neighbours(&spec->policy.ood, &bank, arena, err);
    arena_deinit(&passing);
    return err->code;
}

enum err_code spec_open_head(struct spec *spec, const char *dir, struct arena *arena,
                             struct err *err)
{
    struct head_file *file;
    if (spec->head_file == NULL ||
        head_file_open(&file, dir, spec->head_file, spec->label_count, spec_row(spec), err))
        return err->code;
    if (spec->policy.ood.method == OOD_NEIGHBOURS)
        read_neighbours(spec, file, arena, err);
    head_file_close(file);
    return err->code;
}

/* Two bytes of the file become four; its other tensors leave room for what rounding takes. */
size_t spec_head_bytes(const char *dir)
{
    char path[PATH_MAX];
    struct stat file;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, HEAD_FILE_NAME) >= sizeof path ||
        stat(path, &file) != 0)
        return 0;
    return 2 * (size_t)file.st_size;
}
