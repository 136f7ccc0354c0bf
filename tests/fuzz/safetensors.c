/* A safetensors file. An input is the JSON header and, after a byte 0, tensor bytes; if its first
 * byte is '{' the length in front is written for it, else it is the file as it stands. */
#include "engine/format/safetensors.h"

#include "tests/fuzz/driver/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, NUMBERS_MAX = 64 };

static void read_tensor(const struct safetensors *file, const struct tensor_info *info)
{
    float numbers[NUMBERS_MAX];
    struct err err = {0};
    size_t count = info->count < NUMBERS_MAX ? info->count : NUMBERS_MAX;
    if (safetensors_read_f32(file, info, info->count - count, count, numbers, &err) == ERR_OK)
        for (size_t i = 0; i < count; i++)
            FUZZ_CLAIM(isfinite(numbers[i]));
    FUZZ_CLAIM(err.code != ERR_IO && err.code != ERR_NO_MEMORY);
    fuzz_check_err(&err);
}

static void check_tensors(const struct safetensors *file, size_t file_bytes)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const struct tensor_info *info = safetensors_at(file, i);
        FUZZ_CLAIM(info->offset <= file_bytes && info->bytes <= file_bytes - info->offset);
        FUZZ_CLAIM(info->rank <= TENSOR_RANK_MAX && info->dtype < DTYPE_COUNT);
        FUZZ_CLAIM(i == 0 || strcmp(safetensors_at(file, i - 1)->name, info->name) < 0);
        FUZZ_CLAIM(safetensors_find(file, info->name) == info);
        bytes += info->bytes;
        read_tensor(file, info);
    }
    FUZZ_CLAIM(bytes + LENGTH_BYTES <= file_bytes);
}

/* The file's bytes; to be freed. */
static char *assemble(const uint8_t *data, size_t size, size_t *len)
{
    char *file = malloc(LENGTH_BYTES + size + 1);
    FUZZ_CLAIM(file != NULL);
    if (size == 0 || data[0] != '{') {
        *len = size;
        if (size > 0)
            memcpy(file, data, size);
        return file;
    }
    const uint8_t *end = memchr(data, '\0', size);
    size_t header = end != NULL ? (size_t)(end - data) : size;
    size_t rest = size - header - (end != NULL);
    for (int i = 0; i < LENGTH_BYTES; i++)
        file[i] = (char)(header >> 8 * i);
    memcpy(file + LENGTH_BYTES, data, header);
    memcpy(file + LENGTH_BYTES + header, data + size - rest, rest);
    *len = LENGTH_BYTES + header + rest;
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors *file;
    struct err err = {0};
    size_t len;
    char *bytes = assemble(data, size, &len);
    if (safetensors_open(&file, fuzz_file("model.safetensors", bytes, len), &err) == ERR_OK)
        check_tensors(file, len);
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_UNSUPPORTED);
    fuzz_check_err(&err);
    safetensors_close(file);
    free(bytes);
    return 0;
}
