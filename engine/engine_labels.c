/* engine_labels.c - labels of a zero-shot model: texts, encoded by its second stack, which become
 * the rows of a classifier: points on a sphere that images are compared with (Radford et al. 2021,
 * section 2.4 and figure 3).
 *
 * Attention of that stack looks back only, and what is read is the state of the token that ends the
 * text. So the input ends with that token: the first with the id eos_token_id or, where that is 2,
 * as in most published checkpoints, the first with the largest id (CLIPTextTransformer.forward). */
#include "engine/base/thread_pool.h"
#include "engine/engine_state.h"
#include "engine/model/config/candidates.h"
#include "engine/model/head.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_LABELS = LABELLER_TOKENS / 2 }; /* a text has at least two tokens */

_Static_assert((int)ENGINE_LABELS_MAX == (int)CANDIDATES_MAX &&
                   (int)ENGINE_LABELS_BYTES_MAX == (int)CANDIDATES_BYTES,
               "the public limits are those of the labels");

struct engine_labeller {
    const struct engine_model *model;
    struct thread_pool *pool;
    struct workspace workspace;
    struct engine_input inputs[STEP_LABELS];
};

static const char scale_name[] = "logit_scale";

/* A tensor of one number, of no dimension or of one. */
enum err_code engine_read_label_scale(float *out, const struct checkpoint *checkpoint,
                                      struct err *err)
{
    const struct tensor_info *info = checkpoint_find(checkpoint, scale_name);
    float exponent = 0;
    if (info == NULL)
        return err_set(err, ERR_UNSUPPORTED, "tensor '%s' is missing", scale_name);
    if (info->count != 1)
        return err_set(err, ERR_UNSUPPORTED, "tensor '%s' has %zu numbers; it must have one",
                       scale_name, info->count);
    if (checkpoint_check_f32(checkpoint, info, err) ||
        checkpoint_read_f32(checkpoint, info, 0, 1, &exponent, err))
        return err->code;
    *out = expf(exponent);
    if (!isfinite(*out))
        return err_set(err, ERR_UNSUPPORTED, "tensor '%s' is %g: its exponential is not finite",
                       scale_name, (double)exponent);
    return ERR_OK;
}

bool engine_is_label_scale(const char *name)
{
    return strcmp(name, scale_name) == 0;
}

static const char *hypothesis_of(const struct engine_model *model,
                                 const struct engine_labels *labels)
{
    if (labels->hypothesis != NULL)
        return labels->hypothesis;
    return model != NULL ? model->stacks[0].spec.hypothesis : CANDIDATES_HYPOTHESIS;
}

enum err_code engine_check_labels(const struct engine_labels *labels, struct err *err)
{
    return candidates_check(labels->texts, labels->count, hypothesis_of(NULL, labels), err);
}

/* ---- a model with other labels ---- */

/* Drops what attnd.json says of its own labels: it holds for no others. */
static void forget_own_labels(struct engine_model *model)
{
    struct spec *spec = &model->stacks[0].spec;
    struct engine_info *info = &model->info;
    const struct policy own = spec->policy;
    spec->class_codes = NULL;
    spec->reference = NULL;
    spec->policy = policy_default(spec->scores, spec->label_count, spec_features(spec));
    spec->policy.ood.method = OOD_NONE;
    spec->policy.accepts_truncated = own.accepts_truncated;
    spec->policy.takes_uncalibrated = own.takes_uncalibrated;
    spec->policy.learnt_grey = own.learnt_grey;
    info->labels = spec->labels;
    info->label_count = spec->label_count;
    info->needs_labels = spec->label_count == 0;
    info->hypothesis = spec->hypothesis;
    info->has_given_labels = true;
    info->class_codes = NULL;
    info->reference = NULL;
    info->target_precision = 0;
    info->is_calibrated = !policy_is_uncalibrated(&spec->policy);
    info->reviews_all = policy_reviews_all(&spec->policy);
    info->thresholds = NULL;
    info->ood_method = NULL;
    info->ood_threshold = info->ood_label_thresholds = NULL;
}

/* Room for what is encoded, and for the classifier that it becomes. */
static enum err_code begin_encoding(struct engine_model *model, struct err *err)
{
    const struct spec *spec = &model->stacks[0].spec;
    const size_t labels = spec->label_count, width = spec->projection;
    model->embeddings = calloc(labels * width, sizeof *model->embeddings);
    if (model->embeddings == NULL)
        return err_no_memory(err, labels * width * sizeof *model->embeddings);
    return linear_alloc(&model->stacks[0].weights.classifier, model->stacks[1].encoder, width,
                        labels, err);
}

