/* spec_config.c - see spec_config.h. Defaults are those of the Hugging Face configuration classes,
 * because save_pretrained of some versions leaves out members with the default value. */
#include "engine/model/spec_config.h"

#include "engine/base/doc.h"
#include "engine/model/bias/relative_bias.h"
#include "engine/model/config/config_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SIZE_LIMIT = 65536,
    LAYERS_LIMIT = 1024,
    VOCAB_LIMIT = 16 * 1024 * 1024,
    DEFAULT_WINDOW = 512,
    CLIP_END_ID = 49407, /* CLIPTextConfig's */
};

/* Reads an unsigned member from 1 to max; absent: `fallback`. */
static enum err_code get_size(const struct json_t *config, const char *key, unsigned max,
                              unsigned fallback, unsigned *out, struct err *err)
{
    long long value = fallback;
    doc_get_integer(config, "$", key, 1, max, &value, err);
    *out = (unsigned)value;
    return err->code;
}

/* The same for a number, the side of a square, or [height, width]. */
static enum err_code get_extent(const struct json_t *config, const struct family *family,
                                const char *key, unsigned max, unsigned fallback,
                                struct extent *out, struct err *err)
{
    const struct json_t *value = doc_member(config, key);
    double sides[2];
    const size_t count = doc_array_count(value);
    if (count == 1 || count > 2)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.%s has %zu numbers (supported: one number, or [height, width])", key,
                       count);
    if (count != 2) {
        get_size(config, key, max, fallback, &out->height, err);
        out->width = out->height;
        return err->code;
    }
    for (size_t i = 0; i < 2; i++)
        if (!doc_as_number(doc_array_item(value, i), &sides[i]) || sides[i] != floor(sides[i]) ||
            !(sides[i] >= 1 && sides[i] <= max))
            return err_set(err, ERR_UNSUPPORTED, "$.%s[%zu]: must be from 1 to %u", key, i, max);
    if (sides[0] != sides[1] && family->needs_squares)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.%s %.0f x %.0f is not supported for model_type '%s' (supported: squares)",
                       key, sides[0], sides[1], family->model_type);
    *out = (struct extent){(unsigned)sides[0], (unsigned)sides[1]};
    return ERR_OK;
}

static enum err_code read_family(struct spec *spec, const struct json_t *config, struct err *err)
{
    const char *model_type = NULL;
    if (doc_get_string(config, "$", "model_type", &model_type, err))
        return err->code;
    const struct json_t *architectures = doc_member(config, "architectures");
    const char *architecture = doc_array_count(architectures) > 0
                                   ? doc_as_string(doc_array_item(architectures, 0))
                                   : doc_as_string(architectures);
    spec->family = family_find(model_type, architecture);
    if (architecture != NULL)
        snprintf(spec->architecture, sizeof spec->architecture, "%.63s",
                 printable_name(architecture).text);
    if (spec->family != NULL)
        return refused_members(config, spec->family->prunes_heads, err);
    char known[512];
    family_model_types(known, sizeof known);
    return refused_type(model_type, known, err);
}

static enum err_code read_activations(struct spec *spec, const struct json_t *config,
                                      struct err *err)
{
    const struct family *family = spec->family;
    if (family->key_gated_activation != NULL) {
        /* Reads an activation with its gate in front: "relu", "gated-gelu", "gated-silu". The
         * GELU of "gated-gelu" is the one by tanh (T5Config). */
        const char *key = family->key_gated_activation, *name = family->default_activation;
        if (doc_get_string(config, "$", key, &name, err))
            return err->code;
        spec->is_gated = strncmp(name, "gated-", 6) == 0;
        name = strcmp(name, "gated-gelu") == 0 ? "gelu_new" : spec->is_gated ? name + 6 : name;
        return activation_find(name, key, &spec->activation, err);
    }
    if (activation_name_read(config, family->key_activation, family->default_activation,
                             &spec->activation, err) ||
        family->key_pooler_activation == NULL)
        return err->code;
    return activation_name_read(config, family->key_pooler_activation, NULL,
                                &spec->pooler_activation, err);
}

