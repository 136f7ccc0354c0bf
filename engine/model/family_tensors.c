#include "engine/model/family_tensors.h"

#include "engine/model/bias/window_bias.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- the list ---- */

/* A dimension, which the spec has. */
enum dim {
    NONE,
    ONE,
    HIDDEN,
    ATTENDED,
    SOURCE,
    STATES,
    QUERY_KEY_VALUE,
    EMBEDDING,
    BUCKETS,
    RELATIVE_ROWS,
    HEADS,
    INTERMEDIATE,
    GATE_AND_VALUE,
    FOUR_PATCHES,
    TWICE_HIDDEN,
    VOCAB,
    POSITIONS,
    PLACES,
    REGISTERS,
    TOKEN_TYPES,
    CHANNELS,
    PATCH_ROWS,
    PATCH_COLUMNS,
    WINDOW_PLACES,
    LABELS,
    FEATURES,
    PROJECTION,
    START_AND_END,
};

struct entry {
    enum tensor_field field;
    enum tensor_part part;
    enum dim shape[TENSOR_RANK_MAX];
};

#define NORM_OF(field, width)                                                                      \
    {field, TENSOR_GAMMA, {width}},                                                                \
    {                                                                                              \
        field, TENSOR_BETA,                                                                        \
        {                                                                                          \
            width                                                                                  \
        }                                                                                          \
    }
#define NORM(field) NORM_OF(field, HIDDEN)
#define LINEAR(field, out, in)                                                                     \
    {field, TENSOR_WEIGHT, {out, in}},                                                             \
    {                                                                                              \
        field, TENSOR_BIAS,                                                                        \
        {                                                                                          \
            out                                                                                    \
        }                                                                                          \
    }
#define END                                                                                        \
    {                                                                                              \
        .field = TENSOR_FIELDS                                                                     \
    }

static const struct entry text_embeddings[] = {
    {TENSOR_WORD, TENSOR_TABLE, {VOCAB, EMBEDDING}},
    {TENSOR_POSITION, TENSOR_TABLE, {POSITIONS, EMBEDDING}},
    {TENSOR_TOKEN_TYPE, TENSOR_TABLE, {TOKEN_TYPES, EMBEDDING}},
    NORM_OF(TENSOR_EMBEDDING_NORM, EMBEDDING),
    LINEAR(TENSOR_EMBEDDING_PROJECT, HIDDEN, EMBEDDING),
    {TENSOR_RELATIVE_BIAS, TENSOR_TABLE, {BUCKETS, HEADS}},
    {TENSOR_RELATIVE_PLACES, TENSOR_TABLE, {RELATIVE_ROWS, HIDDEN}},
    NORM(TENSOR_RELATIVE_NORM),
    LINEAR(TENSOR_STATES_PROJECT, HIDDEN, SOURCE),
    END,
};

static const struct entry image_embeddings[] = {
    {TENSOR_CLS_TOKEN, TENSOR_TABLE, {ONE, ONE, HIDDEN}},
    {TENSOR_DISTILLATION_TOKEN, TENSOR_TABLE, {ONE, ONE, HIDDEN}},
    {TENSOR_POSITION, TENSOR_TABLE, {ONE, PLACES, HIDDEN}},
    {TENSOR_REGISTERS, TENSOR_TABLE, {ONE, REGISTERS, HIDDEN}},
    {TENSOR_PATCH, TENSOR_WEIGHT, {HIDDEN, CHANNELS, PATCH_ROWS, PATCH_COLUMNS}},
    {TENSOR_PATCH, TENSOR_BIAS, {HIDDEN}},
    NORM(TENSOR_EMBEDDING_NORM),
    END,
};

/* Query, key and value are side by side: weights, then biases, of one [3 A, D] product; A is D
 * unless heads were pruned. */
