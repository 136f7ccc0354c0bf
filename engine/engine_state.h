/* engine_state.h - what is behind a struct engine_model. Private to engine/engine*.c; immutable
 * once open. */
#ifndef ATTND_ENGINE_ENGINE_STATE_H
#define ATTND_ENGINE_ENGINE_STATE_H

#include "engine/engine.h"
#include "engine/format/checkpoint.h"
#include "engine/generate/output_check.h"
#include "engine/model/decoder/decoder.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"
#include "engine/ngrams/ngram_table.h"
#include "engine/prepare/pipeline.h"

/* Layers over one kind of input, with all that they need to run: a model is a list of
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

enum {
    LABELLER_TOKENS =
        256, /* of labels encoded at a time: 0.2 s of one thread with ViT-B's encoder */
    MODEL_STACKS_MAX = 2,
    ENGINE_WRITE_ROWS = 64 /* tokens that a step of writing reads in one packed batch */
};

/* A zero-shot model with other labels is a model of its own that shares all but them with its base.
 */
struct engine_model {
    const struct engine_model *base; /* whose weights these are; NULL: its own */
    /* The first reads inputs and answers. The second reads texts: of an embedding as inputs, too.
     * Of a zero-shot model it encodes labels, in fp32 whatever the model's dtype is: every score of
     * every image depends on these few numbers, and they are computed once for a set of labels. Of
     * a model that writes it is the decoder. */
    struct stack stacks[MODEL_STACKS_MAX];
    unsigned stack_count;
    float label_scale;                   /* exp(logit_scale): an encoded label's length */
    float *embeddings;                   /* [label_count, P] while labels are encoded; else NULL */
    unsigned encoded;                    /* labels of them */
    struct ngram_table ngrams;           /* its weight is NULL: the encoder answers alone */
    struct generation_config generation; /* of a model that writes */
    bool writes_start;             /* its texts begin with the start, which is no special token */
    unsigned token_bytes;          /* of its longest token, as a string */
    enum engine_checksum checksum; /* of its texts, where a request says nothing */
    struct token_texts texts, first_texts; /* what its tokens add to a text */
    struct automaton checksum_automaton;   /* no states if tokens are not single characters */
    struct engine_info info;
    struct arena arena;
};

/* The stack that reads inputs of the kind; the model reads it. */
static inline const struct stack *engine_stack_of(const struct engine_model *model,
                                                  enum engine_kind kind)
{
    return &model->stacks[kind == model->info.kind ? 0 : 1];
}

/* Cuts a text behind the token that ends it, whose state is the text's. ERR_UNUSABLE if it has none
 * or nothing before it. */
enum err_code engine_cut_at_end(const struct spec *spec, struct encoding *encoding,
                                struct err *err);

/* Reads a zero-shot model's scale of its labels from the checkpoint. ERR_UNSUPPORTED, and the
 * errors of the file. */
enum err_code engine_read_label_scale(float *out, const struct checkpoint *checkpoint,
                                      struct err *err);
/* True if the scale is the tensor of that name. */
bool engine_is_label_scale(const char *name);

/* Encodes the labels of a zero-shot model that was just opened, if it has some. */
enum err_code engine_encode_own(struct engine_model *model, unsigned threads, struct err *err);

/* ---- writing: engine_write.c ---- */

/* The most that a step of writing reads, of inputs of up to source_tokens. */
static inline struct decoder_sizes engine_decoder_sizes(const struct spec *target,
                                                        unsigned source_tokens)
{
    const unsigned positions = spec_text_tokens(target);
    const bool are_few = positions > 0 && positions < GENERATION_NEW_MAX + 1;
    return (struct decoder_sizes){.rows = ENGINE_WRITE_ROWS,
                                  .source_tokens = source_tokens,
                                  .tokens = are_few ? positions : GENERATION_NEW_MAX + 1};
}

/* Reads the rules of a model that writes, whose specs are read. */
enum err_code engine_write_open(struct engine_model *model, const char *dir, struct err *err);
/* Sets info->writes of a model whose weights are open. ERR_NO_MEMORY. */
enum err_code engine_write_describe(struct engine_model *model, struct err *err);
/* The source with attnd.json's rules where the request has none; `room` holds them. */
struct engine_source engine_write_source(const struct engine_model *model,
                                         const struct engine_source *source,
                                         struct engine_writing *room);
/* Sets the input's rules, and the token of a language in its text. ERR_UNUSABLE names the option.
 */
enum err_code engine_write_prepare(const struct engine_model *model,
                                   const struct engine_source *source, int32_t *language,
                                   struct arena *arena, struct engine_input *out, struct err *err);
/* Sets the answer, from engine_prepare to the texts, and the texts' bytes for an input of so many
 * tokens: upper bounds. Zeros: it is refused. */
void engine_write_need(const struct engine_model *model, const struct engine_writing *writing,
                       size_t tokens, struct engine_need *need);
/* Takes the room of a result: the encoder's states, the caches, the search. */
enum err_code engine_write_room(struct engine_result *out, const struct engine_model *model,
                                const struct engine_input *input, struct arena *arena,
                                struct err *err);
/* The encoder's states are in the result's rows: computes the keys and values of the source. */
void engine_write_begin(struct decoder_workspace *workspace, struct engine_result *result);
bool engine_write_has_begun(const struct engine_result *result);
/* Hypotheses that go on: tokens of the next step. */
unsigned engine_write_rows(const struct engine_result *result);
/* Writes one token of each hypothesis of the results that are not done. */
void engine_write_step(struct decoder_workspace *workspace, unsigned rows,
                       struct engine_result *const *results);

/* Changes a copy of the input to one of `count` tokens that is not searched. ERR_UNUSABLE for too
 * many; ERR_NO_MEMORY. */
enum err_code engine_write_fix(const struct engine_model *model, struct engine_input *input,
                               unsigned count, struct arena *arena, struct err *err);
/* The source is read: logits [count][vocab_size] behind the start and ids[0 .. i). The slots of the
 * search are overwritten. */
void engine_write_teach(struct decoder_workspace *workspace, struct engine_result *result,
                        const int32_t *ids, unsigned count, uint32_t *slots, float *logits);
/* The best text or, of a search that goes on, the tokens that greedy search has written so far:
 * ids, probabilities and count alone. */
struct engine_text engine_write_so_far(const struct engine_result *result,
                                       const struct tokenizer **tokenizer);
bool engine_write_is_greedy(const struct engine_input *input);
/* Most tokens that an input's text may have. */
unsigned engine_write_tokens_max(const struct engine_input *input);
enum { ENGINE_PIECE_BYTES = 512 }; /* of a token's piece of text, with what answers it: at most */
/* Upper bound of what engine_align takes from the arena, and of its numbers as JSON. */
size_t engine_align_bytes(const struct engine_input *input);

/* Gives back what belongs to the labels. */
void engine_close_labels(struct engine_model *model);

#endif