/* Reads which fields have no bias. */
static enum err_code read_biases(struct spec *spec, const struct json_t *config, struct err *err)
{
    for (int field = 0; field < TENSOR_FIELDS; field++) {
        const char *key = spec->family->key_bias[field];
        bool is_biased = key == NULL && !spec->family->is_unbiased;
        if (key != NULL && doc_get_bool(config, "$", key, &is_biased, err))
            return err->code;
        spec->unbiased[field] = !is_biased;
    }
    return ERR_OK;
}

static enum err_code read_pooling(struct spec *spec, const struct json_t *config, struct err *err)
{
    const char *key = spec->family->key_pooling, *pooling = "cls";
    if (key == NULL)
        return ERR_OK;
    if (doc_get_string(config, "$", key, &pooling, err))
        return err->code;
    spec->pools_tokens = strcmp(pooling, "mean") == 0;
    if (spec->pools_tokens || strcmp(pooling, "cls") == 0)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "%s '%s' is not supported (supported: cls, mean)", key,
                   pooling);
}

static unsigned either(unsigned value, unsigned otherwise)
{
    return value > 0 ? value : otherwise;
}

/* Reads the width of the MLP. A gated MLP of DINOv2 has two thirds of it, rounded up to a multiple
 * of 8. */
static enum err_code read_mlp_ratio(const struct spec *spec, const struct json_t *config,
                                    unsigned hidden, unsigned *out, struct err *err)
{
    const char *key = spec->family->key_mlp_ratio;
    double ratio = 4;
    if (doc_get_number(config, "$", key, &ratio, err))
        return err->code;
    double width = floor(hidden * ratio);
    if (!(width >= 1 && width <= 4.0 * SIZE_LIMIT))
        return err_set(err, ERR_UNSUPPORTED,
                       "%s %g makes the MLP's width %g; from 1 to %d is supported", key, ratio,
                       width, 4 * SIZE_LIMIT);
    *out = (unsigned)width;
    if (spec->is_gated)
        *out = ((unsigned)(width * 2 / 3) + 7) / 8 * 8;
    return ERR_OK;
}

static enum err_code read_mlp(struct spec *spec, const struct json_t *config, struct err *err)
{
    const struct family *family = spec->family;
    bool has_gate = family->block.gate != ACTIVATION_NONE || family->block.gates_by_activation;
    if (family->key_gated_activation == NULL)
        spec->is_gated = has_gate && family->key_gated == NULL;
    if (family->key_gated != NULL &&
        doc_get_bool(config, "$", family->key_gated, &spec->is_gated, err))
        return err->code;
    if (family->key_mlp_ratio != NULL)
        return read_mlp_ratio(spec, config, spec->hidden, &spec->intermediate, err);
    return get_size(config, family->key_intermediate, 4 * SIZE_LIMIT,
                    either(family->default_intermediate, 3072), &spec->intermediate, err);
}

/* Checks switches that have one supported value, and a layer scale, which the class omits at 0. */
static enum err_code check_demands(const struct spec *spec, const struct json_t *config,
                                   struct err *err)
{
    const struct family *family = spec->family;
    double scale = 1;
    for (const struct family_demand *demand = family->demands; demand->key != NULL; demand++) {
        bool value = demand->fallback;
        if (doc_get_bool(config, "$", demand->key, &value, err))
            return err->code;
        if (value != demand->value)
            return err_set(err, ERR_UNSUPPORTED, "%s %s is not supported (supported: %s)",
                           demand->key, value ? "true" : "false", demand->value ? "true" : "false");
    }
    if (family->key_layer_scale != NULL &&
        doc_get_number(config, "$", family->key_layer_scale, &scale, err))
        return err->code;
    if (!(scale > 0))
        return err_set(err, ERR_UNSUPPORTED, "%s %g is not supported (supported: above 0)",
                       family->key_layer_scale, scale);
    return ERR_OK;
}

/* Reads groups of layers that share blocks: `inner` blocks a group, all of which run for each of
 * num_hidden_layers. */
static enum err_code read_groups(struct spec *spec, const struct json_t *config, struct err *err)
{
    const struct family *family = spec->family;
    if (family->key_groups == NULL)
        return ERR_OK;
    get_size(config, family->key_groups, LAYERS_LIMIT, 1, &spec->groups, err);
    if (get_size(config, family->key_inner, LAYERS_LIMIT, 1, &spec->inner, err))
        return err->code;
    if (spec->inner * spec->groups > LAYERS_LIMIT || spec->inner * spec->layers > LAYERS_LIMIT)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s %u times %s %u or %s %u is more than %d, the most that is supported",
                       family->key_inner, spec->inner, family->key_groups, spec->groups,
                       family->key_layers, spec->layers, LAYERS_LIMIT);
    spec->layers *= spec->inner;
    return ERR_OK;
}

