/* parameters_load.c - a checkpoint's tensors into the flat array, by name.
 *
 * A tensor is looked for under its own name, without the family's root ("bert.", "vit.": how a bare
 * encoder is saved), and, of a norm, with the endings ".gamma" and ".beta" of checkpoints from
 * before 2019. What may differ from the spec: the head, which stays as it is then; the positions of
 * an image model, which are resampled; and the positions of a text model that has more of them. */
#include "learn/train/network/parameters.h"

#include "learn/train/network/positions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 256 };

struct loading {
    struct parameters *parameters;
    const struct checkpoint *checkpoint;
    struct parameters_loaded *loaded;
    struct err *err;
};

/* The name without the family's root; NULL if it has another or none. */
static const char *without_root(const struct spec *spec, const char *name)
{
    const char *model = spec->family->position;
    size_t root = (size_t)(strchr(model, '.') - model) + 1;
    return strncmp(name, model, root) == 0 ? name + root : NULL;
}

static const struct tensor_info *find_bare(const struct loading *loading, const char *name)
{
    const char *bare = without_root(&loading->parameters->spec, name);
    const struct tensor_info *info = checkpoint_find(loading->checkpoint, name);
    return info == NULL && bare != NULL ? checkpoint_find(loading->checkpoint, bare) : info;
}

static const struct tensor_info *find(const struct loading *loading,
                                      const struct parameter *parameter)
{
    char old[NAME_BYTES];
    const struct tensor_info *info = find_bare(loading, parameter->name);
    bool is_norm = parameter->kind == PARAMETER_GAMMA || parameter->kind == PARAMETER_BETA;
    if (info != NULL || !is_norm)
        return info;
    snprintf(old, sizeof old, "%.*s.%s", (int)(strrchr(parameter->name, '.') - parameter->name),
             parameter->name, parameter->kind == PARAMETER_GAMMA ? "gamma" : "beta");
    return find_bare(loading, old);
}

static bool same_shape(const struct parameter *parameter, const struct tensor_info *info)
{
    return info->rank == parameter->rank &&
           memcmp(info->shape, parameter->shape, info->rank * sizeof *info->shape) == 0;
}

static void format_shape(char out[96], const size_t *shape, unsigned rank)
{
    size_t used = (size_t)snprintf(out, 96, "[");
    for (unsigned i = 0; i < rank && used < 96; i++)
        used += (size_t)snprintf(out + used, 96 - used, "%s%zu", i > 0 ? ", " : "", shape[i]);
    if (used < 96)
        snprintf(out + used, 96 - used, "]");
}

static enum err_code wrong_shape(const struct parameter *parameter, const struct tensor_info *info,
                                 struct err *err)
{
    char found[96], wanted[96];
    format_shape(found, info->shape, info->rank);
    format_shape(wanted, parameter->shape, parameter->rank);
    return err_set(err, ERR_UNSUPPORTED, "tensor '%s' has shape %s; config.json asks for %s",
                   info->name, found, wanted);
}

static enum err_code read_all(const struct loading *loading, const struct parameter *parameter,
                              const struct tensor_info *info)
{
    loading->loaded->found++;
    return checkpoint_read_f32(loading->checkpoint, info, 0, parameter->count,
                               loading->parameters->values + parameter->offset, loading->err);
}

static size_t square_root(size_t n)
{
    size_t root = 0;
    while ((root + 1) * (root + 1) <= n)
        root++;
    return root * root == n ? root : 0;
}

/* The learnt tokens' positions as they are, the grid's resampled. */
static enum err_code resize_positions(const struct loading *loading,
                                      const struct parameter *parameter,
                                      const struct tensor_info *info)
{
    const struct spec *spec = &loading->parameters->spec;
    size_t width = spec->hidden, specials = spec->family->image_specials;
    float *values = loading->parameters->values + parameter->offset;
    if (info->rank != 3 || info->shape[0] != 1 || info->shape[2] != width ||
        info->shape[1] <= specials || info->shape[1] - specials > 65536 ||
        square_root(info->shape[1] - specials) == 0)
        return wrong_shape(parameter, info, loading->err);
    float *grid = malloc(info->count * sizeof *grid);
    if (grid == NULL)
        return err_no_memory(loading->err, info->count * sizeof *grid);
    if (checkpoint_read_f32(loading->checkpoint, info, 0, info->count, grid, loading->err) ==
        ERR_OK) {
        memcpy(values, grid, specials * width * sizeof *grid);
        positions_resize(values + specials * width, spec->image_size / spec->patch,
                         grid + specials * width, square_root(info->shape[1] - specials), width);
        loading->loaded->found++;
        loading->loaded->positions_resized = true;
    }
    free(grid);
    return loading->err->code;
}

/* The first positions of a text model that has more of them. */
static enum err_code cut_positions(const struct loading *loading, const struct parameter *parameter,
                                   const struct tensor_info *info)
{
    if (info->rank != 2 || info->shape[1] != parameter->shape[1] ||
        info->shape[0] < parameter->shape[0])
        return wrong_shape(parameter, info, loading->err);
    loading->loaded->positions_cut = true;
    return read_all(loading, parameter, info);
}

static enum err_code miss(const struct loading *loading, const struct parameter *parameter)
{
    struct parameters_loaded *loaded = loading->loaded;
    if (parameter->depth <= loading->parameters->spec.layers)
        return err_set(loading->err, ERR_UNSUPPORTED, "tensor '%s' is missing", parameter->name);
    if (loaded->missing++ == 0)
        loaded->first_missing = parameter->name;
    loaded->head_missing = true;
    return ERR_OK;
}

/* Tensors whose shape follows from the number of labels. */
static bool is_labels(const struct parameters *parameters, const struct parameter *parameter)
{
    const struct parameters_map *map = &parameters->map;
    return parameter->offset == map->classifier_weight ||
           parameter->offset == map->classifier_bias ||
           parameter->offset == map->distillation_weight ||
           parameter->offset == map->distillation_bias;
}

static enum err_code load(const struct loading *loading, const struct parameter *parameter)
{
    const struct parameters *parameters = loading->parameters;
    const struct tensor_info *info = find(loading, parameter);
    if (info == NULL)
        return miss(loading, parameter);
    if (checkpoint_check_f32(loading->checkpoint, info, loading->err))
        return loading->err->code;
    if (same_shape(parameter, info))
        return read_all(loading, parameter, info);
    if (is_labels(parameters, parameter))
        return miss(loading, parameter);
    if (parameter->offset != parameters->map.position)
        return wrong_shape(parameter, info, loading->err);
    return parameters->spec.family->kind == ENGINE_IMAGE
               ? resize_positions(loading, parameter, info)
               : cut_positions(loading, parameter, info);
}

enum err_code parameters_load(struct parameters *parameters, const struct checkpoint *checkpoint,
                              struct parameters_loaded *loaded, struct err *err)
{
    struct loading loading = {
        .parameters = parameters, .checkpoint = checkpoint, .loaded = loaded, .err = err};
    *loaded = (struct parameters_loaded){0};
    for (unsigned p = 0; p < parameters->count; p++)
        if (load(&loading, &parameters->list[p]))
            return err->code;
    return ERR_OK;
}
