#include "learn/eval/explain/probe.h"

#include "engine/prepare/views.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* Counts words as words_fold does. A token that two windows have is the same word in both. */
static enum err_code find_words(struct perturbation *out, struct arena *arena, struct err *err)
{
    const struct engine_input *input = out->input;
    unsigned *part_of = arena_alloc_array(arena, input->tokens, sizeof *part_of);
    unsigned seen = 0; /* tokens of the text in the windows so far */
    if (part_of == NULL)
        return err_no_memory(err, input->tokens * sizeof *part_of);
    out->part_of = part_of;
    for (unsigned w = 0; w < engine_input_windows(input); w++) {
        const struct engine_input window = engine_input_window(input, w);
        /* The first token that the window before lacks; special tokens count. */
        const unsigned first = input->windows > 0 ? 1 + seen - input->window_first[w] : 0;
        for (unsigned t = 1; t < first; t++) /* the end of the window before, without its [SEP] */
            part_of[t] = part_of[(int)(t - first) - 1];
        for (unsigned t = 0; t < window.tokens; t++) {
            const bool special = window.ends[t] == 0;
            if (t > 0 && t < first)
                continue;
            if (!special && (out->count == 0 || !window.continued[t]))
                out->count++;
            part_of[t] = special ? PERTURBATION_NONE : out->count - 1;
        }
        seen = input->windows > 0 ? input->window_first[w] + window.tokens - 2 : 0;
        part_of += window.tokens;
    }
    return ERR_OK;
}

static size_t offset_count(const struct engine_input *input)
{
    return input->windows > 0 ? input->windows + 1 : 0;
}

/* Keeps the tokens of kept words. Windows become shorter; no token moves to another window. */
static void keep_words(const struct perturbation *parts, const bool *kept, int32_t *ids,
                       struct engine_input *out)
{
    const struct engine_input *input = parts->input;
    unsigned *offset = (unsigned *)(void *)(ids + input->tokens);
    uint8_t *types = (uint8_t *)(offset + offset_count(input)); /* if it has types */
    const unsigned *part_of = parts->part_of;
    unsigned count = 0;
    out->types = input->types != NULL ? types : NULL;
    for (unsigned w = 0; w < engine_input_windows(input); w++) {
        const struct engine_input window = engine_input_window(input, w);
        if (input->windows > 0)
            offset[w] = count;
        for (unsigned t = 0; t < window.tokens; t++) {
            if (part_of[t] != PERTURBATION_NONE && !kept[part_of[t]])
                continue;
            if (input->types != NULL)
                types[count] = window.types[t];
            ids[count++] = window.ids[t];
        }
        part_of += window.tokens;
    }
    out->ids = ids;
    out->tokens = count;
    if (input->windows == 0)
        return;
    offset[input->windows] = count;
    out->windows = input->windows;
    out->window_offset = offset;
}

/* ---- patches ---- */

static int compare(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

/* Replaces removed patches, in every view. */
static void keep_patches(const struct perturbation *parts, const bool *kept, float *patches,
                         struct engine_input *out)
{
    const struct engine_input *input = parts->input;
    const size_t numbers = parts->patch_numbers, all = engine_input_windows(input) * parts->count;
    const float *neutral = parts->neutral;
    for (size_t i = 0; i < all; i++) {
        const unsigned view = (unsigned)(i / parts->count), place = (unsigned)(i % parts->count);
        const float *from = input->patches + i * numbers;
        float *to = patches + i * numbers;
        if (kept[views_source(view, parts->across, place)])
            memcpy(to, from, numbers * sizeof *to);
        else
            for (size_t k = 0; k < numbers; k++)
                to[k] = parts->clips && from[k] < neutral[k] ? from[k] : neutral[k];
    }
    out->patches = patches;
    out->view_numbers = input->view_numbers;
    out->windows = input->windows;
    out->window_offset = input->window_offset;
}

/* ---- both ---- */

enum err_code perturbation_find_fill(const char *name, enum perturbation_fill *fill,
                                     struct err *err)
{
    static const char *const names[] = {"median", "clip", "mean"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *fill = (enum perturbation_fill)i;
            return ERR_OK;
        }
    return err_set(err, ERR_UNUSABLE, "must be median, clip or mean");
}

enum err_code perturbation_open(struct perturbation *out, const struct engine_input *input,
                                struct extent patch, struct extent image_size,
                                enum perturbation_fill fill, struct arena *arena, struct err *err)
{
    *out = (struct perturbation){.input = input};
    if (input->kind == ENGINE_TEXT)
        return find_words(out, arena, err);
    const struct extent grid = extent_parts(image_size, patch);
    out->across = grid.width;
    out->count = (unsigned)extent_area(grid);
    out->clips = fill == PERTURBATION_CLIP;
    out->patch_numbers = PERTURBATION_CHANNELS * extent_area(patch);
    /* A removed patch becomes the median of each channel: the lower of the two middle values, so
     * that it is a value of the image. */
    const size_t pixels = out->patch_numbers / PERTURBATION_CHANNELS, all = out->count * pixels;
    float *neutral = arena_alloc_array(arena, out->patch_numbers, sizeof *neutral);
    float *scratch = arena_alloc_array(arena, out->count, pixels * sizeof *scratch);
    if (neutral == NULL || scratch == NULL)
        return err_no_memory(err, all * sizeof *scratch);
    for (size_t c = 0; fill != PERTURBATION_MEAN && c < PERTURBATION_CHANNELS; c++) {
        const float *channel = out->input->patches + c * pixels;
        for (size_t p = 0; p < out->count; p++)
            memcpy(scratch + p * pixels, channel + p * out->patch_numbers,
                   pixels * sizeof *scratch);
        qsort(scratch, all, sizeof *scratch, compare);
        for (size_t i = 0; i < pixels; i++)
            neutral[c * pixels + i] = scratch[(all - 1) / 2];
    }
    out->neutral = neutral;
    return ERR_OK;
}

size_t perturbation_bytes(const struct perturbation *parts)
{
    if (parts->input->kind == ENGINE_TEXT)
        return parts->input->tokens * sizeof *parts->input->ids +
               offset_count(parts->input) * sizeof(unsigned) +
               (parts->input->types != NULL ? parts->input->tokens : 0);
    return engine_input_windows(parts->input) * parts->count * parts->patch_numbers *
           sizeof *parts->input->patches;
}

void perturbation_keep(const struct perturbation *parts, const bool *kept, void *room,
                       struct engine_input *out)
{
    const struct engine_input *input = parts->input;
    *out = (struct engine_input){.kind = input->kind,
                                 .tokens = input->tokens,
                                 .width = input->width,
                                 .height = input->height};
    if (input->kind == ENGINE_TEXT)
        keep_words(parts, kept, room, out);
    else
        keep_patches(parts, kept, room, out);
}
