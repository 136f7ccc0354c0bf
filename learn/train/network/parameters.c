/* parameters.c - see parameters.h. A `builder` walks the family's row as model/weights.c does, with
 * the same names and shapes, and deals out offsets; the array is taken when their sum is known.
 * What is loaded into it is parameters_load.c's. */
#include "learn/train/network/parameters.h"

#include "engine/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    ALIGNMENT = 16, /* floats: a cache line */
    NAME_BYTES = 192,
    RANK_MAX = 4,
    LIST_MAX = 16, /* tensors outside the blocks, and tensors of one block: at most so many each */
    PURPOSE = 0x494E4954 /* of the random numbers: "INIT" */
};

struct builder {
    struct parameters *parameters;
    unsigned depth;
    struct err *err;
};

/* Dimensions; 0 ends them. */
struct shape {
    size_t dim[RANK_MAX];
};

/* "%u" in a family's name becomes the number of the block being built. */
static char *format_name(struct builder *builder, const char *base, const char *suffix)
{
    struct arena *arena = &builder->parameters->arena;
    const char *number = strstr(base, "%u");
    if (number == NULL)
        return arena_format(arena, "%s%s", base, suffix);
    return arena_format(arena, "%.*s%u%s%s", (int)(number - base), base, builder->depth - 1,
                        number + 2, suffix);
}

/* Appends a tensor right behind the last one; its offset. A NULL base adds nothing. */
static size_t append(struct builder *builder, enum parameter_kind kind, const char *base,
                     const char *suffix, const struct shape *shape)
{
    struct parameters *parameters = builder->parameters;
    if (base == NULL)
        return SIZE_MAX;
    struct parameter *parameter = &parameters->list[parameters->count++];
    *parameter = (struct parameter){.name = format_name(builder, base, suffix),
                                    .kind = kind,
                                    .offset = parameters->numbers,
                                    .count = 1,
                                    .depth = builder->depth};
    if (parameter->name == NULL)
        err_no_memory(builder->err, NAME_BYTES);
    while (parameter->rank < RANK_MAX && shape->dim[parameter->rank] != 0) {
        parameter->shape[parameter->rank] = shape->dim[parameter->rank];
        parameter->count *= shape->dim[parameter->rank++];
    }
    parameters->numbers += parameter->count;
    return parameter->offset;
}

