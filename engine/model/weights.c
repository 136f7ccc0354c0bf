/* weights.c - see weights.h. A `binder` walks the family's tensors; only `bind` checks the shape of
 * a name. Binding reads nothing: it adds to the loader's plan, which runs when every name and shape
 * is checked. The table `places` has the destination of each tensor; query, key and value go into
 * one linear layer, side by side. */
#include "engine/model/weights.h"

#include "engine/base/half.h"
#include "engine/model/bias/reach.h"
#include "engine/model/bias/relative_bias.h"
#include "engine/model/bias/window_bias.h"
#include "engine/model/config/served_head.h"
#include "engine/model/family_tensors.h"
#include "engine/model/loader.h"
#include "engine/model/positions.h"
#include "engine/model/relative_tables.h"
#include "engine/model/workspace.h"
#include "engine/tensor/rotary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 3 };

/* The place for the tensors of a field: a float *, a struct norm, struct linear or plain_linear. */
struct place {
    size_t at; /* offset in struct layer for a block's field; else in struct weights */
    bool is_in_block;
    bool is_plain;        /* a struct plain_linear, in the checkpoint's layout */
    unsigned part, parts; /* if several fields share a linear layer */
};

#define OUTSIDE(member)                                                                            \
    {                                                                                              \
        .at = offsetof(struct weights, member), .parts = 1                                         \
    }
#define IN_BLOCK(member)                                                                           \
    {                                                                                              \
        .at = offsetof(struct layer, member), .is_in_block = true, .parts = 1                      \
    }
#define PLAIN(member)                                                                              \
    {                                                                                              \
        .at = offsetof(struct layer, member), .is_in_block = true, .is_plain = true, .parts = 1    \
    }
#define HALF(member, index)                                                                        \
    {                                                                                              \
        .at = offsetof(struct layer, member), .is_in_block = true, .part = (index), .parts = 2     \
    }
#define PART(member, index)                                                                        \
    {                                                                                              \
        .at = offsetof(struct layer, member), .is_in_block = true, .part = (index),                \
        .parts = PARTS_MAX                                                                         \
    }