static enum err_code relabel(struct engine_model *model, const struct engine_labels *labels,
                             struct err *err)
{
    const char **copies = arena_alloc_array(&model->arena, labels->count, sizeof *copies);
    const char *hypothesis = hypothesis_of(model, labels);
    model->stacks[0].spec.hypothesis = arena_copy(&model->arena, hypothesis, strlen(hypothesis));
    if (copies == NULL || model->stacks[0].spec.hypothesis == NULL)
        return err_no_memory(err, labels->count * sizeof *copies);
    model->stacks[0].spec.labels = copies;
    model->stacks[0].spec.label_count = labels->count;
    for (unsigned i = 0; i < labels->count; i++) {
        copies[i] = arena_copy(&model->arena, labels->texts[i], strlen(labels->texts[i]));
        if (copies[i] == NULL)
            return err_no_memory(err, strlen(labels->texts[i]));
    }
    forget_own_labels(model);
    return begin_encoding(model, err);
}

enum err_code engine_open_labelled(struct engine_model **out, const struct engine_model *model,
                                   const struct engine_labels *labels, struct err *err)
{
    const struct engine_model *base = model->base != NULL ? model->base : model;
    *out = NULL;
    if (!base->info.is_zero_shot)
        return err_set(err, ERR_UNUSABLE,
                       "candidate_labels: the labels of this model are fixed; it is not zero-shot");
    if (candidates_check(labels->texts, labels->count, hypothesis_of(base, labels), err))
        return err->code;
    struct engine_model *labelled = calloc(1, sizeof *labelled);
    if (labelled == NULL)
        return err_no_memory(err, sizeof *labelled);
    *labelled = *base;
    labelled->base = base;
    labelled->stacks[0].weights.classifier = (struct linear){0};
    labelled->embeddings = NULL;
    labelled->encoded = 0;
    arena_init(&labelled->arena);
    if (relabel(labelled, labels, err)) {
        engine_close(labelled);
        return err->code;
    }
    *out = labelled;
    return ERR_OK;
}

void engine_close_labels(struct engine_model *model)
{
    free(model->embeddings);
    model->embeddings = NULL;
    if (model->base != NULL)
        linear_close(&model->stacks[0].weights.classifier);
}

/* The classifier is padded to whole panels; the embeddings go when it is filled. */
size_t engine_labelled_bytes(const struct engine_model *model, const struct engine_labels *labels)
{
    enum { PANEL_ROWS = 64, COPIES = 2, SMALL_BYTES = 4096 };
    size_t bytes = sizeof(struct engine_model) + CANDIDATES_HYPOTHESIS_BYTES + SMALL_BYTES;
    for (unsigned i = 0; i < labels->count; i++)
        bytes += strlen(labels->texts[i]) + 1 + ARENA_ALIGNMENT + sizeof(char *);
    return bytes + COPIES * ((size_t)labels->count + PANEL_ROWS) *
                       model->stacks[0].spec.projection * sizeof(float);
}

/* ---- encoding ---- */

enum err_code engine_labeller_open(struct engine_labeller **out, const struct engine_model *model,
                                   unsigned threads, struct err *err)
{
    struct engine_labeller *labeller = calloc(1, sizeof *labeller);
    *out = NULL;
    if (labeller == NULL)
        return err_no_memory(err, sizeof *labeller);
    labeller->model = model->base != NULL ? model->base : model;
    const unsigned longest = model->stacks[1].pipeline.tokenizer->limit;
    if (thread_pool_open(&labeller->pool, threads, err) ||
        stack_workspace(&model->stacks[1], &labeller->workspace,
                        longest > LABELLER_TOKENS ? longest : LABELLER_TOKENS, labeller->pool,
                        err)) {
        engine_labeller_close(labeller);
        return err->code;
    }
    *out = labeller;
    return ERR_OK;
}

void engine_labeller_close(struct engine_labeller *labeller)
{
    if (labeller == NULL)
        return;
    workspace_close(&labeller->workspace);
    thread_pool_close(labeller->pool);
    free(labeller);
}

/* The place of the token that ends the text; its count of tokens if there is none. */
static unsigned find_end(const struct spec *spec, const struct encoding *encoding)
{
    enum { LARGEST_ID = 2 }; /* what the files of the first release say, before they had the id */
    unsigned at = 0;
    if (spec->end_id == LARGEST_ID) {
        for (unsigned t = 1; t < encoding->count; t++)
            at = encoding->ids[t] > encoding->ids[at] ? t : at;
        return at;
    }
    while (at < encoding->count && encoding->ids[at] != (int32_t)spec->end_id)
        at++;
    return at;
}

