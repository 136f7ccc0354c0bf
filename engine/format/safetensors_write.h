/* safetensors_write.h - writing a safetensors file that is either whole or absent.
 *
 *     struct tensor_out tensors[] = {{"classifier.bias", DTYPE_F32, 1, {9}, bias}, ...};
 *     safetensors_write("model.safetensors", tensors, count, "pt", &err);
 *
 * The file is written under another name in the same folder, synced, renamed and its folder synced,
 * so that a kill at any moment leaves the old file or the new one. Threads: pure function.
 */
#ifndef ATTND_ENGINE_FORMAT_SAFETENSORS_WRITE_H
#define ATTND_ENGINE_FORMAT_SAFETENSORS_WRITE_H

#include "engine/base/err.h"
#include "engine/format/safetensors.h"

struct tensor_out {
    const char *name;
    enum dtype dtype; /* F32 or F16, rounded to nearest even from fp32; ERR_UNSUPPORTED if a number
                         is not finite (in f16: or beyond 65504), with its tensor and index.
                         F64, U64 or U32: written unchanged and unchecked */
    unsigned rank;
    size_t shape[TENSOR_RANK_MAX];
    const void *values; /* fp32; for F64, U64 and U32 numbers of the dtype */
};

struct metadata_out {
    const char *key, *value; /* UTF-8; all keys are different */
};

/* `format` is the metadata's "format" ("pt": transformers asks for it). The header is aligned to 8
 * bytes, tensors in the given order. ERR_IO with the path; ERR_UNSUPPORTED as above. */
enum err_code safetensors_write(const char *path, const struct tensor_out *tensors, size_t count,
                                const char *format, struct err *err);

/* The same with metadata of any kind, ended by a key that is NULL. */
enum err_code safetensors_write_with(const char *path, const struct tensor_out *tensors,
                                     size_t count, const struct metadata_out *metadata,
                                     struct err *err);

#endif
