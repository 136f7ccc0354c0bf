/* engine_prepare.c - a client's text or image -> an input, and the memory that this takes. */
#include "engine/engine_state.h"
#include "engine/vision/image.h"

static enum err_code prepare_text(const struct engine_model *model,
                                  const struct pipeline_text *text, struct interrupt *interrupt,
                                  struct arena *arena, struct engine_input *out, struct err *err)
{
    struct encoding encoding;
    if (pipeline_encode(&model->pipeline, 0, text, interrupt, arena, &encoding, err))
        return err->code;
    *out = (struct engine_input){.kind = ENGINE_TEXT,
                                 .tokens = encoding.count,
                                 .truncated = encoding.truncated,
                                 .ids = encoding.ids,
                                 .starts = encoding.starts,
                                 .ends = encoding.ends,
                                 .continued = encoding.continued};
    return ERR_OK;
}

enum err_code engine_prepare_text(const struct engine_model *model, const char *text, size_t len,
                                  struct interrupt *interrupt, struct arena *arena,
                                  struct engine_input *out, struct err *err)
{
    const struct pipeline_text given = {.bytes = text, .len = len};
    return prepare_text(model, &given, interrupt, arena, out, err);
}

enum err_code engine_prepare_utf8(const struct engine_model *model, const char *text, size_t len,
                                  struct interrupt *interrupt, struct arena *arena,
                                  struct engine_input *out, struct err *err)
{
    const struct pipeline_text given = {.bytes = text, .len = len, .is_utf8 = true};
    return prepare_text(model, &given, interrupt, arena, out, err);
}

enum err_code engine_prepare_image(const struct engine_model *model, const void *bytes, size_t len,
                                   size_t pixels_max, struct interrupt *interrupt,
                                   struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct pipeline *pipeline = &model->pipeline;
    struct image image;
    struct arena scratch;
    *out = (struct engine_input){.kind = ENGINE_IMAGE};
    arena_init(&scratch);
    if (!pipeline_decode(pipeline, bytes, len, pixels_max, interrupt, &scratch, &image, err))
        pipeline_patches(pipeline, &image, NULL, interrupt, &scratch, arena, out, err);
    arena_deinit(&scratch);
    return err->code;
}

enum err_code engine_prepare_pixels(const struct engine_model *model, const struct image *image,
                                    struct interrupt *interrupt, struct arena *arena,
                                    struct engine_input *out, struct err *err)
{
    struct arena scratch;
    *out = (struct engine_input){.kind = ENGINE_IMAGE};
    arena_init(&scratch);
    pipeline_patches(&model->pipeline, image, NULL, interrupt, &scratch, arena, out, err);
    arena_deinit(&scratch);
    return err->code;
}

size_t engine_image_pixels(const void *bytes, size_t len)
{
    unsigned width, height;
    return image_probe(bytes, len, &width, &height) ? (size_t)width * height : 0;
}

struct engine_need engine_need_text(const struct engine_model *model, const char *text, size_t len)
{
    return (struct engine_need){.kept =
                                    tokenizer_encode_bytes(model->pipeline.tokenizer, text, len)};
}

struct engine_need engine_need_image(const struct engine_model *model, const void *bytes,
                                     size_t len, size_t pixels_max)
{
    const struct spec *spec = &model->spec;
    unsigned width, height;
    if (!image_probe(bytes, len, &width, &height) || (size_t)width * height > pixels_max)
        return (struct engine_need){0};
    size_t numbers = (size_t)spec->patches * spec->channels * spec->patch * spec->patch;
    return (struct engine_need){.kept = numbers * sizeof(float) + ARENA_ALIGNMENT,
                                .passing =
                                    image_decode_bytes(bytes, len) +
                                    preprocess_bytes(&model->pipeline.preprocess, width, height)};
}

bool engine_is_picture(const void *bytes, size_t len)
{
    return image_has_signature(bytes, len);
}
