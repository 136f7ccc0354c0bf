#include "engine/text_tower.h"

#include "engine/model/embed.h"
#include "engine/model/encoder.h"
#include "engine/model/head.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char scale_name[] = "logit_scale";

/* ---- open and close ---- */

/* A tensor of one number, of no dimension or of one. */
static enum err_code read_scale(struct text_tower *tower, const struct checkpoint *checkpoint,
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
    tower->scale = expf(exponent);
    if (!isfinite(tower->scale))
        return err_set(err, ERR_UNSUPPORTED, "tensor '%s' is %g: its exponential is not finite",
                       scale_name, (double)exponent);
    return ERR_OK;
}

enum err_code text_tower_check(const char *dir, const struct checkpoint *checkpoint,
                               struct err *err)
{
    struct text_tower tower = {0};
    if (!spec_read_labels(&tower.spec, dir, err) &&
        !pipeline_open(&tower.pipeline, &tower.spec, dir, err) &&
        !read_scale(&tower, checkpoint, err))
        weights_check(&tower.spec, checkpoint, err);
    pipeline_close(&tower.pipeline);
    return err->code;
}

static enum err_code test_products(const struct weights *weights, const struct kernels *kernels,
                                   struct err *err)
{
    const struct layer *layer = &weights->layers[0];
    const struct linear *const linears[] = {&layer->qkv, &layer->attention_out, &layer->mlp_in,
                                            &layer->mlp_out, &weights->projection};
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++)
        if (linear_self_test(linears[i], kernels, err))
            return err->code;
    return ERR_OK;
}

static enum err_code open_parts(struct text_tower *tower, const char *dir,
                                const struct checkpoint *checkpoint, const struct kernels *kernels,
                                unsigned threads, struct err *err)
{
    if (spec_read_labels(&tower->spec, dir, err) ||
        pipeline_open(&tower->pipeline, &tower->spec, dir, err) ||
        read_scale(tower, checkpoint, err) ||
        weights_open(&tower->weights, &tower->spec, checkpoint, tower->backend, tower->backend,
                     threads, err))
        return err->code;
    return test_products(&tower->weights, kernels, err);
}

enum err_code text_tower_open(struct text_tower **out, const char *dir,
                              const struct checkpoint *checkpoint,
                              const struct linear_backend *backend, const struct kernels *kernels,
                              unsigned threads, struct err *err)
{
    struct text_tower *tower = calloc(1, sizeof *tower);
    *out = tower;
    if (tower == NULL)
        return err_no_memory(err, sizeof *tower);
    tower->backend = backend;
    if (open_parts(tower, dir, checkpoint, kernels, threads, err)) {
        text_tower_close(tower);
        *out = NULL;
    }
    return err->code;
}

void text_tower_close(struct text_tower *tower)
{
    if (tower == NULL)
        return;
    pipeline_close(&tower->pipeline);
    if (tower->spec.family != NULL)
        weights_close(&tower->weights, &tower->spec);
    free(tower);
}

bool text_tower_reads(const struct text_tower *tower, const char *name)
{
    for (unsigned i = 0; i < tower->weights.unbound_count; i++)
        if (strcmp(tower->weights.unbound[i], name) == 0)
            return strcmp(name, scale_name) == 0;
    return true;
}

size_t text_tower_bytes(const struct text_tower *tower)
{
    return weights_bytes(&tower->weights, &tower->spec) +
           tokenizer_bytes(tower->pipeline.tokenizer);
}

/* ---- running ---- */

/* The place of the token that ends the text; its count of tokens if there is none. */
static unsigned find_end(const struct text_tower *tower, const struct encoding *encoding)
{
    enum { LARGEST_ID = 2 }; /* what the files of the first release say, before they had the id */
    unsigned at = 0;
    if (tower->spec.end_id == LARGEST_ID) {
        for (unsigned t = 1; t < encoding->count; t++)
            at = encoding->ids[t] > encoding->ids[at] ? t : at;
        return at;
    }
    while (at < encoding->count && encoding->ids[at] != (int32_t)tower->spec.end_id)
        at++;
    return at;
}

enum err_code text_tower_prepare(const struct text_tower *tower, const char *sentence,
                                 struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct pipeline_text text = {.bytes = sentence, .len = strlen(sentence), .is_utf8 = true};
    struct encoding encoding;
    if (pipeline_encode(&tower->pipeline, 0, &text, NULL, arena, &encoding, err))
        return err->code;
    unsigned end = find_end(tower, &encoding);
    if (end == 0 || end == encoding.count) /* a sequence has at least two tokens */
        return err_set(err, ERR_UNUSABLE,
                       "the text has no token that ends it: text_config.eos_token_id %u is not "
                       "the tokenizer's",
                       tower->spec.end_id);
    encoding.count = end + 1;
    *out = windows_whole(&encoding);
    return ERR_OK;
}

void text_tower_run(const struct text_tower *tower, struct workspace *workspace,
                    const struct engine_input *inputs, unsigned rows, float *out)
{
    const size_t width = tower->spec.projection;
    workspace->rows = rows;
    workspace->captured = false;
    workspace->offset[0] = 0;
    for (unsigned r = 0; r < rows; r++) {
        const unsigned first = workspace->offset[r];
        assert(inputs[r].tokens <= workspace->tokens_max - first);
        workspace->offset[r + 1] = first + inputs[r].tokens;
        workspace->captures[r] = NULL;
        workspace->places[r] = (struct window_place){.input = r, .windows = 1};
        embed(&tower->spec, &tower->weights, workspace, &inputs[r], first);
    }
    encoder_run(&tower->spec, &tower->weights, workspace);
    head_read(&tower->spec, &tower->weights, workspace);
    for (unsigned r = 0; r < rows; r++, out += width)
        for (size_t i = 0; i < width; i++)
            out[i] = head_features(&tower->spec, workspace, r)[i] * tower->scale;
}
