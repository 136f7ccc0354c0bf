/* parameters.c - see parameters.h. A walk over the family's tensors assigns offsets; the array is
 * allocated when their sum is known. The table `places` says which field keeps an offset.
 * parameters_load.c fills the array from a checkpoint. */
#include "learn/train/network/parameters.h"

#include "engine/base/rng.h"
#include "engine/model/positions.h"

#include <math.h>
#include <string.h>

enum {
    ALIGNMENT = 16,      /* floats: a cache line */
    PURPOSE = 0x494E4954 /* of the random numbers: "INIT" */
};

/* The members that keep the offsets of a tensor field: `first` that of its weight, gamma or table,
 * `second` that of its bias or beta. */
struct place {
    bool is_kept, is_in_block; /* in struct parameters_layer; else in struct parameters_map */
    size_t first, second;
};

#define OUTSIDE(first, second)                                                                     \
    {                                                                                              \
        true, false, offsetof(struct parameters_map, first),                                       \
            offsetof(struct parameters_map, second)                                                \
    }
#define IN_BLOCK(first, second)                                                                    \
    {                                                                                              \
        true, true, offsetof(struct parameters_layer, first),                                      \
            offsetof(struct parameters_layer, second)                                              \
    }

/* Key and value follow the query, the cross attention's value its key, and a gated MLP's value its
 * gate; they have no members of their own. */
static const struct place places[TENSOR_FIELDS] = {
    [TENSOR_WORD] = OUTSIDE(word, word),
    [TENSOR_POSITION] = OUTSIDE(position, position),
    [TENSOR_TOKEN_TYPE] = OUTSIDE(token_type, token_type),
    [TENSOR_EMBEDDING_NORM] = OUTSIDE(embedding_gamma, embedding_beta),
    [TENSOR_EMBEDDING_PROJECT] = OUTSIDE(project_weight, project_bias),
    [TENSOR_RELATIVE_BIAS] = OUTSIDE(relative_bias, relative_bias),
    [TENSOR_RELATIVE_PLACES] = OUTSIDE(relative_places, relative_places),
    [TENSOR_RELATIVE_NORM] = OUTSIDE(relative_gamma, relative_beta),
    [TENSOR_STATES_PROJECT] = OUTSIDE(states_weight, states_bias),
    [TENSOR_CLS_TOKEN] = OUTSIDE(cls_token, cls_token),
    [TENSOR_DISTILLATION_TOKEN] = OUTSIDE(distillation_token, distillation_token),
    [TENSOR_REGISTERS] = OUTSIDE(registers, registers),
    [TENSOR_PATCH] = OUTSIDE(patch_weight, patch_bias),
    [TENSOR_QUERY] = IN_BLOCK(qkv_weight, qkv_bias),
    [TENSOR_QKV] = IN_BLOCK(qkv_weight, qkv_bias),
    [TENSOR_GLOBAL_QUERY] = IN_BLOCK(global_query.weight, global_query.bias),
    [TENSOR_GLOBAL_KEY] = IN_BLOCK(global_key.weight, global_key.bias),
    [TENSOR_GLOBAL_VALUE] = IN_BLOCK(global_value.weight, global_value.bias),
    [TENSOR_ATTENTION_OUT] = IN_BLOCK(out_weight, out_bias),
    [TENSOR_WINDOW_BIAS] = IN_BLOCK(own_bias, own_bias),
    [TENSOR_LAYER_BIAS] = IN_BLOCK(own_bias, own_bias),
    [TENSOR_ATTENTION_SCALE] = IN_BLOCK(attention_scale, attention_scale),
    [TENSOR_ATTENTION_NORM] = IN_BLOCK(attention_gamma, attention_beta),
    [TENSOR_CROSS_QUERY] = IN_BLOCK(cross_query.weight, cross_query.bias),
    [TENSOR_CROSS_KEY] = IN_BLOCK(cross_key_value.weight, cross_key_value.bias),
    [TENSOR_CROSS_OUT] = IN_BLOCK(cross_out.weight, cross_out.bias),
    [TENSOR_CROSS_NORM] = IN_BLOCK(cross_gamma, cross_beta),
    [TENSOR_MLP_IN] = IN_BLOCK(mlp_in_weight, mlp_in_bias),
    [TENSOR_MLP_OUT] = IN_BLOCK(mlp_out_weight, mlp_out_bias),
    [TENSOR_GATED_IN] = IN_BLOCK(mlp_in_weight, mlp_in_bias),
    [TENSOR_GATE_IN] = IN_BLOCK(mlp_in_weight, mlp_in_bias),
    [TENSOR_GATED_OUT] = IN_BLOCK(mlp_out_weight, mlp_out_bias),
    [TENSOR_MLP_SCALE] = IN_BLOCK(mlp_scale, mlp_scale),
    [TENSOR_MLP_NORM] = IN_BLOCK(mlp_gamma, mlp_beta),
    [TENSOR_MERGE_NORM] = IN_BLOCK(merge_gamma, merge_beta),
    [TENSOR_MERGE] = IN_BLOCK(merge_weight, merge_weight),
    [TENSOR_FINAL_NORM] = OUTSIDE(final_gamma, final_beta),
    [TENSOR_POOLED_NORM] = OUTSIDE(pooled_gamma, pooled_beta),
    [TENSOR_POOLER] = OUTSIDE(pooler_weight, pooler_bias),
    [TENSOR_HEAD_NORM] = OUTSIDE(head_gamma, head_beta),
    [TENSOR_CLASSIFIER] = OUTSIDE(classifier_weight, classifier_bias),
    [TENSOR_TAGS] = OUTSIDE(classifier_weight, classifier_bias),
    [TENSOR_DISTILLATION_CLASSIFIER] = OUTSIDE(distillation_weight, distillation_bias),
    [TENSOR_MLM_TRANSFORM] = OUTSIDE(pooler_weight, pooler_bias),
    [TENSOR_MLM_NORM] = OUTSIDE(mlm_gamma, mlm_beta),
    [TENSOR_MLM_BIAS] = OUTSIDE(mlm_bias, mlm_bias),
    [TENSOR_OUTPUT] = OUTSIDE(output_weight, output_weight),
    [TENSOR_OUTPUT_BIAS] = OUTSIDE(output_bias, output_bias),
};