static const struct entry block[] = {
    {TENSOR_QUERY, TENSOR_WEIGHT, {ATTENDED, HIDDEN}},
    {TENSOR_KEY, TENSOR_WEIGHT, {ATTENDED, HIDDEN}},
    {TENSOR_VALUE, TENSOR_WEIGHT, {ATTENDED, HIDDEN}},
    {TENSOR_QUERY, TENSOR_BIAS, {ATTENDED}},
    {TENSOR_KEY, TENSOR_BIAS, {ATTENDED}},
    {TENSOR_VALUE, TENSOR_BIAS, {ATTENDED}},
    LINEAR(TENSOR_QKV, QUERY_KEY_VALUE, HIDDEN),
    LINEAR(TENSOR_GLOBAL_QUERY, HIDDEN, HIDDEN),
    LINEAR(TENSOR_GLOBAL_KEY, HIDDEN, HIDDEN),
    LINEAR(TENSOR_GLOBAL_VALUE, HIDDEN, HIDDEN),
    {TENSOR_WINDOW_BIAS, TENSOR_TABLE, {WINDOW_PLACES, HEADS}},
    {TENSOR_LAYER_BIAS, TENSOR_TABLE, {BUCKETS, HEADS}},
    LINEAR(TENSOR_ATTENTION_OUT, HIDDEN, ATTENDED),
    {TENSOR_ATTENTION_SCALE, TENSOR_SCALE, {HIDDEN}},
    NORM(TENSOR_ATTENTION_NORM),
    LINEAR(TENSOR_CROSS_QUERY, ATTENDED, HIDDEN),
    {TENSOR_CROSS_KEY, TENSOR_WEIGHT, {ATTENDED, STATES}},
    {TENSOR_CROSS_VALUE, TENSOR_WEIGHT, {ATTENDED, STATES}},
    {TENSOR_CROSS_KEY, TENSOR_BIAS, {ATTENDED}},
    {TENSOR_CROSS_VALUE, TENSOR_BIAS, {ATTENDED}},
    LINEAR(TENSOR_CROSS_OUT, HIDDEN, ATTENDED),
    NORM(TENSOR_CROSS_NORM),
    LINEAR(TENSOR_MLP_IN, INTERMEDIATE, HIDDEN),
    LINEAR(TENSOR_MLP_OUT, HIDDEN, INTERMEDIATE),
    LINEAR(TENSOR_GATED_IN, GATE_AND_VALUE, HIDDEN),
    {TENSOR_GATE_IN, TENSOR_WEIGHT, {INTERMEDIATE, HIDDEN}},
    {TENSOR_VALUE_IN, TENSOR_WEIGHT, {INTERMEDIATE, HIDDEN}},
    {TENSOR_GATE_IN, TENSOR_BIAS, {INTERMEDIATE}},
    {TENSOR_VALUE_IN, TENSOR_BIAS, {INTERMEDIATE}},
    LINEAR(TENSOR_GATED_OUT, HIDDEN, INTERMEDIATE),
    {TENSOR_MLP_SCALE, TENSOR_SCALE, {HIDDEN}},
    NORM(TENSOR_MLP_NORM),
    NORM_OF(TENSOR_MERGE_NORM, FOUR_PATCHES),
    {TENSOR_MERGE, TENSOR_WEIGHT, {TWICE_HIDDEN, FOUR_PATCHES}},
    END,
};

static const struct entry classifier[] = {
    NORM(TENSOR_FINAL_NORM),
    NORM(TENSOR_POOLED_NORM),
    LINEAR(TENSOR_POOLER, HIDDEN, HIDDEN),
    {TENSOR_PROJECTION, TENSOR_WEIGHT, {PROJECTION, HIDDEN}},
    NORM(TENSOR_HEAD_NORM),
    LINEAR(TENSOR_CLASSIFIER, LABELS, FEATURES),
    LINEAR(TENSOR_DISTILLATION_CLASSIFIER, LABELS, HIDDEN),
    END,
};

static const struct entry masked_language_model[] = {
    LINEAR(TENSOR_MLM_TRANSFORM, HIDDEN, HIDDEN),
    NORM(TENSOR_MLM_NORM),
    {TENSOR_MLM_BIAS, TENSOR_BIAS, {VOCAB}},
    END,
};