static enum err_code read_width(struct spec *spec, const struct json_t *config, struct err *err)
{
    const struct family *family = spec->family;
    get_size(config, family->key_hidden, SIZE_LIMIT, either(family->default_hidden, 768),
             &spec->hidden, err);
    get_size(config, family->key_layers, LAYERS_LIMIT, family->default_layers, &spec->layers, err);
    get_size(config, family->key_heads, SIZE_LIMIT, either(family->default_heads, 12), &spec->heads,
             err);
    if (family->key_head_width != NULL)
        get_size(config, family->key_head_width, SIZE_LIMIT, 64, &spec->head_width, err);
    if (err->code == ERR_OK && (unsigned long long)spec->heads * spec->head_width > SIZE_LIMIT)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s %u times %s %u is more than %d, the most that is "
                       "supported",
                       family->key_heads, spec->heads, family->key_head_width, spec->head_width,
                       SIZE_LIMIT);
    return err->code;
}

static enum err_code read_encoder(struct spec *spec, const struct json_t *config, struct err *err)
{
    const struct family *family = spec->family;
    const char *key_eps = family->key_eps != NULL ? family->key_eps : "layer_norm_eps";
    double eps = family->default_eps;
    spec->qkv_bias = true;
    if (spec->stages == NULL && read_width(spec, config, err))
        return err->code;
    if (key_eps[0] != '\0')
        doc_get_number(config, "$", key_eps, &eps, err);
    if (!family->block.always_biased)
        doc_get_bool(config, "$", "qkv_bias", &spec->qkv_bias, err);
    if (read_activations(spec, config, err) || read_mlp(spec, config, err) ||
        read_biases(spec, config, err) || read_pooling(spec, config, err) ||
        check_demands(spec, config, err) || read_groups(spec, config, err))
        return err->code;
    if (spec->head_width == 0 && spec->hidden % spec->heads != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s %u is not a multiple of %s %u", family->key_hidden,
                       spec->hidden, family->key_heads, spec->heads);
    if (!(eps >= FLT_MIN && eps < 1))
        return err_set(err, ERR_UNSUPPORTED, "%s must be between 0 and 1, and a normal float",
                       key_eps);
    spec->norm_eps = (float)eps;
    return ERR_OK;
}

/* Reads the number of positions, which is lower if they begin behind the pad token's. */
static enum err_code read_positions(struct spec *spec, const struct json_t *config, struct err *err)
{
    const struct family *family = spec->family;
    long long pad = family->default_pad;
    const char *key =
        family->key_positions != NULL ? family->key_positions : "max_position_embeddings";
    get_size(config, key, SIZE_LIMIT, either(family->default_positions, 512), &spec->positions,
             err);
    const bool is_computed = family->position_table == POSITIONS_SINES_FAIRSEQ;
    const bool counts_pads = family->positions == POSITION_PAST_PAD;
    const unsigned pad_max = !counts_pads  ? VOCAB_LIMIT
                             : is_computed ? SIZE_LIMIT
                                           : spec->vocab_size - 1;
    if ((counts_pads || family->pads_words) && family->key_pad != NULL)
        doc_get_integer(config, "$", family->key_pad, 0, pad_max, &pad, err);
    if (err->code != ERR_OK)
        return err->code;
    if (counts_pads || family->pads_words)
        spec->pad_id = (unsigned)pad;
    if (spec->positions < 3)
        return err_set(err, ERR_UNSUPPORTED, "%s must be at least 3", key);
    if (family->positions == POSITION_BEHIND_TWO)
        spec->positions += 2;
    if (is_computed)
        spec->positions += spec->pad_id + 1;
    if (family->positions == POSITION_PAST_PAD && spec->positions - 3 < spec->pad_id + 1)
        return err_set(err, ERR_UNSUPPORTED,
                       "max_position_embeddings %u leaves no three positions behind that of the "
                       "pad token, %u",
                       spec->positions, spec->pad_id);
    return ERR_OK;
}