static const struct place places[TENSOR_FIELDS] = {
    [TENSOR_WORD] = OUTSIDE(word),
    [TENSOR_POSITION] = OUTSIDE(position),
    [TENSOR_TOKEN_TYPE] = OUTSIDE(token_type),
    [TENSOR_EMBEDDING_NORM] = OUTSIDE(embedding_norm),
    [TENSOR_EMBEDDING_PROJECT] = OUTSIDE(embedding_project),
    [TENSOR_RELATIVE_BIAS] = OUTSIDE(relative_bias),
    [TENSOR_RELATIVE_PLACES] = OUTSIDE(relative_places),
    [TENSOR_RELATIVE_NORM] = OUTSIDE(relative_norm),
    [TENSOR_STATES_PROJECT] = OUTSIDE(states_project),
    [TENSOR_CLS_TOKEN] = OUTSIDE(cls_token),
    [TENSOR_DISTILLATION_TOKEN] = OUTSIDE(distillation_token),
    [TENSOR_REGISTERS] = OUTSIDE(registers),
    [TENSOR_PATCH] = OUTSIDE(patch),
    [TENSOR_QUERY] = PART(qkv, 0),
    [TENSOR_KEY] = PART(qkv, 1),
    [TENSOR_VALUE] = PART(qkv, 2),
    [TENSOR_QKV] = IN_BLOCK(qkv),
    [TENSOR_GLOBAL_QUERY] = PLAIN(global.query),
    [TENSOR_GLOBAL_KEY] = PLAIN(global.key),
    [TENSOR_GLOBAL_VALUE] = PLAIN(global.value),
    [TENSOR_ATTENTION_OUT] = IN_BLOCK(attention_out),
    [TENSOR_WINDOW_BIAS] = IN_BLOCK(bias_table),
    [TENSOR_LAYER_BIAS] = IN_BLOCK(bias_table),
    [TENSOR_ATTENTION_SCALE] = IN_BLOCK(attention_out),
    [TENSOR_ATTENTION_NORM] = IN_BLOCK(attention_norm),
    [TENSOR_CROSS_QUERY] = IN_BLOCK(cross_query),
    [TENSOR_CROSS_KEY] = HALF(cross_kv, 0),
    [TENSOR_CROSS_VALUE] = HALF(cross_kv, 1),
    [TENSOR_CROSS_OUT] = IN_BLOCK(cross_out),
    [TENSOR_CROSS_NORM] = IN_BLOCK(cross_norm),
    [TENSOR_MLP_IN] = IN_BLOCK(mlp_in),
    [TENSOR_MLP_OUT] = IN_BLOCK(mlp_out),
    [TENSOR_GATED_IN] = IN_BLOCK(mlp_in),
    [TENSOR_GATE_IN] = HALF(mlp_in, 0),
    [TENSOR_VALUE_IN] = HALF(mlp_in, 1),
    [TENSOR_GATED_OUT] = IN_BLOCK(mlp_out),
    [TENSOR_MLP_SCALE] = IN_BLOCK(mlp_out),
    [TENSOR_MLP_NORM] = IN_BLOCK(mlp_norm),
    [TENSOR_MERGE_NORM] = IN_BLOCK(merge_norm),
    [TENSOR_MERGE] = IN_BLOCK(merge),
    [TENSOR_FINAL_NORM] = OUTSIDE(final_norm),
    [TENSOR_POOLED_NORM] = OUTSIDE(pooled_norm),
    [TENSOR_POOLER] = OUTSIDE(pooler),
    [TENSOR_BARE_POOLER] = OUTSIDE(pooler),
    [TENSOR_PROJECTION] = OUTSIDE(projection),
    [TENSOR_HEAD_NORM] = OUTSIDE(head_norm),
    [TENSOR_MLM_TRANSFORM] = OUTSIDE(pooler),
    [TENSOR_MLM_NORM] = OUTSIDE(head_norm),
    [TENSOR_MLM_BIAS] = OUTSIDE(classifier),
    [TENSOR_CLASSIFIER] = OUTSIDE(classifier),
    [TENSOR_DISTILLATION_CLASSIFIER] = OUTSIDE(distillation_classifier),
    [TENSOR_TAGS] = OUTSIDE(classifier),
    [TENSOR_ANSWERS] = OUTSIDE(classifier),
    [TENSOR_OUTPUT] = OUTSIDE(output),
    [TENSOR_OUTPUT_BIAS] = OUTSIDE(output),
};

struct binder {
    const struct spec *spec;
    const struct checkpoint *checkpoint;
    const struct linear_backend *encoder, *other;
    struct weights *weights;
    struct loader loader;
    const struct tensor_info *parts[PARTS_MAX]; /* parts of the current linear layer */
    bool *bound;                                /* [checkpoint_count] */
    struct err *err;
};