static const struct entry tags[] = {
    NORM(TENSOR_FINAL_NORM),
    LINEAR(TENSOR_POOLER, HIDDEN, HIDDEN),
    NORM(TENSOR_HEAD_NORM),
    LINEAR(TENSOR_TAGS, LABELS, HIDDEN),
    END,
};

static const struct entry answers[] = {
    NORM(TENSOR_FINAL_NORM),
    LINEAR(TENSOR_POOLER, HIDDEN, HIDDEN),
    NORM(TENSOR_HEAD_NORM),
    LINEAR(TENSOR_ANSWERS, START_AND_END, HIDDEN),
    END,
};

static const struct entry embedding[] = {
    NORM(TENSOR_FINAL_NORM),
    NORM(TENSOR_POOLED_NORM),
    LINEAR(TENSOR_BARE_POOLER, HIDDEN, HIDDEN),
    {TENSOR_PROJECTION, TENSOR_WEIGHT, {PROJECTION, HIDDEN}},
    END,
};

static const struct entry states[] = {
    NORM(TENSOR_FINAL_NORM),
    END,
};

static const struct entry words[] = {
    NORM(TENSOR_FINAL_NORM),
    {TENSOR_OUTPUT, TENSOR_WEIGHT, {VOCAB, HIDDEN}},
    {TENSOR_OUTPUT_BIAS, TENSOR_TABLE, {ONE, VOCAB}},
    END,
};

static const struct entry *list_of(const struct tensor_walk *walk)
{
    if (walk->depth == 0)
        return walk->spec->family->kind == ENGINE_TEXT ? text_embeddings : image_embeddings;
    if (walk->depth <= spec_blocks(walk->spec))
        return block;
    switch (walk->head) {
    case HEAD_MLM:
    case HEAD_FILL:
    case HEAD_SPARSE:
        return masked_language_model;
    case HEAD_EMBEDDING:
        return embedding;
    case HEAD_TAGS:
        return tags;
    case HEAD_ANSWERS:
        return answers;
    case HEAD_STATES:
        return states;
    case HEAD_WORDS:
        return words;
    default:
        return classifier;
    }
}

/* True if the model has the tensor. `spec` is the stage's. */
static bool exists(const struct spec *spec, const struct tensor_walk *walk,
                   const struct entry *entry)
{
    const enum tensor_field field = entry->field;
    if (spec->family->tensors[field] == NULL || spec->absent[field])
        return false;
    if ((walk->head == HEAD_TAGS || walk->head == HEAD_ANSWERS) &&
        (field == TENSOR_POOLER || field == TENSOR_HEAD_NORM) && !spec->family->tokens_dense)
        return false;
    if (field == TENSOR_GLOBAL_QUERY || field == TENSOR_GLOBAL_KEY || field == TENSOR_GLOBAL_VALUE)
        return spec_has_global(spec);
    /* a stage merges patches behind its last block, except the last stage */
    if (field == TENSOR_MERGE_NORM || field == TENSOR_MERGE)
        return walk->depth == spec_end_layer(spec) && walk->depth < spec->layers;
    if (spec->unbiased[field] && (entry->part == TENSOR_BIAS || entry->part == TENSOR_BETA))
        return false;
    if (field == TENSOR_ATTENTION_NORM && walk->depth == 1 && spec->family->block.skips_first_norm)
        return false;
    if (field == TENSOR_EMBEDDING_PROJECT && !spec_projects(spec))
        return false;
    if (field == TENSOR_STATES_PROJECT && !spec->projects_states)
        return false;
    if (walk->head == HEAD_EMBEDDING &&
        (field == TENSOR_POOLED_NORM || field == TENSOR_BARE_POOLER) && !spec_has_own_vector(spec))
        return false;
    if (entry->part == TENSOR_BIAS && field == TENSOR_KEY && spec->family->block.key_unbiased)
        return false;
    if (entry->part == TENSOR_BIAS && field == TENSOR_PATCH && spec->family->patch_unbiased)
        return false;
    if (field == TENSOR_MLP_IN || field == TENSOR_MLP_OUT)
        return !spec->is_gated;
    if (field == TENSOR_GATED_IN || field == TENSOR_GATE_IN || field == TENSOR_VALUE_IN ||
        field == TENSOR_GATED_OUT)
        return spec->is_gated;
    bool is_projection = field == TENSOR_QUERY || field == TENSOR_KEY || field == TENSOR_VALUE;
    return spec->qkv_bias || !is_projection || entry->part != TENSOR_BIAS;
}

