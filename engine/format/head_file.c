#include "engine/format/head_file.h"

#include "engine/base/file.h"
#include "engine/format/printable.h"
#include "engine/format/safetensors.h"
#include "engine/format/safetensors_write.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char format[] = "attnd-head", version[] = "1";

struct head_file {
    struct safetensors *tensors;
    unsigned labels, width;
    size_t rows;
    const struct tensor_info *features, *logits, *classes, *digests;
    const struct tensor_info *weight, *bias; /* NULL: it has no classifier */
};

/* ---- open ---- */

static enum err_code check_form(const struct safetensors *file, struct err *err)
{
    const char *form = safetensors_metadata(file, "format");
    const char *found = safetensors_metadata(file, "version");
    if (form == NULL || strcmp(form, format) != 0 || found == NULL)
        return err_set(err, ERR_UNSUPPORTED, "it is no head of attnd's");
    if (strcmp(found, version) != 0)
        return err_set(err, ERR_UNSUPPORTED, "its version is '%s', and this program reads %s",
                       printable_name(found).text, version);
    return ERR_OK;
}

/* rows 0: as many as there are examples; columns 0: a list. */
static enum err_code find(const struct head_file *file, const char *name, enum dtype dtype,
                          size_t rows, size_t columns, const struct tensor_info **out,
                          struct err *err)
{
    const struct tensor_info *info = *out = safetensors_find(file->tensors, name);
    if (info == NULL)
        return err_set(err, ERR_UNSUPPORTED, "tensor '%s' is missing", name);
    const size_t wanted = rows > 0 ? rows : file->features->shape[0];
    if (info->dtype == dtype && info->rank == (columns > 0 ? 2 : 1) &&
        (columns == 0 || info->shape[1] == columns) &&
        (file->features == info || info->shape[0] == wanted))
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "tensor '%s' does not fit a model of %u labels and %u features", name,
                   file->labels, file->width);
}

static enum err_code find_bank(struct head_file *file, struct err *err)
{
    if (find(file, "bank.features", DTYPE_F16, 0, file->width, &file->features, err) ||
        find(file, "bank.logits", DTYPE_F32, 0, file->labels, &file->logits, err) ||
        find(file, "bank.classes", DTYPE_U64, 0, 0, &file->classes, err) ||
        find(file, "bank.digests", DTYPE_U64, 0, 0, &file->digests, err))
        return err->code;
    file->rows = file->features->shape[0];
    return ERR_OK;
}

/* Both or neither. */
static enum err_code find_matrix(struct head_file *file, struct err *err)
{
    if (safetensors_find(file->tensors, "head.weight") == NULL &&
        safetensors_find(file->tensors, "head.bias") == NULL)
        return ERR_OK;
    if (find(file, "head.weight", DTYPE_F32, file->labels, file->width, &file->weight, err))
        return err->code;
    return find(file, "head.bias", DTYPE_F32, file->labels, 0, &file->bias, err);
}

enum err_code head_file_open(struct head_file **out, const char *dir, const char *name,
                             unsigned labels, unsigned width, struct err *err)
{
    char path[PATH_MAX];
    struct head_file *file = *out = calloc(1, sizeof *file);
    if (file == NULL)
        return err_no_memory(err, sizeof *file);
    *file = (struct head_file){.labels = labels, .width = width};
    if (file_path(path, dir, name, err) || safetensors_open(&file->tensors, path, err) ||
        check_form(file->tensors, err) || find_bank(file, err) || find_matrix(file, err)) {
        head_file_close(file);
        *out = NULL;
        return err_prefix(err, "%s: ", name);
    }
    return ERR_OK;
}

void head_file_close(struct head_file *file)
{
    if (file == NULL)
        return;
    safetensors_close(file->tensors);
    free(file);
}

/* ---- the bank ---- */

static enum err_code take_classes(const struct head_file *file, struct head_bank *out,
                                  const uint64_t *numbers, struct err *err)
{
    for (size_t i = 0; i < out->count; i++) {
        if (numbers[i] >= file->labels)
            return err_set(err, ERR_UNSUPPORTED, "an example is of class %llu of %u",
                           (unsigned long long)numbers[i], file->labels);
        out->classes[i] = (unsigned)numbers[i];
    }
    return ERR_OK;
}

