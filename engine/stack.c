#include "engine/engine_state.h"

#include "engine/model/capture.h"
#include "engine/model/embed.h"
#include "engine/model/encoder.h"
#include "engine/model/head.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum err_code stack_open(struct stack *stack, const struct checkpoint *checkpoint,
                         const struct linear_backend *encoder, const struct linear_backend *other,
                         const struct kernels *kernels, unsigned threads, struct err *err)
{
    const unsigned count = spec_stages(&stack->spec);
    stack->encoder = encoder;
    stack->kernels = kernels;
    if (weights_open(&stack->weights, &stack->spec, checkpoint, encoder, other, threads, err))
        return err->code;
    stack->stages = &stack->spec;
    if (count == 1)
        return ERR_OK;
    stack->made = calloc(count, sizeof *stack->made);
    if (stack->made == NULL)
        return err_no_memory(err, count * sizeof *stack->made);
    for (unsigned i = 0; i < count; i++)
        stack->made[i] = spec_at(&stack->spec, i);
    stack->stages = stack->made;
    return ERR_OK;
}

void stack_close(struct stack *stack)
{
    pipeline_close(&stack->pipeline);
    free(stack->made);
    if (stack->spec.family != NULL)
        weights_close(&stack->weights, &stack->spec);
}

/* One layer, the last of each stage, has every shape that its blocks multiply in. */
enum err_code stack_test(const struct stack *stack, struct err *err)
{
    const struct weights *weights = &stack->weights;
    enum { OF_LAYER = 8, OUTSIDE = 7 };
    const struct linear *linears[STAGES_MAX * OF_LAYER + OUTSIDE] = {&weights->patch,
                                                                     &weights->pooler,
                                                                     &weights->classifier,
                                                                     &weights->projection,
                                                                     &weights->embedding_project,
                                                                     &weights->mean_classifier,
                                                                     &weights->output};
    unsigned count = OUTSIDE;
    for (unsigned i = 0; i < spec_stages(&stack->spec); i++) {
        const unsigned last = spec_end_layer(&stack->stages[i]) - 1;
        const struct layer *layer = &weights->layers[spec_block(&stack->spec, last)];
        linears[count++] = &layer->qkv;
        linears[count++] = &layer->attention_out;
        linears[count++] = &layer->cross_query;
        linears[count++] = &layer->cross_kv;
        linears[count++] = &layer->cross_out;
        linears[count++] = &layer->mlp_in;
        linears[count++] = &layer->mlp_out;
        linears[count++] = &layer->merge;
    }
    for (unsigned i = 0; i < count; i++)
        if (linears[i]->out > 0 && linear_self_test(linears[i], stack->kernels, err))
            return err->code;
    return ERR_OK;
}

enum err_code stack_workspace(const struct stack *stack, struct workspace *workspace,
                              unsigned tokens_max, struct thread_pool *pool, struct err *err)
{
    return workspace_open(workspace, &stack->spec, stack->encoder, tokens_max, pool, stack->kernels,
                          err);
}

/* ---- stages ---- */

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
    const size_t width = run->from->hidden, stride = target->stage.merging_stride;
    const size_t last = (size_t)run->patches * (index + 1) / count;
    for (size_t p = (size_t)run->patches * index / count; p < last; p++) {
        const unsigned patch = (unsigned)(p % run->to->patches);
        const size_t first = p / run->to->patches * run->from->patches;
        float *row = target->stage.merging + p * stride;
        for (unsigned part = 0; part < 4; part++)
            memcpy(row + part * width,
                   source->x + (first + patch_windows_merged(run->from, &source->stage.windows,
                                                             patch, part)) *
                                   source->hidden_stride,
                   width * sizeof *row);
        target->kernels->layer_norm(row, stride, row, stride, run->norm->gamma, run->norm->beta, 1,
                                    4 * width, spec_embedding_eps(run->from));
        operand_store(&target->stage.merged, target->kernels, p, row, 4 * width);
    }
}

/* target->x from source->x */
static void merge(const struct spec *from, const struct spec *to, const struct layer *last,
                  struct workspace *source, struct workspace *target, unsigned images)
{
    struct merge_run run = {from, to, &last->merge_norm, source, target, images * to->patches};
    thread_pool_run(target->pool, gather, &run);
    struct linear_io io = {.x = target->stage.merged,
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
    const unsigned windows = spec_grid(stage).windows;
    w->captured = images->captured;
    for (unsigned i = count; i-- > 0;) {
        struct capture *image = images->captures[i];
        for (unsigned v = windows; v-- > 0;)
            w->captures[i * windows + v] = image != NULL ? capture_window(image, stage, v) : NULL;
    }
}

/* workspace->x: embeddings in, the last hidden states out, in workspace_last. Its rows and offsets
 * are the inputs' again; an input's tokens are in the order of its last windows. */
static void run_stages(const struct stack *stack, struct workspace *first)
{
    const struct spec *stages = stack->stages;
    const unsigned images = first->rows, count = stack->spec.stages->count;
    struct workspace *w = first;
    for (unsigned i = count; i-- > 0;) { /* the first stage last: it has the images' */
        struct workspace *at = first;
        for (unsigned k = 0; k < i; k++)
            at = at->stage.next;
        capture_windows(&stages[i], first, at, images);
    }
    for (unsigned i = 0; i < count; i++, w = w->stage.next) {
        cut(w, images * spec_grid(&stages[i]).windows, (unsigned)spec_sequence(&stages[i]));
        encoder_run(&stages[i], &stack->weights, w);
        if (w->stage.next == NULL)
            break;
        merge(&stages[i], &stages[i + 1], &stack->weights.layers[spec_end_layer(&stages[i]) - 1], w,
              w->stage.next, images);
    }
    cut(w, images, stages[count - 1].patches);
    memmove(w->places, first->places, images * sizeof *w->places);
    memset(w->captures, 0, images * sizeof(struct capture *)); /* the windows' are complete */
}

/* ---- a batch ---- */

void stack_begin(struct workspace *workspace)
{
    workspace->rows = workspace->offset[0] = 0;
    workspace->captured = false;
}

bool stack_has_room(const struct workspace *workspace, unsigned tokens)
{
    return tokens <= workspace->tokens_max - workspace->offset[workspace->rows];
}

void stack_add(const struct stack *stack, struct workspace *workspace,
               const struct engine_input *window, struct window_place place)
{
    assert(stack_has_room(workspace, window->tokens));
    const unsigned row = workspace->rows++, first = workspace->offset[row];
    workspace->places[row] = place;
    workspace->captures[row] = window->capture;
    workspace->captured = workspace->captured || window->capture != NULL;
    workspace->offset[row + 1] = first + window->tokens;
    embed(&stack->stages[0], &stack->weights, workspace, window, first);
}

void stack_run(const struct stack *stack, struct workspace *workspace)
{
    if (stack->spec.stages != NULL)
        run_stages(stack, workspace);
    else
        encoder_run(&stack->spec, &stack->weights, workspace);
    head_read(&stack->stages[spec_stages(&stack->spec) - 1], &stack->weights,
              workspace_last(workspace));
    stack_begin(workspace);
}