/* Reads the number of buckets. More rows than buckets would be unused; with fewer, a read would be
 * out of bounds. */
static enum err_code read_buckets(struct spec *spec, const struct json_t *config, struct err *err)
{
    static const char key[] = "relative_attention_num_buckets";
    if (spec->family->key_buckets != NULL) {
        /* T5's buckets: each side needs one of a single distance and one behind it. */
        const struct family *family = spec->family;
        struct relative_buckets *relative = &spec->relative;
        *relative = (struct relative_buckets){.looks_forward = !family->block.is_decoder};
        get_size(config, family->key_buckets, SIZE_LIMIT, 32, &relative->count, err);
        if (get_size(config, family->key_distance, SIZE_LIMIT, 128, &relative->distance, err))
            return err->code;
        spec->buckets = relative->count;
        const unsigned exact = relative_bias_exact(relative);
        if (exact == 0 || relative->distance <= exact)
            return err_set(
                err, ERR_UNSUPPORTED,
                "%s %u with %s %u is not supported (supported: at least 4 buckets, and a "
                "distance above the %u that have buckets of their own)",
                family->key_buckets, relative->count, family->key_distance, relative->distance,
                exact);
        return ERR_OK;
    }
    if (spec->family->tensors[TENSOR_RELATIVE_BIAS] == NULL)
        return ERR_OK;
    spec->relative = relative_mpnet;
    if (get_size(config, key, SIZE_LIMIT, relative_mpnet.count, &spec->buckets, err))
        return err->code;
    if (spec->buckets < relative_mpnet.count)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s %u is not supported (supported: at least %u, the buckets of %s)", key,
                       spec->buckets, relative_mpnet.count, spec->family->name);
    return ERR_OK;
}

/* Reads what is done to embeddings before the first block. */
static enum err_code read_embedding(struct spec *spec, const struct json_t *config, struct err *err)
{
    const struct family *family = spec->family;
    bool is_scaled = family->scales_embedding, has_norm = family->has_embedding_norm;
    if (family->key_embedding_scale != NULL &&
        doc_get_bool(config, "$", family->key_embedding_scale, &is_scaled, err))
        return err->code;
    if (family->key_embedding_norm != NULL &&
        doc_get_bool(config, "$", family->key_embedding_norm, &has_norm, err))
        return err->code;
    spec->embedding_scale = is_scaled ? sqrtf((float)spec->hidden) : 0;
    spec->absent[TENSOR_EMBEDDING_NORM] = family->key_embedding_norm != NULL && !has_norm;
    return ERR_OK;
}

/* Sets the reach of a layer from its window, half of which is on either side. */
static enum err_code set_window(struct spec *spec, unsigned *reaches, unsigned layer,
                                const struct json_t *value, struct err *err)
{
    double window = DEFAULT_WINDOW;
    if (value != NULL && !doc_as_number(value, &window))
        return err_set(err, ERR_UNSUPPORTED, "%s must be a number, or one for each layer, not %s",
                       spec->family->key_window, doc_type_name(value));
    if (!(window >= 2 && window <= 2 * SIZE_LIMIT) || fmod(window, 2) != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s %g is not supported (supported: even numbers from 2 to %d)",
                       spec->family->key_window, window, 2 * SIZE_LIMIT);
    reaches[layer] = (unsigned)(window / 2);
    return ERR_OK;
}

/* Reads windows: one number for all layers, or an array with one for each. */
static enum err_code read_windows(struct spec *spec, const struct json_t *config,
                                  struct arena *arena, struct err *err)
{
    if (spec->family->key_window == NULL)
        return ERR_OK;
    const struct json_t *value = doc_member(config, spec->family->key_window);
    const size_t count = doc_array_count(value);
    if (count > 0 && count != spec->layers)
        return err_set(err, ERR_UNSUPPORTED, "%s has %zu numbers; %s %u needs one for each",
                       spec->family->key_window, count, spec->family->key_layers, spec->layers);
    unsigned *reaches = arena_alloc_array(arena, spec->layers, sizeof *reaches);
    if (reaches == NULL)
        return err_no_memory(err, spec->layers * sizeof *reaches);
    for (unsigned i = 0; i < spec->layers; i++)
        if (set_window(spec, reaches, i, count > 0 ? doc_array_item(value, i) : value, err))
            return err->code;
    spec->reaches = reaches;
    return ERR_OK;
}