static void align(struct parameters *parameters)
{
    parameters->numbers = (parameters->numbers + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Computed positions are no parameters: the network makes them. */
static bool is_computed(const struct tensor_row *row)
{
    return row->field == TENSOR_POSITION && row->is_optional;
}

static bool follows(enum tensor_field field)
{
    return field == TENSOR_KEY || field == TENSOR_VALUE || field == TENSOR_CROSS_VALUE ||
           field == TENSOR_VALUE_IN;
}

static struct tensor_walk walk_of(const struct parameters *parameters)
{
    return (struct tensor_walk){.spec = &parameters->spec, .head = parameters->head};
}

static unsigned count_tensors(const struct parameters *parameters)
{
    struct tensor_walk walk = walk_of(parameters);
    unsigned count = 0;
    for (struct tensor_row row; family_tensors_next(&walk, &row);)
        count += !is_computed(&row);
    return count;
}

/* Fills the list, and moves the end of the flat array, `numbers`, behind its tensors. */
static void deal_out(struct parameters *parameters)
{
    struct tensor_walk walk = walk_of(parameters);
    for (struct parameter *next = parameters->list; family_tensors_next(&walk, &next->row);) {
        if (is_computed(&next->row))
            continue;
        if (!follows(next->row.field))
            align(parameters);
        if (next->row.field == TENSOR_VALUE && next->row.part == TENSOR_BIAS &&
            parameters->spec.family->block.key_unbiased)
            parameters->numbers += next->row.count; /* zeros in place of the key's */
        next->offset = parameters->numbers;
        next->is_constant = next->row.field == TENSOR_OUTPUT_BIAS;
        parameters->numbers += next->row.count;
        const struct parameter *parameter = next++;
        const struct tensor_row *row = &parameter->row;
        const struct place *place = &places[row->field];
        bool is_second = row->part == TENSOR_BIAS || row->part == TENSOR_BETA;
        void *base = place->is_in_block ? (void *)&parameters->map.layers[row->layer]
                                        : (void *)&parameters->map;
        if (place->is_kept)
            *(size_t *)(void *)((char *)base + (is_second ? place->second : place->first)) =
                parameter->offset;
    }
    align(parameters);
}

static enum err_code check_head(const struct spec *spec, enum family_head head, struct err *err)
{
    if (head == HEAD_MLM && spec->family->architectures[head] == NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "family '%s' has no masked-language-model head here (supported: bert)",
                       spec->family->name);
    return ERR_OK;
}

/* Sets every offset to SIZE_MAX, "none". The structs consist of offsets, except `layers` at the end
 * of parameters_map. */
static void empty(void *offsets, size_t bytes)
{
    size_t *offset = offsets;
    for (size_t i = 0; i < bytes / sizeof *offset; i++)
        offset[i] = SIZE_MAX;
}

static enum err_code open_map(struct parameters *parameters, struct arena *arena, struct err *err)
{
    const unsigned blocks = spec_blocks(&parameters->spec);
    struct parameters_map *map = &parameters->map;
    empty(map, offsetof(struct parameters_map, layers));
    map->layers = arena_alloc_array(arena, blocks, sizeof *map->layers);
    if (map->layers == NULL)
        return err_no_memory(err, blocks * sizeof *map->layers);
    empty(map->layers, blocks * sizeof *map->layers);
    return ERR_OK;
}

static enum err_code open_values(struct parameters *out, struct err *err)
{
    out->values = arena_alloc_array(&out->arena, out->numbers, sizeof *out->values);
    return out->values != NULL ? ERR_OK : err_no_memory(err, out->numbers * sizeof *out->values);
}

static enum err_code open_source(struct parameters *out, const struct spec *spec,
                                 enum family_head head, unsigned more, struct err *err)
{
    *out = (struct parameters){.spec = *spec, .head = head};
    arena_init(&out->arena);
    if (check_head(spec, head, err) || open_map(out, &out->arena, err))
        return err->code;
    out->count = count_tensors(out);
    out->list = arena_alloc_array(&out->arena, out->count + more + 1u, sizeof *out->list);
    if (out->list == NULL)
        return err_no_memory(err, (out->count + more) * sizeof *out->list);
    deal_out(out);
    return ERR_OK;
}

enum err_code parameters_open(struct parameters *out, const struct spec *spec,
                              enum family_head head, struct err *err)
{
    return open_source(out, spec, head, 0, err) ? err->code : open_values(out, err);
}

enum err_code parameters_open_pair(struct parameters *out, const struct spec *source,
                                   const struct spec *target, struct err *err)
{
    struct parameters decoder = {.spec = *target, .head = HEAD_WORDS};
    decoder.count = count_tensors(&decoder);
    if (open_source(out, source, HEAD_STATES, decoder.count, err) ||
        open_map(&decoder, &out->arena, err))
        return err->code;
    decoder.list = out->list + out->count;
    decoder.numbers = out->numbers;
    deal_out(&decoder);
    if (spec_shares_words(target))
        decoder.map.word = out->map.word;
    if (target->absent[TENSOR_OUTPUT])
        decoder.map.output_weight = decoder.map.word;
    out->numbers = decoder.numbers;
    out->count += decoder.count;
    out->target = arena_alloc_array(&out->arena, 1, sizeof *out->target);
    if (out->target == NULL || open_values(out, err))
        return err_no_memory(err, sizeof *out->target);
    decoder.values = out->values;
    *out->target = decoder;
    return ERR_OK;
}

void parameters_close(struct parameters *parameters)
{
    arena_deinit(&parameters->arena);
    *parameters = (struct parameters){0};
}

unsigned parameters_outputs(const struct spec *spec, enum family_head head)
{
    return head == HEAD_MLM || head == HEAD_TAGS ? 0
           : head == HEAD_EMBEDDING              ? spec->sentence->pooling.count * spec->hidden
                                                 : spec->label_count;
}

static void init_normal(float *values, size_t count, float deviation, struct rng *rng)
{
    for (size_t i = 0; i < count; i++) {
        float normal = rng_normal(rng);
        while (fabsf(normal) > 2)
            normal = rng_normal(rng);
        values[i] = deviation * normal;
    }
}

/* T5's words have a deviation of 1, as its first norm expects; its untied output has it too. */
static float deviation_of(const struct spec *spec, const struct tensor_row *row)
{
    const float hidden = (float)spec->hidden, head = (float)spec_head_width(spec);
    if (!spec->family->block.is_unscaled)
        return 0.02f;
    switch (row->field) {
    case TENSOR_WORD:
    case TENSOR_OUTPUT:
        return 1;
    case TENSOR_QUERY:
    case TENSOR_CROSS_QUERY:
        return 1 / sqrtf(hidden * head);
    case TENSOR_ATTENTION_OUT:
    case TENSOR_CROSS_OUT:
        return 1 / sqrtf((float)spec_heads_width(spec));
    case TENSOR_MLP_OUT:
    case TENSOR_GATED_OUT:
        return 1 / sqrtf((float)spec->intermediate);
    default:
        return 1 / sqrtf(hidden);
    }
}

static void init_one(const struct spec *spec, const struct parameter *parameter, float *values,
                     struct rng *rng)
{
    const struct tensor_row *row = &parameter->row;
    if (parameter->is_constant)
        memset(values, 0, row->count * sizeof *values);
    else if (row->part == TENSOR_WEIGHT || row->part == TENSOR_TABLE)
        init_normal(values, row->count, deviation_of(spec, row), rng);
    else
        for (size_t i = 0; i < row->count; i++)
            values[i] = row->part == TENSOR_GAMMA || row->part == TENSOR_SCALE;
    if (row->field == TENSOR_WORD && spec->family->pads_words && spec->pad_id < row->shape[0])
        memset(values + spec->pad_id * row->shape[1], 0, row->shape[1] * sizeof *values);
}

void parameters_init(struct parameters *parameters, uint64_t seed)
{
    const struct parameters *target = parameters->target;
    for (unsigned p = 0; p < parameters->count; p++) {
        const struct parameter *parameter = &parameters->list[p];
        const bool is_target = target != NULL && parameter >= target->list;
        struct rng rng = rng_for(seed, PURPOSE, p);
        init_one(is_target ? &target->spec : &parameters->spec, parameter,
                 parameters->values + parameter->offset, &rng);
    }
}

/* ---- resize ---- */

/* The first rows ([CLS], distillation) are no position in the image and are copied. */
static void resize_positions(const struct parameters *from, const float *from_values,
                             const struct parameters *to, float *to_values)
{
    size_t hidden = to->spec.hidden, specials = to->spec.family->image_specials;
    memcpy(to_values, from_values, specials * hidden * sizeof *to_values);
    positions_resize(
        to_values + specials * hidden, extent_parts(to->spec.image_size, to->spec.patch),
        from_values + specials * hidden, extent_parts(from->spec.image_size, from->spec.patch),
        hidden, to->spec.family->positions_antialiased);
}

enum err_code parameters_resize(const struct parameters *from, const float *from_values,
                                const struct parameters *to, float *to_values, struct err *err)
{
    for (unsigned i = 0; i < to->count; i++) {
        const struct parameter *target = &to->list[i], *source = &from->list[i];
        if (target->offset == to->map.position)
            resize_positions(from, from_values + source->offset, to, to_values + target->offset);
        else if (i < from->count && target->row.count == source->row.count)
            memcpy(to_values + target->offset, from_values + source->offset,
                   target->row.count * sizeof *to_values);
        else
            return err_set(err, ERR_INTERNAL, "tensor '%s' does not fit the other image size",
                           target->row.name);
    }
    return ERR_OK;
}
