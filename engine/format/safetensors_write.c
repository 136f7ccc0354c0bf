/* safetensors_write.c - see safetensors_write.h.
 *
 * The header needs only shapes, so it is made first, in memory, and padded with spaces so that the
 * data begins at a multiple of 8 bytes, as the reference writer does. Then numbers are checked and
 * converted a chunk at a time on their way to the file.
 *
 * safetensors_open must accept the file, so its rules are checked here as well: UTF-8 names that
 * are all different, none of them "__metadata__", at most TENSOR_RANK_MAX dimensions, a header
 * within its limits. The other rules (offsets without gaps, sizes that agree with shapes) hold by
 * construction.
 */
#include "engine/format/safetensors_write.h"

#include "engine/base/doc_string.h"
#include "engine/base/half.h"
#include "engine/base/memory_file.h"
#include "engine/base/replace.h"
#include "engine/base/utf8.h"

#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 8,
    HEADER_BYTES_MAX = 100 * 1000 * 1000, /* the reader's */
    TENSORS_MAX = 65536,     /* at most 26 JSON tokens each: within the reader's two million */
    CHUNK_COUNT = 16 * 1024, /* numbers converted at a time: they stay in the cache */
};

/* ---- checks ---- */

/* Returns the bytes of a number; 0: the dtype cannot be written. */
static size_t number_bytes(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F16:
        return sizeof(uint16_t);
    case DTYPE_F32:
    case DTYPE_U32:
        return sizeof(float);
    case DTYPE_F64:
    case DTYPE_U64:
        return sizeof(uint64_t);
    default:
        return 0;
    }
}

/* Computes the product of the shape, whose size in bytes must fit a size_t. */
static enum err_code count_numbers(const struct tensor_out *tensor, size_t *count, struct err *err)
{
    size_t bytes = number_bytes(tensor->dtype);
    *count = 1;
    for (unsigned i = 0; i < tensor->rank; i++)
        if (__builtin_mul_overflow(*count, tensor->shape[i], count))
            return err_set(err, ERR_UNSUPPORTED, "the product of the shape overflows");
    if (__builtin_mul_overflow(*count, bytes, &bytes))
        return err_set(err, ERR_UNSUPPORTED, "the size in bytes overflows");
    return ERR_OK;
}

static enum err_code check_tensor(const struct tensor_out *tensor, struct err *err)
{
    size_t count;
    if (!utf8_is_valid(tensor->name, strlen(tensor->name)))
        return err_set(err, ERR_UNSUPPORTED, "its name is not UTF-8");
    if (strcmp(tensor->name, "__metadata__") == 0)
        return err_set(err, ERR_UNSUPPORTED, "this name is the metadata's");
    if (number_bytes(tensor->dtype) == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "dtype %s; only F32, F16, F64, U64 and U32 can be written",
                       dtype_name(tensor->dtype));
    if (tensor->rank > TENSOR_RANK_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%u dimensions; the limit is %d", tensor->rank,
                       TENSOR_RANK_MAX);
    return count_numbers(tensor, &count, err);
}