enum err_code head_file_bank(const struct head_file *file, struct head_bank *out,
                             struct arena *arena, struct err *err)
{
    size_t rows = file->rows;
    *out = (struct head_bank){.count = rows, .width = file->width, .labels = file->labels};
    uint64_t *numbers = calloc(rows + 1, sizeof *numbers);
    out->features = arena_alloc_array(arena, rows * file->width, sizeof *out->features);
    out->logits = arena_alloc_array(arena, rows * file->labels, sizeof *out->logits);
    out->classes = arena_alloc_array(arena, rows, sizeof *out->classes);
    out->digests = arena_alloc_array(arena, rows, sizeof *out->digests);
    if (numbers == NULL || out->features == NULL || out->logits == NULL || out->classes == NULL ||
        out->digests == NULL)
        err_no_memory(err, rows * (file->width + file->labels) * sizeof *out->features);
    else if (!safetensors_read_f32(file->tensors, file->features, 0, rows * file->width,
                                   out->features, err) &&
             !safetensors_read_f32(file->tensors, file->logits, 0, rows * file->labels, out->logits,
                                   err) &&
             !safetensors_read_as(file->tensors, file->classes, DTYPE_U64, numbers, err) &&
             !safetensors_read_as(file->tensors, file->digests, DTYPE_U64, out->digests, err))
        take_classes(file, out, numbers, err);
    free(numbers);
    return err->code;
}

/* ---- the classifier ---- */

bool head_file_has_matrix(const struct head_file *file)
{
    return file->weight != NULL;
}

enum err_code head_file_matrix(const struct head_file *file, struct head_matrix *out,
                               struct arena *arena, struct err *err)
{
    const size_t labels = file->labels, numbers = labels * file->width;
    *out = (struct head_matrix){.width = file->width, .labels = file->labels};
    out->weight = arena_alloc_array(arena, numbers, sizeof *out->weight);
    out->bias = arena_alloc_array(arena, labels, sizeof *out->bias);
    if (out->weight == NULL || out->bias == NULL)
        return err_no_memory(err, numbers * sizeof *out->weight);
    if (safetensors_read_f32(file->tensors, file->weight, 0, numbers, out->weight, err))
        return err->code;
    return safetensors_read_f32(file->tensors, file->bias, 0, labels, out->bias, err);
}

/* ---- writing ---- */

enum err_code head_file_write(const char *dir, const struct head_bank *bank,
                              const struct head_matrix *matrix, struct err *err)
{
    enum { OF_BANK = 4, OF_HEAD = 2 };
    const struct metadata_out metadata[] = {{"format", format}, {"version", version}, {NULL, NULL}};
    const bool has_matrix = matrix != NULL && matrix->weight != NULL;
    char path[PATH_MAX];
    uint64_t *classes = calloc(bank->count + 1, sizeof *classes);
    if (classes == NULL)
        return err_no_memory(err, bank->count * sizeof *classes);
    for (size_t i = 0; i < bank->count; i++)
        classes[i] = bank->classes[i];
    const struct tensor_out tensors[OF_BANK + OF_HEAD] = {
        {"bank.features", DTYPE_F16, 2, {bank->count, bank->width}, bank->features},
        {"bank.logits", DTYPE_F32, 2, {bank->count, bank->labels}, bank->logits},
        {"bank.classes", DTYPE_U64, 1, {bank->count}, classes},
        {"bank.digests", DTYPE_U64, 1, {bank->count}, bank->digests},
        {"head.weight",
         DTYPE_F32,
         2,
         {bank->labels, bank->width},
         has_matrix ? matrix->weight : NULL},
        {"head.bias", DTYPE_F32, 1, {bank->labels}, has_matrix ? matrix->bias : NULL}};
    if (!file_path(path, dir, HEAD_FILE_NAME, err))
        safetensors_write_with(path, tensors, OF_BANK + (has_matrix ? OF_HEAD : 0), metadata, err);
    free(classes);
    return err->code;
}
