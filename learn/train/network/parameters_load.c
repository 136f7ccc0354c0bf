/* parameters_load.c - reads a checkpoint's tensors into the flat array, by name.
 *
 * A tensor is also looked up without the family's root, as a bare encoder names it. Three parts may
 * differ from the spec: the head, which then stays as it is; the positions of an image model, which
 * are resampled; and the positions of a text model that has more of them, which are cut. */
#include "learn/train/network/parameters.h"

#include "engine/model/positions.h"

#include <stdlib.h>
#include <string.h>

struct loading {
    struct parameters *parameters;
    const struct checkpoint *checkpoint;
    struct parameters_loaded *loaded;
    struct err *err;
};

static enum err_code read_all(const struct loading *loading, const struct parameter *parameter,
                              const struct tensor_info *info)
{
    loading->loaded->found++;
    return checkpoint_read_f32(loading->checkpoint, info, 0, parameter->row.count,
                               loading->parameters->values + parameter->offset, loading->err);
}

static size_t square_root(size_t n)
{
    size_t root = 0;
    while ((root + 1) * (root + 1) <= n)
        root++;
    return root * root == n ? root : 0;
}

/* Copies the learnt tokens' positions and resamples those of the grid. */
static enum err_code resize_positions(const struct loading *loading,
                                      const struct parameter *parameter,
                                      const struct tensor_info *info)
{
    const struct spec *spec = &loading->parameters->spec;
    size_t width = spec->hidden, specials = spec->family->image_specials;
    const struct extent to = extent_parts(spec->image_size, spec->patch);
    float *values = loading->parameters->values + parameter->offset;
    if (info->rank != 3 || info->shape[0] != 1 || info->shape[2] != width ||
        info->shape[1] <= specials || info->shape[1] - specials > 65536 ||
        square_root(info->shape[1] - specials) == 0)
        return family_tensors_misfit(&parameter->row, info, loading->err);
    float *grid = malloc(info->count * sizeof *grid);
    if (grid == NULL)
        return err_no_memory(loading->err, info->count * sizeof *grid);
    if (checkpoint_read_f32(loading->checkpoint, info, 0, info->count, grid, loading->err) ==
        ERR_OK) {
        memcpy(values, grid, specials * width * sizeof *grid);
        const unsigned side = (unsigned)square_root(info->shape[1] - specials);
        positions_resize(values + specials * width, to, grid + specials * width,
                         extent_square(side), width, spec->family->positions_antialiased);
        loading->loaded->found++;
        loading->loaded->positions_resized = true;
    }
    free(grid);
    return loading->err->code;
}

/* Reads the first positions of a text model that has more of them. */
static enum err_code cut_positions(const struct loading *loading, const struct parameter *parameter,
                                   const struct tensor_info *info)
{
    if (info->rank != 2 || info->shape[1] != parameter->row.shape[1] ||
        info->shape[0] < parameter->row.shape[0])
        return family_tensors_misfit(&parameter->row, info, loading->err);
    loading->loaded->positions_cut = true;
    return read_all(loading, parameter, info);
}

static enum err_code miss(const struct loading *loading, const struct parameter *parameter)
{
    struct parameters_loaded *loaded = loading->loaded;
    if (parameter->row.is_optional)
        return ERR_OK;
    if (!parameter->row.is_of_head || loading->parameters->target != NULL)
        return err_set(loading->err, ERR_UNSUPPORTED, "tensor '%s' is missing",
                       parameter->row.name);
    if (loaded->missing++ == 0)
        loaded->first_missing = parameter->row.name;
    return ERR_OK;
}

static enum err_code load(const struct loading *loading, const struct parameter *parameter)
{
    const struct parameters *parameters = loading->parameters;
    const struct family *family = parameters->spec.family;
    const struct tensor_info *info =
        family_tensors_find(&parameter->row, loading->checkpoint, family);
    if (info == NULL)
        return miss(loading, parameter);
    if (checkpoint_check_f32(loading->checkpoint, info, loading->err))
        return loading->err->code;
    const bool is_classifier = parameter->row.field == TENSOR_CLASSIFIER ||
                               parameter->row.field == TENSOR_TAGS ||
                               parameter->row.field == TENSOR_DISTILLATION_CLASSIFIER;
    if (family_tensors_fits(&parameter->row, info)) {
        loading->loaded->classifiers += is_classifier && parameter->row.part == TENSOR_WEIGHT;
        return read_all(loading, parameter, info);
    }
    if (is_classifier)
        return miss(loading, parameter); /* its shape follows from the number of labels */
    if (parameter->row.field != TENSOR_POSITION)
        return family_tensors_misfit(&parameter->row, info, loading->err);
    return family->kind == ENGINE_IMAGE ? resize_positions(loading, parameter, info)
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
