#include "engine/model/stages.h"

#include "engine/model/capture.h"

#include <string.h>

/* Cuts the batch into sequences of `tokens` tokens each. */
static void cut(struct workspace *w, unsigned rows, unsigned tokens)
{
    w->rows = rows;
    for (unsigned r = 0; r <= rows; r++)
        w->offset[r] = r * tokens;
}

/* ---- merging ---- */

struct merge_run {
    const struct spec *from, *to;
    const struct norm *norm;
    struct workspace *source, *target;
    unsigned patches; /* patches of the batch in the next stage */
};

/* Gathers four patches of the stage before, side by side, normalised, as the product's operand. */
static void gather(void *context, unsigned index, unsigned count)
{
    const struct merge_run *run = context;
    const struct workspace *source = run->source, *target = run->target;
    const size_t width = run->from->hidden, stride = target->merging_stride;
    const size_t last = (size_t)run->patches * (index + 1) / count;
    for (size_t p = (size_t)run->patches * index / count; p < last; p++) {
        const unsigned patch = (unsigned)(p % run->to->patches);
        const size_t first = p / run->to->patches * run->from->patches;
        float *row = target->merging + p * stride;
        for (unsigned part = 0; part < 4; part++)
            memcpy(row + part * width,
                   source->x +
                       (first + patch_windows_merged(run->from, &source->windows, patch, part)) *
                           source->hidden_stride,
                   width * sizeof *row);
        target->kernels->layer_norm(row, stride, row, stride, run->norm->gamma, run->norm->beta, 1,
                                    4 * width, spec_embedding_eps(run->from));
        operand_store(&target->merged, target->kernels, p, row, 4 * width);
    }
}

/* target->x from source->x */
static void merge(const struct spec *from, const struct spec *to, const struct layer *last,
                  struct workspace *source, struct workspace *target, unsigned images)
{
    struct merge_run run = {from, to, &last->merge_norm, source, target, images * to->patches};
    thread_pool_run(target->pool, gather, &run);
    struct linear_io io = {.x = target->merged,
                           .rows = run.patches,
                           .y = target->x,
                           .y_stride = target->hidden_stride};
    linear_run(&last->merge, target->kernels, target->pool, &io);
}

/* ---- the stages ---- */

/* Sets the captures of the images' windows in this stage, from the last on: the images' captures
 * may be in the same array. */
static void capture_windows(const struct spec *stage, const struct workspace *images,
                            struct workspace *w, unsigned count)
{
    const unsigned windows = spec_windows(stage);
    w->captured = images->captured;
    for (unsigned i = count; i-- > 0;) {
        struct capture *image = images->captures[i];
        for (unsigned v = windows; v-- > 0;)
            w->captures[i * windows + v] = image != NULL ? capture_window(image, stage, v) : NULL;
    }
}

static void run_stages(const struct spec *spec, const struct weights *weights,
                       struct workspace *first)
{
    const unsigned images = first->rows;
    struct workspace *w = first;
    for (unsigned i = spec->stage_count; i-- > 0;) { /* the first stage last: it has the images' */
        struct workspace *at = first;
        const struct spec stage = spec_at(spec, i);
        for (unsigned k = 0; k < i; k++)
            at = at->next;
        capture_windows(&stage, first, at, images);
    }
    for (unsigned i = 0; i < spec->stage_count; i++, w = w->next) {
        const struct spec stage = spec_at(spec, i);
        cut(w, images * spec_windows(&stage), (unsigned)spec_sequence(&stage));
        encoder_run(&stage, weights, w);
        if (w->next == NULL)
            break;
        const struct spec next = spec_at(spec, i + 1);
        merge(&stage, &next, &weights->layers[spec_end_layer(&stage) - 1], w, w->next, images);
    }
    const struct spec last = spec_at(spec, spec->stage_count - 1);
    cut(w, images, last.patches);
    memmove(w->places, first->places, images * sizeof *w->places);
    memset(w->captures, 0, images * sizeof(struct capture *)); /* the windows' are complete */
}

void stages_run(const struct spec *spec, const struct weights *weights, struct workspace *workspace)
{
    if (spec->stage_count == 0)
        encoder_run(spec, weights, workspace);
    else
        run_stages(spec, weights, workspace);
}
