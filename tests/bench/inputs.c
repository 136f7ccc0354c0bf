#include "tests/bench/inputs.h"

#include <math.h>

enum { ID_FIRST = 1000, ID_COUNT = 29000, CHANNELS = 3 };

unsigned inputs_mixed_tokens(unsigned row)
{
    return 8 + (68 * row + 112) % 249;
}

static enum err_code init(struct inputs *out, const struct engine_info *info, unsigned count,
                          struct err *err)
{
    *out = (struct inputs){.count = count};
    arena_init(&out->arena);
    out->rows = arena_alloc_array(&out->arena, count, sizeof *out->rows);
    out->logits = arena_alloc_array(&out->arena, count, sizeof *out->logits);
    if (out->rows == NULL || out->logits == NULL)
        return err_no_memory(err, count * sizeof *out->rows);
    for (unsigned r = 0; r < count; r++) {
        out->logits[r] = arena_alloc_array(&out->arena, info->label_count, sizeof(float));
        if (out->logits[r] == NULL)
            return err_no_memory(err, info->label_count * sizeof(float));
    }
    return ERR_OK;
}

static enum err_code add(struct inputs *inputs, unsigned r, struct engine_input input,
                         struct err *err)
{
    struct engine_input *copy = arena_alloc(&inputs->arena, sizeof *copy);
    if (copy == NULL)
        return err_no_memory(err, sizeof *copy);
    *copy = input;
    inputs->rows[r] = copy;
    inputs->tokens += input.tokens;
    return ERR_OK;
}

static enum err_code add_text(struct inputs *inputs, const struct engine_info *info, unsigned r,
                              unsigned tokens, struct err *err)
{
    int32_t *ids = arena_alloc_array(&inputs->arena, tokens, sizeof *ids);
    if (ids == NULL)
        return err_no_memory(err, tokens * sizeof *ids);
    for (unsigned t = 0; t < tokens; t++) {
        size_t id = ID_FIRST + ((size_t)t * 7919 + (size_t)r * 104729) % ID_COUNT;
        ids[t] = (int32_t)(id % info->vocab_size);
    }
    return add(inputs, r, (struct engine_input){.kind = ENGINE_TEXT, .tokens = tokens, .ids = ids},
               err);
}

enum err_code inputs_texts(struct inputs *out, const struct engine_info *info, unsigned count,
                           unsigned tokens, struct err *err)
{
    if (init(out, info, count, err))
        return err->code;
    for (unsigned r = 0; r < count; r++) {
        unsigned own = tokens == INPUTS_MIXED ? inputs_mixed_tokens(r) : tokens;
        if (own > info->tokens_max)
            return err_set(err, ERR_UNUSABLE, "%u tokens; the model reads at most %u", own,
                           info->tokens_max);
        if (add_text(out, info, r, own, err))
            return err->code;
    }
    return ERR_OK;
}

/* patches[p][channel][y][x], as engine/vision/preprocess.h lays them out. */
static void fill_patches(float *patches, const struct engine_info *info, unsigned r)
{
    const struct extent patch = info->patch_size;
    const size_t height = info->image_height, width = info->image_width;
    const size_t columns = width / patch.width, pixels = extent_area(patch);
    const size_t count = height / patch.height * columns;
    for (size_t i = 0; i < count * CHANNELS * pixels; i++) {
        const size_t x = i % patch.width, y = i / patch.width % patch.height;
        const size_t channel = i / pixels % CHANNELS, p = i / (pixels * CHANNELS);
        const size_t row = p / columns * patch.height + y, column = p % columns * patch.width + x;
        size_t pixel = (channel * height + row) * width + column;
        patches[i] = (float)sin(0.37 * (double)pixel + r);
    }
}

enum err_code inputs_images(struct inputs *out, const struct engine_info *info, unsigned count,
                            struct err *err)
{
    if (init(out, info, count, err))
        return err->code;
    size_t numbers = (size_t)CHANNELS * info->image_height * info->image_width;
    for (unsigned r = 0; r < count; r++) {
        float *patches = arena_alloc_array(&out->arena, numbers, sizeof *patches);
        if (patches == NULL)
            return err_no_memory(err, numbers * sizeof *patches);
        fill_patches(patches, info, r);
        struct engine_input input = {
            .kind = ENGINE_IMAGE, .tokens = info->tokens_max, .patches = patches};
        if (add(out, r, input, err))
            return err->code;
    }
    return ERR_OK;
}

void inputs_free(struct inputs *inputs)
{
    arena_deinit(&inputs->arena);
}