enum err_code engine_cut_at_end(const struct spec *spec, struct encoding *encoding, struct err *err)
{
    const unsigned end = find_end(spec, encoding);
    if (end == 0 || end == encoding->count) /* a sequence has at least two tokens */
        return err_set(err, ERR_UNUSABLE,
                       "the text has no token that ends it: text_config.eos_token_id %u is not "
                       "the tokenizer's",
                       spec->end_id);
    encoding->count = end + 1;
    return ERR_OK;
}

/* UTF-8, NUL-terminated; what is longer than the stack reads is cut before its last token.
 * ERR_UNUSABLE for a text without a token. */
static enum err_code prepare_label(const struct stack *stack, const char *sentence,
                                   struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct pipeline_text text = {.bytes = sentence, .len = strlen(sentence), .is_utf8 = true};
    struct encoding encoding;
    if (pipeline_encode(&stack->pipeline, 0, &text, NULL, arena, &encoding, err) ||
        engine_cut_at_end(&stack->spec, &encoding, err))
        return err->code;
    *out = windows_whole(&encoding);
    return ERR_OK;
}

/* Prepares as many of the next labels as fit, at least one. */
static enum err_code prepare_step(struct engine_labeller *labeller,
                                  const struct engine_model *labelled, struct arena *arena,
                                  unsigned *count, struct err *err)
{
    const struct spec *spec = &labelled->stacks[0].spec;
    unsigned room = labeller->workspace.tokens_max;
    *count = 0;
    while (labelled->encoded + *count < spec->label_count && *count < STEP_LABELS) {
        const unsigned index = labelled->encoded + *count;
        struct engine_input *input = &labeller->inputs[*count];
        const char *text = candidates_sentence(spec->hypothesis, spec->labels[index], arena);
        if (text == NULL)
            return err_no_memory(err, strlen(spec->labels[index]));
        if (prepare_label(&labeller->model->stacks[1], text, arena, input, err))
            return err_prefix(err, "candidate_labels[%u]: ", index);
        if (input->tokens > room)
            return ERR_OK;
        room -= input->tokens;
        ++*count;
    }
    return ERR_OK;
}

/* inputs [count] -> out [count, P], each of length label_scale. */
static void encode(struct engine_labeller *labeller, unsigned count, float *out)
{
    const struct stack *stack = &labeller->model->stacks[1];
    const size_t width = stack->spec.projection;
    stack_begin(&labeller->workspace);
    for (unsigned r = 0; r < count; r++)
        stack_add(stack, &labeller->workspace, &labeller->inputs[r],
                  (struct window_place){.input = r, .windows = 1});
    stack_run(stack, &labeller->workspace);
    for (unsigned r = 0; r < count; r++)
        for (size_t i = 0; i < width; i++)
            out[r * width + i] = head_features(&stack->spec, &labeller->workspace, r)[i] *
                                 labeller->model->label_scale;
}

enum err_code engine_encode_labels(struct engine_labeller *labeller, struct engine_model *labelled,
                                   unsigned *left, struct err *err)
{
    const size_t width = labelled->stacks[0].spec.projection;
    struct arena arena;
    unsigned count;
    assert(labelled->embeddings != NULL &&
           (labelled == labeller->model || labelled->base == labeller->model));
    arena_init(&arena);
    if (!prepare_step(labeller, labelled, &arena, &count, err)) {
        encode(labeller, count, labelled->embeddings + labelled->encoded * width);
        labelled->encoded += count;
    }
    arena_deinit(&arena);
    *left = labelled->stacks[0].spec.label_count - labelled->encoded;
    if (err->code == ERR_OK && *left == 0) { /* the classifier is theirs */
        struct linear *classifier = &labelled->stacks[0].weights.classifier;
        linear_fill(classifier, 0, classifier->out, labelled->embeddings);
        free(labelled->embeddings);
        labelled->embeddings = NULL;
    }
    return err->code;
}

enum err_code engine_encode_own(struct engine_model *model, unsigned threads, struct err *err)
{
    struct engine_labeller *labeller = NULL;
    unsigned left = model->stack_count > 1 ? model->stacks[0].spec.label_count : 0;
    if (left == 0 || begin_encoding(model, err) ||
        engine_labeller_open(&labeller, model, threads, err))
        return err->code;
    while (left > 0 && err->code == ERR_OK)
        engine_encode_labels(labeller, model, &left, err);
    engine_labeller_close(labeller);
    return err->code != ERR_OK ? err_prefix(err, "attnd.json: ") : ERR_OK;
}