/* Returns a dimension. `layer` is the block's. */
static size_t dimension(const struct spec *spec, enum dim dim, unsigned layer)
{
    switch (dim) {
    case NONE:
        return 0;
    case ONE:
        return 1;
    case HIDDEN:
        return spec->hidden;
    case ATTENDED:
        return spec_attended(spec, layer);
    case SOURCE:
        return spec->source;
    case STATES:
        return spec_states(spec);
    case QUERY_KEY_VALUE:
        return 3 * (size_t)spec->hidden;
    case EMBEDDING:
        return spec_embedding(spec);
    case BUCKETS:
        return spec->buckets;
    case RELATIVE_ROWS:
        return 2 * (size_t)spec->disentangled.span;
    case HEADS:
        return spec->heads;
    case INTERMEDIATE:
        return spec->intermediate;
    case GATE_AND_VALUE:
        return 2 * (size_t)spec->intermediate;
    case FOUR_PATCHES:
        return 4 * (size_t)spec->hidden;
    case TWICE_HIDDEN:
        return 2 * (size_t)spec->hidden;
    case VOCAB:
        return spec->vocab_size;
    case POSITIONS:
        return spec->positions;
    case TOKEN_TYPES:
        return spec->token_types;
    case PLACES:
        return spec_places(spec);
    case REGISTERS:
        return spec->registers;
    case CHANNELS:
        return spec->channels;
    case PATCH_ROWS:
        return spec->patch.height;
    case PATCH_COLUMNS:
        return spec->patch.width;
    case WINDOW_PLACES:
        return window_bias_rows(&(struct window_bias){.window = spec_grid(spec).window,
                                                      .specials = spec->family->image_specials});
    case LABELS:
        return spec->label_count;
    case FEATURES:
        return spec_features(spec);
    case PROJECTION:
        return spec->projection;
    case START_AND_END:
        return 2;
    }
    return 0;
}

/* Returns the field's name before it is formatted, in parts: *root stands before it. */
static const char *base_of(const struct spec *spec, enum tensor_field field, const char **root)
{
    const char *base = spec->family->tensors[field];
    *root = spec->root != NULL ? spec->root : "";
    if (field == TENSOR_WORD && spec->family->shared_words != NULL && !spec->has_own_words)
        return spec->family->shared_words;
    return spec->root != NULL ? base + family_root(spec->family) : base;
}

/* Formats a name. "%u" becomes the layer's number; two "%u" become the number of the group or stage
 * and the layer's number in it. The part's name is appended. */
static void format_name(const struct spec *spec, struct tensor_row *row)
{
    static const char *const endings[] = {
        [TENSOR_TABLE] = "",        [TENSOR_WEIGHT] = ".weight", [TENSOR_BIAS] = ".bias",
        [TENSOR_GAMMA] = ".weight", [TENSOR_BETA] = ".bias",     [TENSOR_SCALE] = ""};
    const char *root, *base = base_of(spec, row->field, &root);
    const char *first = strstr(base, "%u"),
               *second = first != NULL ? strstr(first + 2, "%u") : NULL;
    const char *ending = endings[row->part];
    unsigned inner = spec->inner > 0 ? spec->inner : 1;
    unsigned outer = row->layer / inner, in_outer = row->layer % inner;
    int len;
    if (spec->stages != NULL) {
        outer = spec->stage;
        in_outer = row->layer - spec_first_layer(spec);
    }
    if (first == NULL)
        len = snprintf(row->name, sizeof row->name, "%s%s%s", root, base, ending);
    else if (second == NULL)
        len = snprintf(row->name, sizeof row->name, "%s%.*s%u%s%s", root, (int)(first - base), base,
                       spec->stages != NULL ? outer : row->layer, first + 2, ending);
    else
        len = snprintf(row->name, sizeof row->name, "%s%.*s%u%.*s%u%s%s", root, (int)(first - base),
                       base, outer, (int)(second - first - 2), first + 2, in_outer, second + 2,
                       ending);
    assert((size_t)len < sizeof row->name);
}

