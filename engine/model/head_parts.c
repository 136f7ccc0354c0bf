#include "engine/model/head_parts.h"

#include "engine/format/safetensors.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- examples ---- */

enum err_code head_parts_neighbours(struct ood *ood, const struct head_bank *bank,
                                    struct arena *arena, struct err *err)
{
    const size_t width = bank->width - ood->hidden, numbers = bank->count * width;
    float *rows = arena_alloc_array(arena, numbers + 1, sizeof *rows);
    if (rows == NULL)
        return err_no_memory(err, numbers * sizeof *rows);
    for (size_t i = 0; i < bank->count; i++) {
        memcpy(rows + i * width, bank->features + i * bank->width + ood->hidden,
               width * sizeof *rows);
        neighbours_scale(rows + i * width, (unsigned)width);
    }
    ood->neighbours.rows = rows;
    ood->neighbours.count = bank->count;
    ood->neighbours.width = (unsigned)width;
    return ERR_OK;
}

enum err_code head_parts_check_means(const struct spec *spec, const struct head_file *file,
                                     struct err *err)
{
    unsigned full_layers;
    if (head_file_full_layers(file, &full_layers, err))
        return err->code;
    if (full_layers == spec->token_pruning.full_layers)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   HEAD_FILE_NAME
                   ": it was made with %u full_layers of token_pruning, not with %u: "
                   "attnd-eval --calibrate --examples makes its examples anew",
                   full_layers, spec->token_pruning.full_layers);
}

static enum err_code read_neighbours(struct spec *spec, const struct head_file *file,
                                     struct arena *arena, struct err *err)
{
    struct head_bank bank;
    struct arena passing;
    arena_init(&passing);
    if (!head_parts_check_means(spec, file, err) && !head_file_bank(file, &bank, &passing, err)) {
        if (bank.count == 0)
            err_set(err, ERR_UNSUPPORTED,
                    HEAD_FILE_NAME ": it has no examples, which ood.method 'neighbours' needs");
        else
            head_parts_neighbours(&spec->policy.ood, &bank, arena, err);
    }
    arena_deinit(&passing);
    return err->code;
}

static enum err_code read_parts(const struct spec *spec, const struct head_file *file,
                                struct head_parts *parts, struct arena *arena, struct err *err)
{
    if (head_file_matrix(file, &parts->matrix, arena, err) ||
        head_file_ngrams(file, &parts->ngrams, arena, err))
        return err_prefix(err, "%s: ", HEAD_FILE_NAME);
    if (parts->matrix.weight != NULL && head_parts_check_means(spec, file, err))
        return err->code;
    if (parts->ngrams.bias != NULL && spec->family->kind != ENGINE_TEXT)
        return err_set(err, ERR_UNSUPPORTED,
                       HEAD_FILE_NAME ": n-grams are of texts, and %s reads "
                                      "images",
                       spec->family->name);
    return ERR_OK;
}

enum err_code head_parts_open(struct spec *spec, const char *dir, struct head_parts *parts,
                              struct arena *arena, struct err *err)
{
    struct head_file *file;
    if (parts != NULL)
        *parts = (struct head_parts){0};
    if (spec->head_file == NULL ||
        head_file_open(&file, dir, spec->head_file, spec->label_count, spec_row(spec), err))
        return err->code;
    if (spec->policy.ood.method == OOD_NEIGHBOURS)
        read_neighbours(spec, file, arena, err);
    if (err->code == ERR_OK && parts != NULL)
        read_parts(spec, file, parts, arena, err);
    head_file_close(file);
    return err->code;
}

/* ---- the classifier ---- */

/* Opens a linear layer of the columns [first, first + in) of the head's weight, and the bias or
 * zeros. */
static enum err_code open_part(struct linear *linear, const struct head_matrix *head, size_t first,
                               size_t in, const float *bias, const struct linear_backend *backend,
                               struct err *err)
{
    float *columns = calloc((size_t)head->labels * in + 1, sizeof *columns);
    if (columns == NULL)
        return err_no_memory(err, head->labels * in * sizeof *columns);
    for (size_t c = 0; c < head->labels; c++)
        memcpy(columns + c * in, head->weight + c * head->width + first, in * sizeof *columns);
    if (!linear_alloc(linear, backend, in, head->labels, err)) {
        linear_fill(linear, 0, head->labels, columns);
        if (bias != NULL)
            memcpy(linear->bias, bias, head->labels * sizeof *bias);
    }
    free(columns);
    return err->code;
}

enum err_code head_parts_classify(struct weights *weights, const struct spec *spec,
                                  const struct head_matrix *head,
                                  const struct linear_backend *backend, struct err *err)
{
    const size_t features = spec_features(spec);
    if (spec_head_tokens(spec) > 1)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: head.weight is of one classifier, and %s answers by two",
                       HEAD_FILE_NAME, spec->family->name);
    linear_close(&weights->classifier);
    if (open_part(&weights->classifier, head, 0, features, head->bias, backend, err))
        return err->code;
    return open_part(&weights->mean_classifier, head, features, spec_means(spec), NULL, backend,
                     err);
}

/* ---- memory ---- */

/* Counts a tensor of the head's file as it is held: of the examples the features, in fp32, and the
 * classifier, once more where its columns are packed. */
static size_t held_bytes(const struct tensor_info *info)
{
    if (strcmp(info->name, "bank.features") == 0)
        return info->count * sizeof(float);
    if (strncmp(info->name, "bank.", strlen("bank.")) == 0)
        return 0;
    return strncmp(info->name, "head.", strlen("head.")) == 0 ? 3 * info->bytes : info->bytes;
}

size_t head_parts_bytes(const char *dir)
{
    enum { SMALL_BYTES = 64 * 1024 }; /* the arena's blocks, and metadata */
    char path[PATH_MAX];
    struct safetensors *file;
    struct err err = {0};
    size_t bytes = SMALL_BYTES;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, HEAD_FILE_NAME) >= sizeof path ||
        safetensors_open(&file, path, &err))
        return 0;
    for (size_t i = 0; i < safetensors_count(file); i++)
        bytes += held_bytes(safetensors_at(file, i));
    safetensors_close(file);
    return bytes;
}
