/* spec_sizes.c - functions of a spec's sizes: see spec.h. */
#include "engine/model/spec.h"

void spec_set_image_size(struct spec *spec, struct extent image_size)
{
    spec->image_size = image_size;
    spec->patches = (unsigned)extent_area(extent_parts(image_size, spec->patch));
    spec->position_grid = (struct extent){0};
}

float spec_embedding_eps(const struct spec *spec)
{
    double eps = spec->family->embedding_eps;
    return eps > 0 ? (float)eps : spec->norm_eps;
}

struct extent spec_image_unit(const struct spec *spec)
{
    const struct stage_config *stages = spec->stages;
    if (stages == NULL)
        return spec->patch;
    return extent_square((spec->patch.height << (stages->count - 1)) * stages->window);
}

/* ---- stages ---- */

struct spec spec_at(const struct spec *spec, unsigned stage)
{
    struct spec out = *spec;
    if (spec->stages == NULL)
        return out;
    out.stage = stage;
    out.hidden = spec->stages->stage[stage].hidden;
    out.heads = spec->stages->stage[stage].heads;
    out.intermediate = spec->stages->stage[stage].intermediate;
    out.patch = extent_square(spec->patch.height << stage);
    spec_set_image_size(&out, spec->image_size);
    return out;
}

unsigned spec_stages(const struct spec *spec)
{
    return spec->stages != NULL ? spec->stages->count : 1;
}

unsigned spec_first_layer(const struct spec *spec)
{
    return spec->stages != NULL ? spec->stages->stage[spec->stage].first : 0;
}

unsigned spec_end_layer(const struct spec *spec)
{
    return spec->stages != NULL ? spec->stages->stage[spec->stage].end : spec->layers;
}

unsigned spec_stage_of(const struct spec *spec, unsigned layer)
{
    unsigned stage = 0;
    while (stage + 1 < spec_stages(spec) && layer >= spec->stages->stage[stage].end)
        stage++;
    return stage;
}

struct spec_grid spec_grid(const struct spec *spec)
{
    const struct extent image = extent_parts(spec->image_size, spec->patch);
    if (spec->stages == NULL)
        return (struct spec_grid){image, image, 1, 1};
    const unsigned across = image.width / spec->stages->window;
    return (struct spec_grid){image, extent_square(spec->stages->window), across, across * across};
}

unsigned spec_shift(const struct spec *spec, unsigned layer)
{
    const struct spec_grid grid = spec_grid(spec);
    bool is_odd = (layer - spec_first_layer(spec)) % 2 == 1;
    return is_odd && grid.across > 1 ? grid.window.width / 2 : 0;
}

struct window_bias spec_window_bias(const struct spec *spec, unsigned layer)
{
    return (struct window_bias){.heads = spec->heads,
                                .window = spec_grid(spec).window,
                                .specials = spec->family->image_specials,
                                .shift = spec_shift(spec, layer)};
}

size_t spec_sequence(const struct spec *spec)
{
    if (spec->family->kind == ENGINE_TEXT)
        return spec_text_tokens(spec);
    return spec->stages != NULL ? (size_t)spec->stages->window * spec->stages->window
                                : spec_image_tokens(spec);
}

/* ---- tokens ---- */

unsigned spec_image_specials(const struct spec *spec)
{
    return spec->family->image_specials + spec->registers;
}

unsigned spec_blocks(const struct spec *spec)
{
    return spec->groups > 0 ? spec->groups * spec->inner : spec->layers;
}

unsigned spec_block(const struct spec *spec, unsigned layer)
{
    if (spec->groups == 0)
        return layer;
    double layers_each = (double)(spec->layers / spec->inner) / spec->groups;
    unsigned group = (unsigned)(layer / spec->inner / layers_each);
    return group * spec->inner + layer % spec->inner;
}

unsigned spec_heads(const struct spec *spec, unsigned layer)
{
    return spec->pruned.left != NULL ? spec->pruned.left[layer] : spec->heads;
}

unsigned spec_head_width(const struct spec *spec)
{
    return spec->head_width > 0 ? spec->head_width : spec->hidden / spec->heads;
}

unsigned spec_heads_width(const struct spec *spec)
{
    return spec_head_width(spec) * spec->heads;
}

unsigned spec_attended(const struct spec *spec, unsigned layer)
{
    return spec_head_width(spec) * spec_heads(spec, layer);
}

unsigned spec_reach(const struct spec *spec, unsigned layer)
{
    return spec->reaches != NULL ? spec->reaches[layer] : 0;
}

bool spec_has_global(const struct spec *spec)
{
    return spec->family->tensors[TENSOR_GLOBAL_QUERY] != NULL && spec->head == HEAD_CLASSIFIER;
}

unsigned spec_embedding(const struct spec *spec)
{
    return spec->embedding > 0 ? spec->embedding : spec->hidden;
}

bool spec_projects(const struct spec *spec)
{
    return spec->family->tensors[TENSOR_EMBEDDING_PROJECT] != NULL &&
           (spec->family->always_projects || spec_embedding(spec) != spec->hidden);
}