static void mark_bound(struct binder *binder, const struct tensor_info *info)
{
    size_t low = 0, high = checkpoint_count(binder->checkpoint);
    while (low < high) { /* tensors are sorted by name */
        size_t middle = low + (high - low) / 2;
        int order = strcmp(checkpoint_at(binder->checkpoint, middle)->name, info->name);
        if (order == 0) {
            binder->bound[middle] = true;
            return;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
}

static struct served_head head_of(const struct spec *spec)
{
    return (struct served_head){.architecture = spec->architecture,
                                .served = spec->family->architectures[HEAD_CLASSIFIER],
                                .is_text = spec->family->kind == ENGINE_TEXT,
                                .is_zero_shot = spec_is_zero_shot(spec),
                                .labels = spec->labels,
                                .label_count = spec->label_count};
}

/* Finds the row's tensor, which must have its shape and numbers that can be read as fp32. NULL: it
 * is optional, and the checkpoint lacks it. */
static enum err_code find_tensor(const struct spec *spec, const struct checkpoint *checkpoint,
                                 const struct tensor_row *row, const struct tensor_info **out,
                                 struct err *err)
{
    const bool is_bare = spec->head == HEAD_EMBEDDING; /* saved alone, without the root's name */
    const struct tensor_info *info =
        family_tensors_find(row, checkpoint, is_bare ? spec->family : NULL);
    const struct served_head head = head_of(spec);
    *out = info;
    if (info == NULL && row->is_optional)
        return ERR_OK;
    if (info == NULL && (spec->head == HEAD_STATES || spec->head == HEAD_WORDS))
        return err_set(err, ERR_UNSUPPORTED, "tensor '%s' is missing", row->name);
    if (info == NULL)
        return served_head_missing(
            &head, checkpoint, row->name,
            row->is_of_head && row->part == TENSOR_WEIGHT && row->field != TENSOR_PROJECTION, err);
    if (!family_tensors_fits(row, info))
        return family_tensors_misfit(row, info, err);
    return checkpoint_check_f32(checkpoint, info, err);
}

static enum err_code bind(struct binder *binder, const struct tensor_row *row,
                          const struct tensor_info **out)
{
    if (find_tensor(binder->spec, binder->checkpoint, row, out, binder->err))
        return binder->err->code;
    if (*out == NULL)
        return ERR_OK;
    mark_bound(binder, *out);
    binder->weights->parameters += (*out)->count;
    return ERR_OK;
}

/* Returns the place for the row. */
static void *place_of(const struct binder *binder, const struct tensor_row *row)
{
    const struct place *place = &places[row->field];
    void *base =
        place->is_in_block ? (void *)&binder->weights->layers[row->layer] : (void *)binder->weights;
    return (char *)base + place->at;
}

/* Adds a tensor with its own memory. */
static enum err_code add_table(struct binder *binder, const struct tensor_info *info, float **out)
{
    *out = arena_alloc(&binder->weights->arena, info->count * sizeof(float));
    if (*out == NULL)
        return err_no_memory(binder->err, info->count * sizeof(float));
    return loader_add_table(&binder->loader, info, *out, binder->err);
}

/* The word embedding keeps 16 bits a number if the checkpoint has no more. */
static enum err_code add_words(struct binder *binder, const struct tensor_info *info,
                               struct word_table *out)
{
    if (info->dtype != DTYPE_F16 && info->dtype != DTYPE_BF16)
        return add_table(binder, info, &out->f32);
    uint16_t *halves = arena_alloc(&binder->weights->arena, info->count * sizeof *halves);
    if (halves == NULL)
        return err_no_memory(binder->err, info->count * sizeof *halves);
    *(info->dtype == DTYPE_F16 ? &out->f16 : &out->bf16) = halves;
    return loader_add_halves(&binder->loader, info, halves, binder->err);
}

void word_table_read(const struct word_table *table, size_t first, size_t count, float *out)
{
    if (table->f16 != NULL)
        half_f16_to_f32(out, table->f16 + first, count);
    else if (table->bf16 != NULL)
        half_bf16_to_f32(out, table->bf16 + first, count);
    else
        memcpy(out, table->f32 + first, count * sizeof *out);
}

/* Returns the factor of the queries. It stands for that of the scores: the root of the number of
 * their terms, and the root of a head's width where the attention kernel divides by it and the
 * family does not, or the other way round. */
static float query_factor(const struct spec *spec)
{
    const struct block_spec *block = &spec->family->block;
    const unsigned terms = disentangled_terms(&spec->disentangled);
    const float root = sqrtf((float)spec_head_width(spec));
    if (terms > 1)
        return 1 / sqrtf((float)terms);
    if (block->is_decoder)
        return block->is_unscaled ? 1 : 1 / root;
    return block->is_unscaled ? root : 1;
}

/* Adds the gamma of a norm, and zeros if it has no beta. */
static enum err_code add_gamma(struct binder *binder, const struct tensor_row *row,
                               const struct tensor_info *info, struct norm *norm)
{
    if (binder->spec->unbiased[row->field]) {
        norm->beta = arena_alloc_array(&binder->weights->arena, row->count, sizeof *norm->beta);
        if (norm->beta == NULL)
            return err_no_memory(binder->err, row->count * sizeof *norm->beta);
    }
    return add_table(binder, info, &norm->gamma);
}

/* Adds the weight of a linear layer, or of a part of it. The convolution that cuts patches is a
 * linear layer over a patch's numbers. */
static enum err_code add_weight(struct binder *binder, const struct tensor_row *row,
                                const struct tensor_info *info, struct linear *linear)
{
    const struct place *place = &places[row->field];
    size_t out = row->shape[0], in = row->count / out;
    const bool is_output = row->field == TENSOR_OUTPUT;
    const struct linear_backend *backend =
        place->is_in_block || is_output
            ? workspace_backend(binder->spec, binder->encoder, row->field)
            : binder->other;
    if (place->part == 0 && linear_alloc(linear, backend, in, place->parts * out, binder->err))
        return binder->err->code;
    binder->parts[place->part] = info;
    if (place->part + 1 < place->parts)
        return ERR_OK;
    if (loader_add_matrix(&binder->loader, linear, binder->parts, place->parts, binder->err))
        return binder->err->code;
    /* The first outputs of the layer, which is complete now, are queries. */
    const float factor = query_factor(binder->spec);
    if ((row->field == TENSOR_VALUE || row->field == TENSOR_CROSS_QUERY) && factor != 1)
        loader_multiply(&binder->loader, linear, spec_attended(binder->spec, row->layer), factor);
    return ERR_OK;
}

static enum err_code add_plain(struct binder *binder, const struct tensor_row *row,
                               const struct tensor_info *info, struct plain_linear *linear)
{
    return add_table(binder, info, row->part == TENSOR_BIAS ? &linear->bias : &linear->weight);
}

static enum err_code bind_row(struct binder *binder, const struct tensor_row *row)
{
    const struct tensor_info *info = NULL;
    void *place = place_of(binder, row);
    struct linear *linear = place;
    if (bind(binder, row, &info) || info == NULL)
        return binder->err->code;
    if (places[row->field].is_plain)
        return add_plain(binder, row, info, place);
    switch (row->part) {
    case TENSOR_WEIGHT:
        return add_weight(binder, row, info, linear);
    case TENSOR_BIAS:
        if (row->field == TENSOR_MLM_BIAS && /* its weight is the word embedding: tie_decoder */
            linear_alloc(linear, binder->other, binder->spec->hidden, row->count, binder->err))
            return binder->err->code;
        return loader_add_table(&binder->loader, info,
                                linear->bias + places[row->field].part * row->count, binder->err);
    case TENSOR_GAMMA:
        return add_gamma(binder, row, info, place);
    case TENSOR_BETA:
        return add_table(binder, info, &((struct norm *)place)->beta);
    case TENSOR_SCALE: /* the linear's weights come before it */
        loader_scale(&binder->loader, linear, info);
        return ERR_OK;
    case TENSOR_TABLE:
        if (row->field == TENSOR_OUTPUT_BIAS)
            return loader_add_table(&binder->loader, info, linear->bias, binder->err);
        if (row->field == TENSOR_WORD)
            return add_words(binder, info, place);
        break;
    }
    return add_table(binder, info, place);
}

static enum err_code list_unbound(struct binder *binder)
{
    struct weights *weights = binder->weights;
    size_t count = checkpoint_count(binder->checkpoint);
    weights->unbound = arena_alloc_array(&weights->arena, count, sizeof *weights->unbound);
    if (weights->unbound == NULL)
        return err_no_memory(binder->err, count * sizeof *weights->unbound);
    for (size_t i = 0; i < count; i++) {
        const char *name = checkpoint_at(binder->checkpoint, i)->name;
        if (binder->bound[i])
            continue;
        char *copy = arena_copy(&weights->arena, name, strlen(name));
        if (copy == NULL)
            return err_no_memory(binder->err, strlen(name));
        weights->unbound[weights->unbound_count++] = copy;
    }
    return ERR_OK;
}

/* Makes a decoder's output of the word embedding, if they are one tensor. */
static enum err_code bind_tied_output(struct binder *binder)
{
    struct spec spec = *binder->spec;
    struct linear *output = &binder->weights->output;
    struct tensor_walk walk = {.spec = &spec, .head = spec.head};
    struct tensor_row row;
    if (spec.head != HEAD_WORDS || !spec.absent[TENSOR_OUTPUT])
        return ERR_OK;
    spec.absent[TENSOR_WORD] = false;
    while (family_tensors_next(&walk, &row) && row.field != TENSOR_WORD)
        ;
    if (find_tensor(&spec, binder->checkpoint, &row, &binder->parts[0], binder->err) ||
        linear_alloc(output, binder->encoder, spec.hidden, spec.vocab_size, binder->err) ||
        loader_add_matrix(&binder->loader, output, binder->parts, 1, binder->err))
        return binder->err->code;
    mark_bound(binder, binder->parts[0]);
    if (spec.output_scale > 0)
        loader_multiply(&binder->loader, output, spec.vocab_size, spec.output_scale);
    return ERR_OK;
}

static enum err_code bind_all(struct binder *binder)
{
    struct weights *weights = binder->weights;
    unsigned count = spec_blocks(binder->spec);
    const struct served_head head = head_of(binder->spec);
    if (binder->spec->head == HEAD_CLASSIFIER && served_head_check(&head, binder->err))
        return binder->err->code;
    weights->layers = arena_alloc_array(&weights->arena, count, sizeof *weights->layers);
    if (weights->layers == NULL)
        return err_no_memory(binder->err, count * sizeof *weights->layers);
    for (unsigned i = 0; i < spec_blocks(binder->spec); i++) {
        const struct spec at = spec_at(binder->spec, spec_stage_of(binder->spec, i));
        binder->weights->layers[i].heads = spec_heads(&at, i);
        binder->weights->layers[i].attended = spec_attended(&at, i);
    }
    if (bind_tied_output(binder))
        return binder->err->code;
    struct tensor_walk walk = {.spec = binder->spec, .head = binder->spec->head};
    for (struct tensor_row row; family_tensors_next(&walk, &row);)
        if (bind_row(binder, &row))
            return binder->err->code;
    return list_unbound(binder);
}

/* Resizes the checkpoint's grid of positions to the images', with the specials' in front. */
static enum err_code fit_positions(struct weights *weights, const struct spec *spec,
                                   struct err *err)
{
    size_t hidden = spec->hidden, specials = spec->family->image_specials * hidden;
    const struct extent to = extent_parts(spec->image_size, spec->patch);
    const size_t numbers = specials + extent_area(to) * hidden;
    if (spec->position_grid.height == 0 || extent_equals(spec->position_grid, to))
        return ERR_OK;
    float *fitted = arena_alloc_array(&weights->arena, numbers, sizeof *fitted);
    if (fitted == NULL)
        return err_no_memory(err, numbers * sizeof *fitted);
    memcpy(fitted, weights->position, specials * sizeof *fitted);
    positions_resize(fitted + specials, to, weights->position + specials, spec->position_grid,
                     hidden, spec->family->positions_antialiased);
    weights->position = fitted;
    return ERR_OK;
}

/* Expands the windows' biases: each layer has its own table. */
static enum err_code expand_windows(struct weights *weights, const struct spec *spec,
                                    struct err *err)
{
    if (spec->family->tensors[TENSOR_WINDOW_BIAS] == NULL)
        return ERR_OK;
    for (unsigned i = 0; i < spec->layers; i++) {
        const struct spec at = spec_at(spec, spec_stage_of(spec, i));
        const struct window_bias shape = spec_window_bias(&at, i);
        const size_t floats = window_bias_floats(&shape);
        struct layer *layer = &weights->layers[i];
        float *matrix = arena_alloc_array(&weights->arena, floats, sizeof *matrix);
        if (matrix == NULL)
            return err_no_memory(err, floats * sizeof *matrix);
        layer->bias = window_bias_expand(&shape, matrix, layer->bias_table);
    }
    return ERR_OK;
}

/* Makes the reaches' biases. A layer with a reach shares no block, and has no other bias. */
static enum err_code expand_reaches(struct weights *weights, const struct spec *spec,
                                    struct err *err)
{
    for (unsigned i = 0; i < spec->layers; i++) {
        unsigned reach = spec_reach(spec, i);
        if (reach == 0)
            continue;
        struct layer *layer = &weights->layers[i];
        size_t floats = reach_bias_floats(reach);
        float *table = arena_alloc_array(&weights->arena, floats, sizeof *table);
        if (table == NULL)
            return err_no_memory(err, floats * sizeof *table);
        layer->reach = reach;
        layer->bias = reach_bias(table, reach);
    }
    return ERR_OK;
}

/* Expands the relative bias: one table for all layers, or one for each. */
static enum err_code expand_bias(struct weights *weights, const struct spec *spec, struct err *err)
{
    for (unsigned i = 0; i < spec_blocks(spec) && spec->buckets > 0; i++) {
        const float *learnt = weights->layers[i].bias_table;
        if (learnt == NULL && i > 0) {
            weights->layers[i].bias = weights->layers[0].bias;
            continue;
        }
        size_t tokens = spec_text_tokens(spec), floats = relative_bias_floats(spec->heads, tokens);
        float *table = arena_alloc_array(&weights->arena, floats, sizeof *table);
        if (table == NULL)
            return err_no_memory(err, floats * sizeof *table);
        weights->layers[i].bias = relative_bias_expand(
            table, &spec->relative, learnt != NULL ? learnt : weights->relative_bias, spec->heads,
            tokens);
    }
    return ERR_OK;
}

/* Makes the tables of relative positions: each layer has its own, from places that all share. */
static enum err_code make_relative(const struct binder *binder, unsigned threads)
{
    const struct spec *spec = binder->spec;
    struct weights *weights = binder->weights;
    struct relative_tables tables;
    bool is_bf16 = workspace_attends_in_bf16(spec, binder->encoder);
    if (weights->relative_places == NULL)
        return ERR_OK;
    const struct gemm *gemm = binder->other == &linear_reference
                                  ? &gemm_generic
                                  : gemm_best(is_bf16 ? PRECISION_BF16 : PRECISION_F32);
    relative_tables_open(&tables, spec, gemm, threads, binder->err);
    if (binder->err->code == ERR_OK)
        relative_tables_normalise(&tables, weights->relative_places, weights->relative_norm.gamma,
                                  weights->relative_norm.beta);
    for (unsigned i = 0; binder->err->code == ERR_OK && i < spec_blocks(spec); i++)
        relative_tables_make(&tables, &weights->layers[i].relative, &weights->layers[i].qkv,
                             &weights->arena, binder->err);
    relative_tables_close(&tables);
    return binder->err->code;
}

/* Makes the bias of causal attention, one table for all layers and heads: 0 for keys up to query i,
 * and for later keys a number that leaves no weight in fp32 (Radford et al. 2021, section 2.4; the
 * masked attention of Vaswani et al. 2017, section 3.2.3). It is finite, so that a sum with a score
 * stays finite, and the difference of two is not NaN. */
static enum err_code expand_causal(struct weights *weights, const struct spec *spec,
                                   struct err *err)
{
    static const float masked = -1e30f;
    if (!spec->family->block.is_causal)
        return ERR_OK;
    const size_t tokens = spec_text_tokens(spec), same = tokens - 1;
    const size_t floats = simd_round_up(2 * tokens - 1) + SIMD_WIDTH;
    float *table = arena_alloc_array(&weights->arena, floats, sizeof *table); /* by difference */
    if (table == NULL)
        return err_no_memory(err, floats * sizeof *table);
    for (size_t i = 0; i < floats; i++)
        table[i] = i < same ? masked : 0;
    for (unsigned i = 0; i < spec_blocks(spec); i++)
        weights->layers[i].bias = (struct attention_bias){.at = table + same, .key_step = -1};
    return ERR_OK;
}

/* Computes the angles of every position, for the global layers and for the local ones. */
static enum err_code fill_rotary(struct weights *weights, const struct spec *spec, struct err *err)
{
    if (!spec->family->is_rotary)
        return ERR_OK;
    size_t tokens = spec_text_tokens(spec), width = spec->hidden / spec->heads;
    size_t floats = rotary_floats(tokens, width);
    float *tables[2];
    for (int i = 0; i < 2; i++) {
        tables[i] = arena_alloc_array(&weights->arena, floats, sizeof *tables[i]);
        if (tables[i] == NULL)
            return err_no_memory(err, floats * sizeof *tables[i]);
        rotary_fill(tables[i], tokens, width, spec->rotary_base[i]);
    }
    for (unsigned i = 0; i < spec->layers; i++)
        weights->layers[i].rotary = tables[spec_reach(spec, i) > 0];
    return ERR_OK;
}

/* Computes the table of positions that the family computes, unless the checkpoint has it. */
static enum err_code fill_sines(struct weights *weights, const struct spec *spec, struct err *err)
{
    const enum position_table kind = spec->family->position_table;
    const size_t width = spec_embedding(spec);
    if (kind == POSITIONS_LEARNT || weights->position != NULL)
        return ERR_OK;
    float *table = arena_alloc_array(&weights->arena, spec->positions, width * sizeof *table);
    if (table == NULL)
        return err_no_memory(err, spec->positions * width * sizeof *table);
    if (kind == POSITIONS_SINES)
        positions_sines(table, spec->positions, width);
    else
        positions_sines_fairseq(table, spec->positions, width, spec->pad_id);
    weights->position = table;
    return ERR_OK;
}

/* The decoder of a masked-language-model head multiplies by the word embedding. */
static enum err_code tie_decoder(struct weights *weights, const struct spec *spec, struct err *err)
{
    const size_t width = spec->hidden, step = 64 * (size_t)LINEAR_FILL_ROWS;
    if (spec->head != HEAD_FILL && spec->head != HEAD_SPARSE)
        return ERR_OK;
    float *words = malloc(step * width * sizeof *words);
    if (words == NULL)
        return err_no_memory(err, step * width * sizeof *words);
    for (size_t first = 0; first < spec->vocab_size; first += step) {
        const size_t left = spec->vocab_size - first, count = left < step ? left : step;
        word_table_read(&weights->word, first * width, count * width, words);
        linear_fill(&weights->classifier, first, count, words);
    }
    free(words);
    return ERR_OK;
}

enum err_code weights_check(const struct spec *spec, const struct checkpoint *checkpoint,
                            struct err *err)
{
    const struct tensor_info *info;
    struct tensor_walk walk = {.spec = spec, .head = spec->head};
    const struct served_head head = head_of(spec);
    if (spec->head == HEAD_CLASSIFIER && served_head_check(&head, err))
        return err->code;
    for (struct tensor_row row; family_tensors_next(&walk, &row);)
        if (find_tensor(spec, checkpoint, &row, &info, err))
            return err->code;
    return ERR_OK;
}

enum err_code weights_open_target(struct weights *out, const struct spec *spec,
                                  const struct weights *source, const struct checkpoint *checkpoint,
                                  const struct linear_backend *encoder,
                                  const struct linear_backend *other, unsigned threads,
                                  struct err *err)
{
    *out = (struct weights){0};
    if (spec_shares_words(spec))
        out->word = source->word;
    arena_init(&out->arena);
    bool *bound = calloc(checkpoint_count(checkpoint) + 1, sizeof *bound);
    if (bound == NULL)
        return err_no_memory(err, checkpoint_count(checkpoint));
    struct binder binder = {.spec = spec,
                            .checkpoint = checkpoint,
                            .encoder = encoder,
                            .other = other,
                            .weights = out,
                            .bound = bound,
                            .err = err};
    loader_init(&binder.loader, checkpoint);
    if (bind_all(&binder) || loader_run(&binder.loader, threads, err) ||
        fit_positions(out, spec, err) || expand_windows(out, spec, err) ||
        expand_bias(out, spec, err) || expand_causal(out, spec, err) ||
        expand_reaches(out, spec, err) || fill_rotary(out, spec, err) ||
        fill_sines(out, spec, err) || make_relative(&binder, threads) ||
        tie_decoder(out, spec, err))
        weights_close(out, spec);
    loader_deinit(&binder.loader);
    free(bound);
    return err->code;
}

enum err_code weights_open(struct weights *out, const struct spec *spec,
                           const struct checkpoint *checkpoint,
                           const struct linear_backend *encoder, const struct linear_backend *other,
                           unsigned threads, struct err *err)
{
    return weights_open_target(out, spec, NULL, checkpoint, encoder, other, threads, err);
}

enum { LAYER_LINEARS = 8 };

/* Writes the linear layers of a block. */
static void list_linears(struct layer *layer, struct linear *list[LAYER_LINEARS])
{
    struct linear *all[LAYER_LINEARS] = {
        &layer->qkv,   &layer->attention_out, &layer->mlp_in,   &layer->mlp_out,
        &layer->merge, &layer->cross_query,   &layer->cross_kv, &layer->cross_out};
    memcpy(list, all, sizeof all);
}

void weights_close(struct weights *weights, const struct spec *spec)
{
    struct linear *linears[LAYER_LINEARS];
    for (unsigned i = 0; weights->layers != NULL && i < spec_blocks(spec); i++) {
        list_linears(&weights->layers[i], linears);
        for (unsigned l = 0; l < LAYER_LINEARS; l++)
            linear_close(linears[l]);
    }
    linear_close(&weights->output);
    linear_close(&weights->embedding_project);
    linear_close(&weights->states_project);
    linear_close(&weights->patch);
    linear_close(&weights->pooler);
    linear_close(&weights->projection);
    linear_close(&weights->classifier);
    linear_close(&weights->distillation_classifier);
    linear_close(&weights->mean_classifier);
    arena_deinit(&weights->arena);
    *weights = (struct weights){0};
}

size_t weights_bytes(const struct weights *weights, const struct spec *spec)
{
    size_t bytes = weights->arena.bytes + weights->patch.bytes + weights->pooler.bytes +
                   weights->projection.bytes + weights->embedding_project.bytes +
                   weights->states_project.bytes + weights->classifier.bytes +
                   weights->distillation_classifier.bytes + weights->mean_classifier.bytes +
                   weights->output.bytes;
    struct linear *linears[LAYER_LINEARS];
    for (unsigned i = 0; i < spec_blocks(spec); i++) {
        list_linears(&weights->layers[i], linears);
        for (unsigned l = 0; l < LAYER_LINEARS; l++)
            bytes += linears[l]->bytes;
    }
    return bytes;
}