static void align(struct builder *builder)
{
    size_t *numbers = &builder->parameters->numbers;
    *numbers = (*numbers + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t add(struct builder *builder, enum parameter_kind kind, const char *base,
                  const char *suffix, struct shape shape)
{
    align(builder);
    return append(builder, kind, base, suffix, &shape);
}

static void add_linear(struct builder *builder, const char *base, size_t in, size_t out,
                       size_t *weight, size_t *bias)
{
    *weight = add(builder, PARAMETER_WEIGHT, base, ".weight", (struct shape){{out, in}});
    *bias = add(builder, PARAMETER_BIAS, base, ".bias", (struct shape){{out}});
}

static void add_norm(struct builder *builder, const char *base, size_t *gamma, size_t *beta)
{
    size_t hidden = builder->parameters->spec.hidden;
    *gamma = add(builder, PARAMETER_GAMMA, base, ".weight", (struct shape){{hidden}});
    *beta = add(builder, PARAMETER_BETA, base, ".bias", (struct shape){{hidden}});
}

static void add_text_embeddings(struct builder *builder)
{
    const struct spec *spec = &builder->parameters->spec;
    const struct family *family = spec->family;
    struct parameters_map *map = &builder->parameters->map;
    const char *types = family->token_types ? family->token_type : NULL;
    map->word = add(builder, PARAMETER_EMBEDDING, family->word, "",
                    (struct shape){{spec->vocab_size, spec->hidden}});
    map->position = add(builder, PARAMETER_EMBEDDING, family->position, "",
                        (struct shape){{spec->positions, spec->hidden}});
    map->token_type = add(builder, PARAMETER_EMBEDDING, types, "",
                          (struct shape){{spec->token_types, spec->hidden}});
    add_norm(builder, family->embedding_norm, &map->embedding_gamma, &map->embedding_beta);
}

static void add_image_embeddings(struct builder *builder)
{
    const struct spec *spec = &builder->parameters->spec;
    const struct family *family = spec->family;
    struct parameters_map *map = &builder->parameters->map;
    struct shape token = {{1, 1, spec->hidden}};
    map->cls_token = add(builder, PARAMETER_EMBEDDING, family->cls_token, "", token);
    map->distillation_token =
        add(builder, PARAMETER_EMBEDDING, family->distillation_token, "", token);
    map->position = add(builder, PARAMETER_EMBEDDING, family->position, "",
                        (struct shape){{1, spec_image_tokens(spec), spec->hidden}});
    map->patch_weight =
        add(builder, PARAMETER_WEIGHT, family->patch, ".weight",
            (struct shape){{spec->hidden, spec->channels, spec->patch, spec->patch}});
    map->patch_bias =
        add(builder, PARAMETER_BIAS, family->patch, ".bias", (struct shape){{spec->hidden}});
}

/* Query, key and value without padding between them, so that they are one product's. */
static void add_qkv(struct builder *builder, struct parameters_layer *layer)
{
    const struct spec *spec = &builder->parameters->spec;
    const char *const bases[] = {spec->family->query, spec->family->key, spec->family->value};
    struct shape weight = {{spec->hidden, spec->hidden}}, bias = {{spec->hidden}};
    align(builder);
    layer->qkv_weight = builder->parameters->numbers;
    for (size_t part = 0; part < 3; part++)
        append(builder, PARAMETER_WEIGHT, bases[part], ".weight", &weight);
    align(builder);
    layer->qkv_bias = spec->qkv_bias ? builder->parameters->numbers : SIZE_MAX;
    for (size_t part = 0; part < 3 && spec->qkv_bias; part++)
        append(builder, PARAMETER_BIAS, bases[part], ".bias", &bias);
}

static void add_layer(struct builder *builder, struct parameters_layer *layer)
{
    const struct spec *spec = &builder->parameters->spec;
    const struct family *family = spec->family;
    add_qkv(builder, layer);
    add_linear(builder, family->attention_out, spec->hidden, spec->hidden, &layer->out_weight,
               &layer->out_bias);
    add_norm(builder, family->attention_norm, &layer->attention_gamma, &layer->attention_beta);
    add_linear(builder, family->mlp_in, spec->hidden, spec->intermediate, &layer->mlp_in_weight,
               &layer->mlp_in_bias);
    add_linear(builder, family->mlp_out, spec->intermediate, spec->hidden, &layer->mlp_out_weight,
               &layer->mlp_out_bias);
    add_norm(builder, family->mlp_norm, &layer->mlp_gamma, &layer->mlp_beta);
}

static void add_classifier(struct builder *builder)
{
    const struct spec *spec = &builder->parameters->spec;
    const struct family *family = spec->family;
    struct parameters_map *map = &builder->parameters->map;
    add_norm(builder, family->final_norm, &map->final_gamma, &map->final_beta);
    add_linear(builder, family->pooler, spec->hidden, spec->hidden, &map->pooler_weight,
               &map->pooler_bias);
    add_linear(builder, family->classifier, spec->hidden, spec->label_count,
               &map->classifier_weight, &map->classifier_bias);
    add_linear(builder, family->distillation_classifier, spec->hidden, spec->label_count,
               &map->distillation_weight, &map->distillation_bias);
}

/* The names of BertForMaskedLM; the decoder's weight is the word embedding. */
static void add_mlm(struct builder *builder)
{
    const struct spec *spec = &builder->parameters->spec;
    struct parameters_map *map = &builder->parameters->map;
    add_linear(builder, "cls.predictions.transform.dense", spec->hidden, spec->hidden,
               &map->pooler_weight, &map->pooler_bias);
    add_norm(builder, "cls.predictions.transform.LayerNorm", &map->mlm_gamma, &map->mlm_beta);
    map->mlm_bias = add(builder, PARAMETER_BIAS, "cls.predictions.bias", "",
                        (struct shape){{spec->vocab_size}});
}

static void add_all(struct builder *builder)
{
    struct parameters *parameters = builder->parameters;
    if (parameters->spec.family->kind == ENGINE_TEXT)
        add_text_embeddings(builder);
    else
        add_image_embeddings(builder);
    for (unsigned i = 0; i < parameters->spec.layers; i++) {
        builder->depth = i + 1;
        add_layer(builder, &parameters->map.layers[i]);
    }
    builder->depth = parameters->spec.layers + 1;
    if (parameters->head == PARAMETERS_MLM)
        add_mlm(builder);
    else
        add_classifier(builder);
    align(builder);
}

static enum err_code check_head(const struct spec *spec, enum parameters_head head, struct err *err)
{
    if (head == PARAMETERS_MLM && strcmp(spec->family->name, "bert") != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "family '%s' has no masked-language-model head here (supported: bert)",
                       spec->family->name);
    return ERR_OK;
}

/* Every offset "none" until it is given. */
static const struct parameters_map empty_map = {
    SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX,
    SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX,
    SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, NULL};

enum err_code parameters_open(struct parameters *out, const struct spec *spec,
                              enum parameters_head head, struct err *err)
{
    struct builder builder = {.parameters = out, .err = err};
    size_t list_max = LIST_MAX * ((size_t)spec->layers + 1);
    *out = (struct parameters){.spec = *spec, .head = head, .map = empty_map};
    arena_init(&out->arena);
    if (check_head(spec, head, err))
        return err->code;
    out->list = arena_alloc_array(&out->arena, list_max, sizeof *out->list);
    out->map.layers = arena_alloc_array(&out->arena, spec->layers, sizeof *out->map.layers);
    if (out->list == NULL || out->map.layers == NULL)
        return err_no_memory(err, list_max * sizeof *out->list);
    add_all(&builder);
    if (err->code != ERR_OK)
        return err->code;
    out->values = arena_alloc_array(&out->arena, out->numbers, sizeof *out->values);
    return out->values != NULL ? ERR_OK : err_no_memory(err, out->numbers * sizeof *out->values);
}

void parameters_close(struct parameters *parameters)
{
    arena_deinit(&parameters->arena);
    *parameters = (struct parameters){0};
}

static void init_normal(float *values, size_t count, struct rng *rng)
{
    for (size_t i = 0; i < count; i++) {
        float normal = rng_normal(rng);
        while (fabsf(normal) > 2)
            normal = rng_normal(rng);
        values[i] = 0.02f * normal;
    }
}

void parameters_init(struct parameters *parameters, uint64_t seed)
{
    for (unsigned p = 0; p < parameters->count; p++) {
        const struct parameter *parameter = &parameters->list[p];
        float *values = parameters->values + parameter->offset;
        struct rng rng = rng_for(seed, PURPOSE, p);
        bool is_random =
            parameter->kind == PARAMETER_WEIGHT || parameter->kind == PARAMETER_EMBEDDING;
        if (is_random)
            init_normal(values, parameter->count, &rng);
        for (size_t i = 0; i < parameter->count && !is_random; i++)
            values[i] = parameter->kind == PARAMETER_GAMMA;
    }
}