static int compare_names(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

static enum err_code check_names(const struct tensor_out *tensors, size_t count, struct err *err)
{
    const char **names = calloc(count + 1, sizeof *names);
    if (names == NULL)
        return err_no_memory(err, count * sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = tensors[i].name;
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            err_set(err, ERR_UNSUPPORTED, "two tensors are named '%s'",
                    printable_name(names[i]).text);
    free(names);
    return err->code;
}

static enum err_code check_tensors(const struct tensor_out *tensors, size_t count, struct err *err)
{
    if (count > TENSORS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%zu tensors; the limit is %d", count, TENSORS_MAX);
    for (size_t i = 0; i < count; i++)
        if (check_tensor(&tensors[i], err))
            return err_prefix(err, "tensor '%s': ", printable_name(tensors[i].name).text);
    return check_names(tensors, count, err);
}

/* ---- header ---- */

/* Moves *offset behind the tensor's bytes; false if there are too many. */
static bool print_entry(FILE *out, const struct tensor_out *tensor, uint64_t *offset)
{
    struct err err = {0};
    size_t count;
    count_numbers(tensor, &count, &err); /* checked before: cannot fail */
    uint64_t start = *offset;
    fputc(',', out);
    doc_string_write(out, tensor->name, strlen(tensor->name));
    fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(tensor->dtype));
    for (unsigned i = 0; i < tensor->rank; i++)
        fprintf(out, "%s%zu", i > 0 ? "," : "", tensor->shape[i]);
    bool fits =
        !__builtin_add_overflow(start, (uint64_t)count * number_bytes(tensor->dtype), offset) &&
        *offset <= INT64_MAX;
    fprintf(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)start,
            (unsigned long long)*offset);
    return fits;
}

static bool print_header(FILE *out, const struct tensor_out *tensors, size_t count,
                         const struct metadata_out *metadata)
{
    uint64_t offset = 0;
    bool fits = true;
    fputs("{\"__metadata__\":{", out);
    for (const struct metadata_out *at = metadata; at->key != NULL; at++) {
        fputs(at > metadata ? "," : "", out);
        doc_string_write(out, at->key, strlen(at->key));
        fputc(':', out);
        doc_string_write(out, at->value, strlen(at->value));
    }
    fputc('}', out);
    for (size_t i = 0; i < count && fits; i++)
        fits = print_entry(out, &tensors[i], &offset);
    fputc('}', out);
    return fits;
}

/* *out is yours to free, also after a failure. */
static enum err_code make_header(const struct tensor_out *tensors, size_t count,
                                 const struct metadata_out *metadata, char **out, size_t *len,
                                 struct err *err)
{
    struct memory_file header;
    *out = NULL;
    if (memory_file_open(&header, err))
        return err->code;
    if (!print_header(header.stream, tensors, count, metadata))
        err_set(err, ERR_UNSUPPORTED, "the size of all tensors together overflows");
    fflush(header.stream);
    for (size_t at = header.len; at % ALIGNMENT != 0; at++)
        fputc(' ', header.stream);
    if (memory_file_close(&header, err))
        return err->code;
    *out = header.bytes;
    *len = header.len;
    if (*len > HEADER_BYTES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "header of %zu bytes; the limit is %d", *len,
                       HEADER_BYTES_MAX);
    return ERR_OK;
}

/* ---- numbers ---- */

/* Returns the index of the first number that the dtype cannot hold, or `count`. A NaN fails every
 * comparison. The first pass has no early exit, so that it becomes vector code. */
static size_t find_bad(const float *numbers, size_t count, float limit)
{
    unsigned bad = 0;
    for (size_t i = 0; i < count; i++)
        bad |= !(numbers[i] <= limit) | !(numbers[i] >= -limit);
    size_t at = bad == 0 ? count : 0;
    while (at < count && numbers[at] <= limit && numbers[at] >= -limit)
        at++;
    return at;
}

static enum err_code write_chunk(struct replacement *file, const struct tensor_out *tensor,
                                 size_t first, size_t count, struct err *err)
{
    const size_t bytes = number_bytes(tensor->dtype);
    if (tensor->dtype != DTYPE_F32 && tensor->dtype != DTYPE_F16)
        return replace_write(file, (const char *)tensor->values + first * bytes, count * bytes,
                             err);
    const float *numbers = (const float *)tensor->values + first;
    bool is_f16 = tensor->dtype == DTYPE_F16;
    size_t bad = find_bad(numbers, count, is_f16 ? HALF_F16_MAX : FLT_MAX);
    if (bad < count)
        return err_set(err, ERR_UNSUPPORTED, "%s: tensor '%s': number %zu, %g, %s", file->path,
                       printable_name(tensor->name).text, first + bad, (double)numbers[bad],
                       is_f16 ? "does not fit F16, which ends at 65504" : "is not finite");
    if (!is_f16)
        return replace_write(file, numbers, count * sizeof *numbers, err);
    uint16_t halves[CHUNK_COUNT];
    half_f32_to_f16(halves, numbers, count);
    return replace_write(file, halves, count * sizeof *halves, err);
}

static enum err_code write_tensor(struct replacement *file, const struct tensor_out *tensor,
                                  struct err *err)
{
    size_t count;
    if (count_numbers(tensor, &count, err))
        return err->code;
    for (size_t done = 0; done < count;) {
        size_t piece = count - done < CHUNK_COUNT ? count - done : CHUNK_COUNT;
        if (write_chunk(file, tensor, done, piece, err))
            return err->code;
        done += piece;
    }
    return ERR_OK;
}

/* ---- file ---- */

static enum err_code write_file(const char *path, const struct tensor_out *tensors, size_t count,
                                const char *header, size_t len, struct err *err)
{
    struct replacement file;
    const uint64_t header_len = len; /* little-endian: safetensors.c asserts it */
    if (!replace_open(&file, path, err) &&
        !replace_write(&file, &header_len, sizeof header_len, err) &&
        !replace_write(&file, header, len, err))
        for (size_t i = 0; i < count && err->code == ERR_OK; i++)
            write_tensor(&file, &tensors[i], err);
    if (err->code == ERR_OK)
        return replace_commit(&file, err);
    replace_abandon(&file);
    return err->code;
}

enum err_code safetensors_write_with(const char *path, const struct tensor_out *tensors,
                                     size_t count, const struct metadata_out *metadata,
                                     struct err *err)
{
    char *header = NULL;
    size_t len = 0;
    if (check_tensors(tensors, count, err) ||
        make_header(tensors, count, metadata, &header, &len, err))
        err_prefix(err, "%s: ", path);
    else
        write_file(path, tensors, count, header, len, err);
    free(header);
    return err->code;
}

enum err_code safetensors_write(const char *path, const struct tensor_out *tensors, size_t count,
                                const char *format, struct err *err)
{
    const struct metadata_out metadata[] = {{"format", format}, {NULL, NULL}};
    return safetensors_write_with(path, tensors, count, metadata, err);
}
