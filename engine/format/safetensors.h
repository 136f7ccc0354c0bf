/* safetensors.h - reading safetensors files, strict against hostile ones.
 *
 *     struct safetensors *file;
 *     safetensors_open(&file, path, &err);
 *     const struct tensor_info *info = safetensors_find(file, "classifier.weight");
 *     safetensors_read_f32(file, info, 0, info->count, weights, &err);
 *     safetensors_close(file);
 *
 * The rules are those of the reference reader (huggingface/safetensors): a u64 little-endian header
 * length of at most 100 MB and inside the file; a header that is one UTF-8 JSON object without
 * duplicate keys; every entry exactly dtype, shape, data_offsets; sorted by offset, each begins at
 * the end of the one before, and the last ends at the file's end; shape x dtype equals the bytes.
 *
 * The file is read with pread into the caller's memory, never mapped: a file that shrinks while it
 * is read is an error here and not a SIGBUS, and the weights are held once.
 *
 * Threads: an open file is immutable; any number of threads may read.
 */
#ifndef ATTND_ENGINE_FORMAT_SAFETENSORS_H
#define ATTND_ENGINE_FORMAT_SAFETENSORS_H

#include "engine/base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { TENSOR_RANK_MAX = 8 };

/* name in the file, bits a number */
#define TENSOR_DTYPES(X)                                                                           \
    X(DTYPE_F64, "F64", 64)                                                                        \
    X(DTYPE_F32, "F32", 32)                                                                        \
    X(DTYPE_F16, "F16", 16)                                                                        \
    X(DTYPE_BF16, "BF16", 16)                                                                      \
    X(DTYPE_I64, "I64", 64)                                                                        \
    X(DTYPE_I32, "I32", 32)                                                                        \
    X(DTYPE_I16, "I16", 16)                                                                        \
    X(DTYPE_I8, "I8", 8)                                                                           \
    X(DTYPE_U64, "U64", 64)                                                                        \
    X(DTYPE_U32, "U32", 32)                                                                        \
    X(DTYPE_U16, "U16", 16)                                                                        \
    X(DTYPE_U8, "U8", 8)                                                                           \
    X(DTYPE_BOOL, "BOOL", 8)                                                                       \
    X(DTYPE_F8_E4M3, "F8_E4M3", 8)                                                                 \
    X(DTYPE_F8_E5M2, "F8_E5M2", 8)

enum dtype {
#define X(id, name, bits) id,
    TENSOR_DTYPES(X)
#undef X
        DTYPE_COUNT
};

const char *dtype_name(enum dtype dtype);

struct tensor_info {
    const char *name;
    enum dtype dtype;
    unsigned rank;
    size_t shape[TENSOR_RANK_MAX];
    size_t count;    /* product of shape; 1 for a scalar */
    uint64_t offset; /* place of the first byte, from the start of the file */
    uint64_t bytes;
};

struct safetensors;

/* Opens and checks the whole layout; reads no tensor. ERR_IO if the file cannot be read,
 * ERR_UNSUPPORTED for anything that breaks a rule (the text says which rule and which tensor, not
 * the path: the caller prefixes it). Yours to close. */
enum err_code safetensors_open(struct safetensors **out, const char *path, struct err *err);
void safetensors_close(struct safetensors *file);

/* Tensors sorted by name. */
size_t safetensors_count(const struct safetensors *file);
const struct tensor_info *safetensors_at(const struct safetensors *file, size_t index);
const struct tensor_info *safetensors_find(const struct safetensors *file, const char *name);

/* Returns a text of "__metadata__", up to its first NUL; NULL if there is none of this name. */
const char *safetensors_metadata(const struct safetensors *file, const char *key);

/* ERR_UNSUPPORTED unless the tensor's numbers can be read as fp32: F32, F16, BF16 or F64. */
enum err_code safetensors_check_f32(const struct tensor_info *info, struct err *err);

/* Reads numbers [first, first + count) of a tensor as fp32 into out[count]; the range lies in the
 * tensor. Errors are those of safetensors_check_f32, ERR_UNSUPPORTED for a number that is not
 * finite (the text gives its index in the tensor), and ERR_IO. */
enum err_code safetensors_read_f32(const struct safetensors *file, const struct tensor_info *info,
                                   size_t first, size_t count, float *out, struct err *err);

/* The same for a tensor of F16 or BF16, in its own 16 bits a number. */
enum err_code safetensors_read_halves(const struct safetensors *file,
                                      const struct tensor_info *info, size_t first, size_t count,
                                      uint16_t *out, struct err *err);

/* Reads the bytes of a whole tensor, unconverted and unchecked, into out[bytes]. ERR_UNSUPPORTED if
 * it has another dtype than `dtype`; ERR_IO. */
enum err_code safetensors_read_as(const struct safetensors *file, const struct tensor_info *info,
                                  enum dtype dtype, void *out, struct err *err);

#endif
