#include "learn/eval/measure/input_reader.h"

#include "engine/base/file.h"
#include "engine/content/file_kind.h"
#include "engine/content/text_file.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 256 * 1024 * 1024, PIXELS_MAX = 64 * 1024 * 1024 };

/* Sets the error for a file whose format no model takes; no error if the file cannot be read. */
static enum err_code name_file(const char *path, struct err *err)
{
    struct err ignored = {0};
    char *bytes;
    size_t len;
    if (file_read_input(&bytes, &len, path, FILE_BYTES_MAX, &ignored))
        return ERR_OK;
    const struct file_kind *kind = file_kind_of_text(bytes, len);
    free(bytes);
    return kind != NULL ? err_set(err, ERR_UNUSABLE, "this is %s: %s", kind->name, kind->advice)
                        : ERR_OK;
}

static enum err_code prepare_picture(struct input_reader *reader, const char *path,
                                     struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct image_options how = {
        .pixels_max = PIXELS_MAX, .grey16_minmax = engine_describe(reader->model)->grey16_minmax};
    struct image image;
    const struct engine_source source = {
        .kind = ENGINE_IMAGE, .image = &image, .writing = reader->writing};
    struct arena scratch;
    arena_init(&scratch);
    if (!picture_read(&reader->pictures, path, &how, &scratch, &image, err))
        engine_prepare(reader->model, &source, NULL, arena, out, err);
    arena_deinit(&scratch);
    return err->code;
}

static enum err_code prepare_text(struct input_reader *reader, const char *text, size_t len,
                                  const char *pair, struct arena *arena, struct engine_input *out,
                                  struct err *err)
{
    const struct engine_source source = {.kind = ENGINE_TEXT,
                                         .bytes = text,
                                         .len = len,
                                         .pair = pair,
                                         .pair_len = pair != NULL ? strlen(pair) : 0,
                                         .question = reader->question,
                                         .writing = reader->writing,
                                         .prompt_name = reader->prompt_name,
                                         .reading = reader->reading};
    reader->text = text;
    reader->text_len = len;
    return engine_prepare(reader->model, &source, NULL, arena, out, err);
}

static enum err_code prepare(struct input_reader *reader, const struct listed_input *source,
                             struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct engine_info *info = engine_describe(reader->model);
    if (!engine_reads(info, source->is_image ? ENGINE_IMAGE : ENGINE_TEXT)) {
        if (source->path != NULL && !source->is_image && name_file(source->path, err))
            return err->code;
        return err_set(err, ERR_UNUSABLE, "the model takes %s",
                       info->kind == ENGINE_IMAGE ? "images" : "texts");
    }
    if (source->is_image)
        return prepare_picture(reader, source->path, arena, out, err);
    if (source->path != NULL) {
        char *bytes;
        size_t len;
        if (file_read_input(&bytes, &len, source->path, FILE_BYTES_MAX, err) ||
            text_file_decode(&bytes, &len, FILE_BYTES_MAX, err))
            return err->code;
        const char *text = arena_copy(arena, bytes, len);
        free(bytes);
        return text == NULL ? err_no_memory(err, len)
                            : prepare_text(reader, text, len, NULL, arena, out, err);
    }
    return prepare_text(reader, source->text, source->text_len, source->pair, arena, out, err);
}

enum err_code input_reader_prepare(struct input_reader *reader, const struct listed_input *source,
                                   struct arena *arena, struct engine_input *out, struct err *err)
{
    if (prepare(reader, source, arena, out, err) == ERR_OK)
        return ERR_OK;
    if (source->path != NULL)
        err_prefix(err, "%s: ", source->path);
    return source->line > 0 ? err_prefix(err, "%s: line %u: ", source->file, source->line)
                            : err->code;
}

void input_reader_close(struct input_reader *reader)
{
    pictures_close(&reader->pictures);
}
