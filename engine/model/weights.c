/* weights.c - see weights.h. A `binder` walks the family's row; `bind` is the one place where a
 * name meets a shape. Nothing is read meanwhile: what is bound goes to the loader's plan, and the
 * plan is carried out once every name and shape is known to be right. Checkpoints from before 2019
 * call a norm's gamma and beta by these names instead of weight and bias, as transformers still
 * reads them. */
#include "engine/model/weights.h"

#include "engine/model/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 192, RANK_MAX = 4 };

struct binder {
    const struct spec *spec;
    const struct checkpoint *checkpoint;
    const struct linear_backend *encoder, *other;
    struct weights *weights;
    struct loader loader;
    bool *bound; /* [checkpoint_count] */
    struct err *err;
};

/* A shape that a tensor must have; dimensions of 0 end it. */
struct shape {
    size_t dim[RANK_MAX];
};

static bool same_shape(const struct tensor_info *info, const struct shape *shape)
{
    unsigned rank = 0;
    while (rank < RANK_MAX && shape->dim[rank] != 0)
        rank++;
    return info->rank == rank && memcmp(info->shape, shape->dim, rank * sizeof(size_t)) == 0;
}

static void format_shape(char *out, size_t bytes, const size_t *dim, unsigned rank)
{
    size_t used = (size_t)snprintf(out, bytes, "[");
    for (unsigned i = 0; i < rank && dim[i] != 0 && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%zu", i > 0 ? ", " : "", dim[i]);
    if (used < bytes)
        snprintf(out + used, bytes - used, "]");
}

static enum err_code wrong_shape(const struct tensor_info *info, const struct shape *shape,
                                 struct err *err)
{
    char found[96], wanted[96];
    format_shape(found, sizeof found, info->shape, info->rank);
    format_shape(wanted, sizeof wanted, shape->dim, RANK_MAX);
    return err_set(err, ERR_UNSUPPORTED, "tensor '%s' has shape %s; config.json asks for %s",
                   info->name, found, wanted);
}

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

/* Tensor `name`, which must have the given shape and numbers that can be read as fp32. */
static enum err_code bind(struct binder *binder, const char *name, const struct shape *shape,
                          const struct tensor_info **out)
{
    const struct tensor_info *info = checkpoint_find(binder->checkpoint, name);
    if (info == NULL)
        return err_set(binder->err, ERR_UNSUPPORTED, "tensor '%s' is missing", name);
    if (!same_shape(info, shape))
        return wrong_shape(info, shape, binder->err);
    if (checkpoint_check_f32(binder->checkpoint, info, binder->err))
        return binder->err->code;
    mark_bound(binder, info);
    binder->weights->parameters += info->count;
    *out = info;
    return ERR_OK;
}

/* A tensor in memory of its own; a NULL name binds nothing. */
static enum err_code bind_table(struct binder *binder, const char *name, const struct shape *shape,
                                float **out)
{
    const struct tensor_info *info = NULL;
    if (name == NULL)
        return ERR_OK;
    if (bind(binder, name, shape, &info))
        return binder->err->code;
    *out = arena_alloc(&binder->weights->arena, info->count * sizeof(float));
    if (*out == NULL)
        return err_no_memory(binder->err, info->count * sizeof(float));
    return loader_add_table(&binder->loader, info, *out, binder->err);
}

/* "%u" in a family's name becomes the layer's number; a suffix is appended. */
static void format_name(char out[NAME_BYTES], const char *base, unsigned layer, const char *suffix)
{
    const char *number = strstr(base, "%u");
    if (number == NULL)
        snprintf(out, NAME_BYTES, "%s%s", base, suffix);
    else
        snprintf(out, NAME_BYTES, "%.*s%u%s%s", (int)(number - base), base, layer, number + 2,
                 suffix);
}

static enum err_code bind_norm_half(struct binder *binder, const char *base, unsigned layer,
                                    const char *suffix, const char *old_suffix, float **out)
{
    char name[NAME_BYTES], old[NAME_BYTES];
    format_name(name, base, layer, suffix);
    format_name(old, base, layer, old_suffix);
    bool is_old = checkpoint_find(binder->checkpoint, name) == NULL &&
                  checkpoint_find(binder->checkpoint, old) != NULL;
    struct shape shape = {{binder->spec->hidden}};
    return bind_table(binder, is_old ? old : name, &shape, out);
}

static enum err_code bind_norm(struct binder *binder, const char *base, unsigned layer,
                               struct norm *norm)
{
    if (base == NULL)
        return ERR_OK;
    if (bind_norm_half(binder, base, layer, ".weight", ".gamma", &norm->gamma))
        return binder->err->code;
    return bind_norm_half(binder, base, layer, ".bias", ".beta", &norm->beta);
}

/* Weight [out, in] of `base`, and its bias [out] if it has one: rows [first, first + out) of an
 * allocated linear. */
static enum err_code bind_rows(struct binder *binder, struct linear *linear, const char *base,
                               unsigned layer, const struct shape *shape, size_t first,
                               bool has_bias, const struct tensor_info **weight)
{
    char name[NAME_BYTES];
    const struct tensor_info *bias = NULL;
    format_name(name, base, layer, ".weight");
    if (bind(binder, name, shape, weight))
        return binder->err->code;
    if (!has_bias)
        return ERR_OK;
    format_name(name, base, layer, ".bias");
    if (bind(binder, name, &(struct shape){{shape->dim[0]}}, &bias))
        return binder->err->code;
    return loader_add_table(&binder->loader, bias, linear->bias + first, binder->err);
}

/* A whole linear layer whose weight has the given shape. */
static enum err_code bind_matrix(struct binder *binder, struct linear *linear,
                                 const struct linear_backend *backend, const char *base,
                                 unsigned layer, const struct shape *shape, size_t in)
{
    const struct tensor_info *weight = NULL;
    if (linear_alloc(linear, backend, in, shape->dim[0], binder->err) ||
        bind_rows(binder, linear, base, layer, shape, 0, true, &weight))
        return binder->err->code;
    return loader_add_matrix(&binder->loader, linear, &weight, 1, binder->err);
}

/* A NULL base binds nothing. */
static enum err_code bind_linear(struct binder *binder, struct linear *linear,
                                 const struct linear_backend *backend, const char *base,
                                 unsigned layer, size_t in, size_t out)
{
    if (base == NULL)
        return ERR_OK;
    return bind_matrix(binder, linear, backend, base, layer, &(struct shape){{out, in}}, in);
}

static enum err_code bind_qkv(struct binder *binder, struct linear *linear, unsigned layer)
{
    const struct spec *spec = binder->spec;
    const char *const bases[] = {spec->family->query, spec->family->key, spec->family->value};
    const struct tensor_info *parts[3] = {NULL};
    struct shape shape = {{spec->hidden, spec->hidden}};
    if (linear_alloc(linear, binder->encoder, spec->hidden, 3 * (size_t)spec->hidden, binder->err))
        return binder->err->code;
    for (size_t part = 0; part < 3; part++)
        if (bind_rows(binder, linear, bases[part], layer, &shape, part * spec->hidden,
                      spec->qkv_bias, &parts[part]))
            return binder->err->code;
    return loader_add_matrix(&binder->loader, linear, parts, 3, binder->err);
}

/* The convolution that cuts patches is a linear layer over a patch's numbers. */
static enum err_code bind_patch(struct binder *binder)
{
    const struct spec *spec = binder->spec;
    struct shape shape = {{spec->hidden, spec->channels, spec->patch, spec->patch}};
    size_t in = (size_t)spec->channels * spec->patch * spec->patch;
    return bind_matrix(binder, &binder->weights->patch, binder->other, spec->family->patch, 0,
                       &shape, in);
}

static enum err_code bind_text_embeddings(struct binder *binder)
{
    const struct spec *spec = binder->spec;
    const struct family *family = spec->family;
    struct weights *weights = binder->weights;
    const char *types = family->token_types ? family->token_type : NULL;
    if (bind_table(binder, family->word, &(struct shape){{spec->vocab_size, spec->hidden}},
                   &weights->word) ||
        bind_table(binder, family->position, &(struct shape){{spec->positions, spec->hidden}},
                   &weights->position) ||
        bind_table(binder, types, &(struct shape){{spec->token_types, spec->hidden}},
                   &weights->token_type))
        return binder->err->code;
    return bind_norm(binder, family->embedding_norm, 0, &weights->embedding_norm);
}

static enum err_code bind_image_embeddings(struct binder *binder)
{
    const struct spec *spec = binder->spec;
    const struct family *family = spec->family;
    struct weights *weights = binder->weights;
    struct shape token = {{1, 1, spec->hidden}};
    struct shape positions = {{1, spec_image_tokens(spec), spec->hidden}};
    if (bind_table(binder, family->position, &positions, &weights->position) ||
        bind_table(binder, family->cls_token, &token, &weights->cls_token) ||
        bind_table(binder, family->distillation_token, &token, &weights->distillation_token))
        return binder->err->code;
    return bind_patch(binder);
}

static enum err_code bind_layer(struct binder *binder, struct layer *layer, unsigned number)
{
    const struct spec *spec = binder->spec;
    const struct family *family = spec->family;
    size_t hidden = spec->hidden, intermediate = spec->intermediate;
    if (bind_norm(binder, family->attention_norm, number, &layer->attention_norm) ||
        bind_norm(binder, family->mlp_norm, number, &layer->mlp_norm) ||
        bind_qkv(binder, &layer->qkv, number) ||
        bind_linear(binder, &layer->attention_out, binder->encoder, family->attention_out, number,
                    hidden, hidden) ||
        bind_linear(binder, &layer->mlp_in, binder->encoder, family->mlp_in, number, hidden,
                    intermediate))
        return binder->err->code;
    return bind_linear(binder, &layer->mlp_out, binder->encoder, family->mlp_out, number,
                       intermediate, hidden);
}

static enum err_code bind_layers(struct binder *binder)
{
    unsigned count = binder->spec->layers;
    struct layer *layers = arena_alloc_array(&binder->weights->arena, count, sizeof *layers);
    if (layers == NULL)
        return err_no_memory(binder->err, count * sizeof *layers);
    binder->weights->layers = layers;
    for (unsigned i = 0; i < count; i++)
        if (bind_layer(binder, &layers[i], i))
            return binder->err->code;
    return ERR_OK;
}

static enum err_code bind_head(struct binder *binder)
{
    const struct spec *spec = binder->spec;
    const struct family *family = spec->family;
    struct weights *weights = binder->weights;
    size_t hidden = spec->hidden;
    if (bind_norm(binder, family->final_norm, 0, &weights->final_norm) ||
        bind_linear(binder, &weights->pooler, binder->other, family->pooler, 0, hidden, hidden) ||
        bind_linear(binder, &weights->classifier, binder->other, family->classifier, 0, hidden,
                    spec->label_count))
        return binder->err->code;
    return bind_linear(binder, &weights->distillation_classifier, binder->other,
                       family->distillation_classifier, 0, hidden, spec->label_count);
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

static enum err_code bind_all(struct binder *binder)
{
    bool is_text = binder->spec->family->kind == ENGINE_TEXT;
    if (is_text ? bind_text_embeddings(binder) : bind_image_embeddings(binder))
        return binder->err->code;
    if (bind_layers(binder) || bind_head(binder))
        return binder->err->code;
    return list_unbound(binder);
}

enum err_code weights_open(struct weights *out, const struct spec *spec,
                           const struct checkpoint *checkpoint,
                           const struct linear_backend *encoder, const struct linear_backend *other,
                           unsigned threads, struct err *err)
{
    *out = (struct weights){0};
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
    if (bind_all(&binder) || loader_run(&binder.loader, threads, err))
        weights_close(out, spec);
    loader_deinit(&binder.loader);
    free(bound);
    return err->code;
}

void weights_close(struct weights *weights, const struct spec *spec)
{
    for (unsigned i = 0; weights->layers != NULL && i < spec->layers; i++) {
        struct layer *layer = &weights->layers[i];
        linear_close(&layer->qkv);
        linear_close(&layer->attention_out);
        linear_close(&layer->mlp_in);
        linear_close(&layer->mlp_out);
    }
    linear_close(&weights->patch);
    linear_close(&weights->pooler);
    linear_close(&weights->classifier);
    linear_close(&weights->distillation_classifier);
    arena_deinit(&weights->arena);
    *weights = (struct weights){0};
}

size_t weights_bytes(const struct weights *weights, const struct spec *spec)
{
    size_t bytes = weights->arena.bytes + weights->patch.bytes + weights->pooler.bytes +
                   weights->classifier.bytes + weights->distillation_classifier.bytes;
    for (unsigned i = 0; i < spec->layers; i++) {
        const struct layer *layer = &weights->layers[i];
        bytes += layer->qkv.bytes + layer->attention_out.bytes + layer->mlp_in.bytes +
                 layer->mlp_out.bytes;
    }
    return bytes;
}