unsigned spec_states(const struct spec *spec)
{
    return spec->projects_states ? spec->hidden : spec->source;
}

unsigned spec_text_tokens(const struct spec *spec)
{
    switch (spec->family->positions) {
    case POSITION_PAST_PAD:
        return spec->positions - spec->pad_id - 1;
    case POSITION_BEHIND_TWO:
        return spec->positions - 2;
    default:
        return spec->positions;
    }
}

unsigned spec_tokens_max(const struct spec *spec)
{
    const unsigned positions = spec_text_tokens(spec);
    const unsigned most = spec->sentence != NULL ? spec->sentence->options.max_tokens : 0;
    return most > 0 && most < positions ? most : positions;
}

unsigned spec_image_tokens(const struct spec *spec)
{
    return spec->patches + spec_image_specials(spec);
}

unsigned spec_places(const struct spec *spec)
{
    const struct extent grid = spec->position_grid;
    return spec->family->image_specials +
           (grid.height > 0 ? (unsigned)extent_area(grid) : spec->patches);
}

bool spec_shares_words(const struct spec *target)
{
    return target->absent[TENSOR_WORD];
}

bool spec_is_zero_shot(const struct spec *spec)
{
    return spec->family->is_zero_shot && spec->head == HEAD_CLASSIFIER;
}

bool spec_has_own_vector(const struct spec *spec)
{
    return spec->head == HEAD_EMBEDDING && spec->sentence->pooling.count == 0;
}

unsigned spec_unpooled_tokens(const struct spec *spec)
{
    return spec->family->kind == ENGINE_IMAGE ? spec_image_specials(spec) : 0;
}

unsigned spec_head_tokens(const struct spec *spec)
{
    return spec->head == HEAD_CLASSIFIER &&
                   spec->family->tensors[TENSOR_DISTILLATION_CLASSIFIER] != NULL
               ? 2
               : 1;
}

enum activation spec_gate(const struct spec *spec)
{
    const struct block_spec *block = &spec->family->block;
    return block->gates_by_activation ? spec->activation : block->gate;
}

enum activation spec_pooler_activation(const struct spec *spec)
{
    const struct family *family = spec->family;
    if (spec->head == HEAD_EMBEDDING) /* the bare pooler's, in every family that has one */
        return ACTIVATION_TANH;
    if (spec->head == HEAD_FILL || spec->head == HEAD_SPARSE)
        return family->fills_by_gelu ? ACTIVATION_GELU : spec->activation;
    return family->key_pooler_activation != NULL ? spec->pooler_activation
                                                 : family->pooler_activation;
}

enum family_pooling spec_pooling(const struct spec *spec)
{
    if (spec->head == HEAD_EMBEDDING    ? !spec_has_own_vector(spec)
        : spec->head == HEAD_CLASSIFIER ? spec->pools_tokens
                                        : true)
        return POOLING_TOKENS;
    return spec->family->pooling;
}

unsigned spec_row_size(const struct spec *spec)
{
    if (spec->head == HEAD_FILL || spec->head == HEAD_SPARSE)
        return spec->vocab_size;
    return spec->head == HEAD_TAGS ? spec->label_count : spec->head == HEAD_ANSWERS ? 2 : 0;
}

bool spec_head_reads_all(const struct spec *spec)
{
    return spec_pooling(spec) != POOLING_FIRST && spec_pooling(spec) != POOLING_LAST;
}

unsigned spec_kept_tokens(const struct spec *spec, unsigned tokens)
{
    return spec_head_reads_all(spec) ? tokens : spec_head_tokens(spec);
}

/* The result has at least one token more than the head reads, if the sequence has. */
unsigned spec_pruned_tokens(const struct spec *spec, unsigned tokens)
{
    const struct token_pruning *pruning = &spec->token_pruning;
    const unsigned share = (unsigned)(pruning->share * tokens + 0.5);
    const unsigned least = spec_head_tokens(spec) + 1, kept = share > least ? share : least;
    return pruning->full_layers == 0 || kept > tokens ? tokens : kept;
}

unsigned spec_pooled_tokens(const struct spec *spec, unsigned tokens)
{
    return spec_pooling(spec) == POOLING_TOKENS ? tokens : spec->patches;
}

unsigned spec_features(const struct spec *spec)
{
    if (spec->projection > 0)
        return spec->projection;
    if (spec->head == HEAD_EMBEDDING)
        return spec->sentence->width;
    return spec_pooling(spec) == POOLING_FIRST_AND_PATCHES ? 2 * spec->hidden : spec->hidden;
}

unsigned spec_mean_parts(const struct spec *spec)
{
    const bool has_rings =
        spec->family->kind == ENGINE_IMAGE && spec->stages == NULL && spec->patches >= SPEC_RINGS;
    return has_rings ? SPEC_RINGS : 1;
}

unsigned spec_means(const struct spec *spec)
{
    return spec_mean_parts(spec) * spec->hidden;
}

unsigned spec_row(const struct spec *spec)
{
    return spec_features(spec) + spec_means(spec);
}