static enum err_code read_text(struct spec *spec, const struct json_t *config, struct err *err)
{
    const char *position_type = "absolute";
    const struct family *family = spec->family;
    get_size(config, "vocab_size", VOCAB_LIMIT, either(family->default_vocab, 30522),
             &spec->vocab_size, err);
    if (family->key_embedding != NULL)
        get_size(config, family->key_embedding, SIZE_LIMIT, family->default_embedding,
                 &spec->embedding, err);
    if (family->tensors[TENSOR_RELATIVE_PLACES] == NULL)
        get_size(config, "type_vocab_size", SIZE_LIMIT, 2, &spec->token_types, err);
    if (doc_get_string(config, "$", "position_embedding_type", &position_type, err))
        return err->code;
    if (doc_has_null(config, "position_embedding_type")) /* there it means: no positions at all */
        position_type = "null";
    if (strcmp(position_type, "absolute") != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "position_embedding_type '%s' is not supported (supported: absolute)",
                       position_type);
    if (read_positions(spec, config, err) || read_embedding(spec, config, err))
        return err->code;
    if (family->tensors[TENSOR_RELATIVE_PLACES] != NULL)
        return disentangled_read(&spec->disentangled, config, spec->hidden, spec->heads,
                                 spec_text_tokens(spec), err);
    return read_buckets(spec, config, err);
}

/* Refuses a grid that its windows or a merging do not divide: transformers pads it, but no
 * published checkpoint has one. */
static enum err_code check_grids(const struct spec *spec, struct extent image_size, struct err *err)
{
    unsigned unit = spec_image_unit(spec).width;
    if (spec->stages == NULL || (extent_is_square(image_size) && image_size.width % unit == 0))
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "image_size %s with patch_size %u, window_size %u and %u stages is not "
                   "supported (supported: multiples of %u, so that windows divide every grid)",
                   extent_text(image_size).text, spec->patch.width, spec->stages->window,
                   spec->stages->count, unit);
}

static enum err_code set_image_size(struct spec *spec, struct extent image_size, struct err *err)
{
    if (spec->patch.height > image_size.height || spec->patch.width > image_size.width)
        return err_set(err, ERR_UNSUPPORTED, "patch_size %s is larger than image_size %s",
                       extent_text(spec->patch).text, extent_text(image_size).text);
    if (check_grids(spec, image_size, err))
        return err->code;
    spec_set_image_size(spec, image_size);
    if (spec->patches > SIZE_LIMIT)
        return err_set(err, ERR_UNSUPPORTED, "%u patches an image; at most %d are supported",
                       spec->patches, SIZE_LIMIT);
    return ERR_OK;
}

enum err_code spec_fit_image_size(struct spec *spec, struct extent image_size, struct err *err)
{
    const struct extent grid = spec->position_grid.height > 0
                                   ? spec->position_grid
                                   : extent_parts(spec->image_size, spec->patch);
    if (set_image_size(spec, image_size, err))
        return err->code;
    spec->position_grid = grid;
    return ERR_OK;
}

/* ---- models of two encoders ---- */

/* Finds the member that describes one of the encoders. Older versions of transformers wrote it a
 * second time, as `<part>_dict`: if that is present it counts, and members that it lacks have
 * defaults (CLIPConfig.__init__). NULL: all members have defaults. */
static enum err_code find_part(const struct json_t *config, const char *part,
                               const struct json_t **out, struct err *err)
{
    char older[64];
    snprintf(older, sizeof older, "%s_dict", part);
    const struct json_t *found = doc_member(config, older);
    const char *name = found != NULL ? older : part;
    *out = found != NULL ? found : doc_member(config, part);
    if (*out != NULL && strcmp(doc_type_name(*out), "an object") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.%s: expected an object, found %s", name,
                       doc_type_name(*out));
    return refused_members(*out, false, err) ? err_prefix(err, "%s: ", name) : ERR_OK;
}

