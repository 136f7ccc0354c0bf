#include "engine/model/capture.h"

#include <string.h>

/* ---- memory ---- */

enum { ARRAYS = 6 };

static bool has_last(const struct spec *spec)
{
    return spec_end_layer(spec) == spec->layers;
}

/* False for windows: the classifier reads all their tokens. */
static bool has_first_token(const struct spec *spec)
{
    return spec->stages == NULL;
}

/* Computes the sizes of one sequence's arrays. */
static void array_sizes(const struct spec *spec, unsigned tokens, const struct capture_wish *wish,
                        size_t sizes[ARRAYS])
{
    size_t n = tokens, kept = spec_kept_tokens(spec, tokens), hidden = spec->hidden;
    sizes[0] = n * n * (wish->to - wish->from);
    sizes[1] = has_first_token(spec) ? n * spec->heads * spec_head_tokens(spec) : 0;
    sizes[2] = has_last(spec) ? n * (spec_has_global(spec) ? hidden : 3 * hidden) : 0;
    sizes[3] = sizes[4] = has_last(spec) ? kept * hidden : 0;
    sizes[5] = wish->logits ? spec->label_count : 0;
}

/* Returns the part of a wish that concerns the layers of a stage. */
static struct capture_wish wish_in(const struct spec *stage, const struct capture_wish *wish)
{
    const unsigned first = spec_first_layer(stage), end = spec_end_layer(stage);
    struct capture_wish own = {.from = wish->from > first ? wish->from : first,
                               .to = wish->to < end ? wish->to : end};
    if (own.from > own.to)
        own.from = own.to;
    return own;
}

static size_t sequence_bytes(const struct spec *spec, unsigned tokens,
                             const struct capture_wish *wish)
{
    size_t sizes[ARRAYS], total = 0;
    array_sizes(spec, tokens, wish, sizes);
    for (size_t i = 0; i < ARRAYS; i++)
        total += sizes[i] * sizeof(float);
    return total;
}

size_t capture_bytes(const struct spec *spec, unsigned tokens, const struct capture_wish *wish)
{
    size_t total = 0;
    if (has_first_token(spec))
        return sequence_bytes(spec, tokens, wish);
    for (unsigned i = 0; i < spec_stages(spec); i++) {
        const struct spec stage = spec_at(spec, i);
        const struct capture_wish own = wish_in(&stage, wish);
        const size_t bytes = sequence_bytes(&stage, (unsigned)spec_sequence(&stage), &own);
        total += spec_grid(&stage).windows * (bytes + sizeof(struct capture));
    }
    return total;
}

/* [CLS] and [SEP] enclose a text; an image's patches follow the tokens of the classifier. */
static struct attention_layout layout_of(const struct spec *spec, unsigned tokens)
{
    if (spec->family->kind == ENGINE_TEXT)
        return (struct attention_layout){.tokens = tokens, .first = 1, .end = tokens - 1};
    return (struct attention_layout){.tokens = tokens,
                                     .first = spec->stages != NULL ? 0 : tokens - spec->patches,
                                     .end = tokens,
                                     .columns = spec_grid(spec).window.width};
}

static enum err_code open_sequence(struct capture *out, const struct spec *spec, unsigned tokens,
                                   const struct capture_wish *wish, struct arena *arena,
                                   struct err *err)
{
    size_t sizes[ARRAYS], stats = wish->stats ? (size_t)spec->layers * spec->heads : 0;
    *out = (struct capture){
        .tokens = tokens, .from = wish->from, .to = wish->to, .layout = layout_of(spec, tokens)};
    float **arrays[] = {&out->mean,    &out->last,    &out->projected,
                        &out->sums[0], &out->sums[1], &out->logits};
    array_sizes(spec, tokens, wish, sizes);
    for (size_t i = 0; i < ARRAYS; i++) {
        *arrays[i] = arena_alloc(arena, sizes[i] * sizeof(float));
        if (*arrays[i] == NULL)
            return err_no_memory(err, sizes[i] * sizeof(float));
    }
    if (!wish->logits)
        out->logits = NULL;
    if (spec_has_global(spec)) {
        out->states = out->projected;
        out->projected = NULL;
    }
    if (stats > 0)
        out->stats = arena_alloc_array(arena, stats, sizeof *out->stats);
    return stats > 0 && out->stats == NULL ? err_no_memory(err, stats * sizeof *out->stats)
                                           : ERR_OK;
}

enum err_code capture_open(struct capture *out, const struct spec *spec, unsigned tokens,
                           const struct capture_wish *wish, struct arena *arena, struct err *err)
{
    if (has_first_token(spec))
        return open_sequence(out, spec, tokens, wish, arena, err);
    *out = (struct capture){.tokens = tokens, .from = wish->from, .to = wish->to};
    size_t count = 0;
    for (unsigned i = 0; i < spec_stages(spec); i++) {
        const struct spec stage = spec_at(spec, i);
        count += spec_grid(&stage).windows;
    }
    struct capture *window = arena_alloc_array(arena, count, sizeof *window);
    out->windows = window;
    if (window == NULL)
        return err_no_memory(err, count * sizeof *window);
    for (unsigned i = 0; i < spec_stages(spec); i++) {
        const struct spec stage = spec_at(spec, i);
        const struct capture_wish own = wish_in(&stage, wish);
        for (unsigned v = 0; v < spec_grid(&stage).windows; v++)
            if (open_sequence(window++, &stage, (unsigned)spec_sequence(&stage), &own, arena, err))
                return err->code;
    }
    return ERR_OK;
}

struct capture *capture_window(const struct capture *capture, const struct spec *stage,
                               unsigned window)
{
    size_t before = 0;
    for (unsigned i = 0; i < stage->stage; i++) { /* the next stage has half as many across */
        const size_t across = (size_t)spec_grid(stage).across << (stage->stage - i);
        before += across * across;
    }
    return capture->windows + before + window;
}

/* ---- the last block's sums ---- */

void capture_sum(const struct spec *spec, const struct workspace *workspace, enum capture_sum which,
                 const float *sum)
{
    size_t numbers = spec->hidden, stride = workspace->hidden_stride;
    for (size_t row = 0; workspace->captured && row < workspace->rows; row++) {
        const struct capture *capture = workspace->captures[row];
        size_t kept = capture != NULL ? spec_kept_tokens(spec, capture->tokens) : 0;
        size_t first = spec_head_reads_all(spec) ? workspace->offset[row] : row * kept;
        for (size_t t = 0; t < kept; t++)
            memcpy(capture->sums[which] + t * numbers, sum + (first + t) * stride,
                   numbers * sizeof *sum);
    }
}
