/* stack.h - layers over one kind of input, with all that they need to run: a model is a list of
 * stacks. Most models are one. A zero-shot model has a second one, which encodes its labels, and
 * each has files, sizes and weights of its own (Radford et al. 2021, section 2.4).
 *
 *     stack_open(&stack, checkpoint, encoder, other, kernels, threads, &err);
 *     stack_workspace(&stack, &workspace, tokens_max, pool, &err);
 *     stack_begin(&workspace);
 *     stack_add(&stack, &workspace, &window, place);            // while stack_has_room
 *     stack_run(&stack, &workspace);
 *     ... head_features(&stack.spec, workspace_last(&workspace), input) ...
 *
 * The layers of a family with stages have several widths: each stage runs on windows of its grid,
 * and between two stages four neighbouring patches become one (Liu et al. 2021, section 3.1):
 *
 *     x[p] = W norm([x(2r, 2c), x(2r + 1, 2c), x(2r, 2c + 1), x(2r + 1, 2c + 1)])   for p = (r, c)
 *
 * A stage's rows are in the order of its windows (patch_windows.h), which are the sequences of its
 * packed batch.
 *
 * Threads: immutable after open; a workspace belongs to one caller.
 */
#ifndef ATTND_ENGINE_STACK_H
#define ATTND_ENGINE_STACK_H

#include "engine/format/checkpoint.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"
#include "engine/prepare/pipeline.h"

struct stack {
    struct spec spec;         /* filled before stack_open, as the pipeline is */
    struct pipeline pipeline; /* how its inputs are prepared */
    struct weights weights;
    const struct linear_backend *encoder; /* multiplies in the blocks */
    const struct kernels *kernels;
    const struct spec *stages; /* [spec_stages] sizes of each: made, or spec itself */
    struct spec *made;         /* spec_at of each stage, made once; NULL: there is one */
};

/* Reads the weights. Errors as weights_open; close it in any case. */
enum err_code stack_open(struct stack *stack, const struct checkpoint *checkpoint,
                         const struct linear_backend *encoder, const struct linear_backend *other,
                         const struct kernels *kernels, unsigned threads, struct err *err);
void stack_close(struct stack *stack);

/* Multiplies once in every shape that the stack uses, and compares. ERR_INTERNAL, ERR_NO_MEMORY. */
enum err_code stack_test(const struct stack *stack, struct err *err);

/* The memory to run batches of up to tokens_max tokens. Yours to workspace_close. */
enum err_code stack_workspace(const struct stack *stack, struct workspace *workspace,
                              unsigned tokens_max, struct thread_pool *pool, struct err *err);

/* Empties the batch. */
void stack_begin(struct workspace *workspace);
bool stack_has_room(const struct workspace *workspace, unsigned tokens);
/* Embeds a sequence at the end of the packed batch, which has room for it. */
void stack_add(const struct stack *stack, struct workspace *workspace,
               const struct engine_input *window, struct window_place place);
/* Runs the layers over the batch and pools what the head reads, into the rows of the inputs. Leaves
 * the batch empty. */
void stack_run(const struct stack *stack, struct workspace *workspace);

#endif