enum err_code spec_config_read_sizes(struct spec *spec, const struct json_t *config,
                                     struct err *err)
{
    if (read_encoder(spec, config, err))
        return err->code;
    if (spec->family->kind == ENGINE_TEXT)
        return read_text(spec, config, err);
    const struct family *family = spec->family;
    get_extent(config, family, "image_size", 4096, 224, &spec->image_size, err);
    get_extent(config, family, "patch_size", 4096,
               family->default_patch > 0 ? family->default_patch : 16, &spec->patch, err);
    if (family->key_registers != NULL)
        get_size(config, family->key_registers, 1024, 4, &spec->registers, err);
    if (get_size(config, "num_channels", 3, 3, &spec->channels, err))
        return err->code;
    if (spec->channels != 3)
        return err_set(err, ERR_UNSUPPORTED, "num_channels %u is not supported (supported: 3)",
                       spec->channels);
    return set_image_size(spec, spec->image_size, err);
}

static enum err_code read_part(struct spec *spec, const struct json_t *config, struct err *err)
{
    const struct json_t *part;
    long long end = CLIP_END_ID;
    if (find_part(config, spec->family->part, &part, err))
        return err->code;
    if (spec_config_read_sizes(spec, part, err))
        return err_prefix(err, "%s: ", spec->family->part);
    if (spec->family->kind == ENGINE_TEXT &&
        doc_get_integer(part, "$", "eos_token_id", 0, VOCAB_LIMIT, &end, err))
        return err_prefix(err, "%s: ", spec->family->part);
    spec->end_id = (unsigned)end;
    spec->scores = SCORES_SOFTMAX;
    return get_size(config, "projection_dim", SIZE_LIMIT, 512, &spec->projection, err);
}

/* ---- what is held in the arena: stages, pruned heads, the reach of attention ---- */

/* Reads the stages. The spec itself gets the width of the last one. */
static enum err_code read_stages(struct spec *spec, const struct json_t *config,
                                 struct arena *arena, struct err *err)
{
    if (!spec->family->has_stages)
        return ERR_OK;
    struct stage_config *stages = arena_alloc(arena, sizeof *stages);
    if (stages == NULL)
        return err_no_memory(err, sizeof *stages);
    if (stage_config_read(stages, config, err))
        return err->code;
    for (unsigned i = 0; i < stages->count; i++) {
        struct stage *stage = &stages->stage[i];
        if (read_mlp_ratio(spec, config, stage->hidden, &stage->intermediate, err))
            return err->code;
    }
    const struct stage *last = &stages->stage[stages->count - 1];
    spec->stages = stages;
    spec->layers = last->end;
    spec->hidden = last->hidden;
    spec->heads = last->heads;
    return ERR_OK;
}

static enum err_code read_pruned(struct spec *spec, const struct json_t *config,
                                 struct arena *arena, struct err *err)
{
    if (!spec->family->prunes_heads)
        return ERR_OK;
    return pruned_heads_read(&spec->pruned, config, spec->layers, spec->heads, arena, err);
}

static enum err_code read_rotary(struct spec *spec, const struct json_t *config,
                                 struct arena *arena, struct err *err)
{
    struct rotary_config rotary;
    unsigned width = spec->hidden / spec->heads;
    if (!spec->family->is_rotary)
        return ERR_OK;
    if (width % 2 != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s %u for %s %u makes heads of %u numbers; rotary positions turn pairs",
                       spec->family->key_hidden, spec->hidden, spec->family->key_heads, spec->heads,
                       width);
    if (rotary_config_read(&rotary, config, spec->layers, arena, err))
        return err->code;
    memcpy(spec->rotary_base, rotary.base, sizeof spec->rotary_base);
    spec->reaches = rotary.reaches;
    return ERR_OK;
}

enum err_code spec_config_read(struct spec *spec, const struct json_t *config, struct arena *arena,
                               struct err *err)
{
    if (read_family(spec, config, err))
        return err->code;
    if (spec->family->part != NULL)
        return read_part(spec, config, err);
    if (read_stages(spec, config, arena, err) || spec_config_read_sizes(spec, config, err) ||
        read_rotary(spec, config, arena, err) || read_windows(spec, config, arena, err) ||
        read_pruned(spec, config, arena, err))
        return err->code;
    return spec_labels_read(spec, config, arena, err);
}

enum err_code spec_config_read_labels(struct spec *spec, const struct json_t *config,
                                      struct err *err)
{
    if (read_family(spec, config, err))
        return err->code;
    spec->family = family_of_labels();
    return read_part(spec, config, err);
}