static void fill(const struct spec *spec, const struct tensor_walk *walk, const struct entry *entry,
                 struct tensor_row *row)
{
    *row = (struct tensor_row){.field = entry->field,
                               .part = entry->part,
                               .layer = walk->depth > 0 ? walk->depth - 1 : 0,
                               .depth = walk->depth,
                               .is_of_head = walk->depth > spec_blocks(spec),
                               .is_optional = entry->field == TENSOR_OUTPUT_BIAS ||
                                              (entry->field == TENSOR_POSITION &&
                                               spec->family->position_table != POSITIONS_LEARNT),
                               .count = 1};
    for (size_t i = 0; i < TENSOR_RANK_MAX && entry->shape[i] != NONE; i++) {
        if (entry->shape[i] == ONE && spec->family->plain_tables)
            continue;
        row->shape[row->rank] = dimension(spec, entry->shape[i], row->layer);
        row->count *= row->shape[row->rank++];
    }
    format_name(spec, row);
}

bool family_tensors_next(struct tensor_walk *walk, struct tensor_row *row)
{
    struct spec spec;
    /* embeddings have the sizes of the first stage, the head those of the last */
    for (; walk->depth <= spec_blocks(walk->spec) + 1; walk->depth++, walk->at = 0)
        for (const struct entry *list = list_of(walk); list[walk->at].field != TENSOR_FIELDS;) {
            const struct entry *entry = &list[walk->at++];
            const unsigned depth = walk->depth;
            spec = spec_at(walk->spec, depth == 0 ? 0 : spec_stage_of(walk->spec, depth - 1));
            if (!exists(&spec, walk, entry))
                continue;
            fill(&spec, walk, entry, row);
            return true;
        }
    return false;
}

/* ---- in a checkpoint ---- */

static const struct tensor_info *find_name(const char *name, const struct checkpoint *checkpoint,
                                           const struct family *bare)
{
    const struct tensor_info *info = checkpoint_find(checkpoint, name);
    size_t root = bare != NULL ? family_root(bare) : 0;
    bool has_root = bare != NULL && strncmp(name, bare->tensors[TENSOR_ATTENTION_OUT], root) == 0;
    return info == NULL && has_root ? checkpoint_find(checkpoint, name + root) : info;
}

const struct tensor_info *family_tensors_find(const struct tensor_row *row,
                                              const struct checkpoint *checkpoint,
                                              const struct family *bare)
{
    char old[TENSOR_NAME_BYTES];
    const struct tensor_info *info = find_name(row->name, checkpoint, bare);
    if (info != NULL || (row->part != TENSOR_GAMMA && row->part != TENSOR_BETA))
        return info;
    snprintf(old, sizeof old, "%.*s.%s", (int)(strrchr(row->name, '.') - row->name), row->name,
             row->part == TENSOR_GAMMA ? "gamma" : "beta");
    return find_name(old, checkpoint, bare);
}

bool family_tensors_fits(const struct tensor_row *row, const struct tensor_info *info)
{
    return info->rank == row->rank &&
           memcmp(info->shape, row->shape, row->rank * sizeof *row->shape) == 0;
}

static void format_shape(char *out, size_t bytes, const size_t *shape, unsigned rank)
{
    size_t used = (size_t)snprintf(out, bytes, "[");
    for (unsigned i = 0; i < rank && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%zu", i > 0 ? ", " : "", shape[i]);
    if (used < bytes)
        snprintf(out + used, bytes - used, "]");
}

enum err_code family_tensors_misfit(const struct tensor_row *row, const struct tensor_info *info,
                                    struct err *err)
{
    char found[96], wanted[96];
    format_shape(found, sizeof found, info->shape, info->rank);
    format_shape(wanted, sizeof wanted, row->shape, row->rank);
    return err_set(err, ERR_UNSUPPORTED, "tensor '%s' has shape %s; config.json asks for %s",
                   info->name, found, wanted);
}
