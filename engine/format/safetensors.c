/* safetensors.c - see safetensors.h.
 *
 * A file is a u64 header length, a JSON header and the tensors' bytes:
 *
 *     {"classifier.weight": {"dtype": "F32", "shape": [9, 768], "data_offsets": [0, 27648]}, ...}
 *
 * Each check relies only on checked values. The file's size, from the kernel, bounds the header
 * length; the header's bytes bound the tree; each entry alone must fit the data and agree with its
 * own shape; then the entries, sorted by offset, must be without gaps. After open every tensor_info
 * can be used without further checks, so reading is a loop of pread.
 *
 * The header is parsed with exact 64-bit integers, not as the reals that checkpoint configuration
 * needs: an offset above 2^53 must not be rounded into a valid one. A larger number than fits is an
 * error of the parser.
 *
 * Rules and their order follow huggingface/safetensors, safetensors/src/tensor.rs (read_metadata,
 * Metadata::validate). Stricter than it: sub-byte dtypes, ranks above TENSOR_RANK_MAX, entries with
 * other members and headers of more than two million tokens are refused.
 */
#include "engine/format/safetensors.h"

#include "engine/base/arena.h"
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/base/half.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors are stored little-endian");

enum {
    LENGTH_BYTES = 8,
    HEADER_BYTES_MAX = 100 * 1000 * 1000,
    CHUNK_COUNT = 16 * 1024, /* numbers read and converted at a time: they stay in the cache */
};

/* The header nests three deep: header, entry, shape. */
static const struct doc_limits header_limits = {.depth_max = 4, .tokens_max = 2 * 1000 * 1000};

struct metadata {
    const char *key, *value;
};

struct safetensors {
    int fd;
    uint64_t file_bytes;
    uint64_t data_offset; /* offset of the first tensor byte in the file */
    size_t count;
    struct tensor_info *tensors; /* sorted by name once open */
    size_t metadata_count;
    struct metadata *metadata;
    struct arena names; /* names of tensors, and all metadata */
};

static const struct {
    const char *name;
    unsigned bits;
} dtypes[DTYPE_COUNT] = {
#define X(id, name, bits) [id] = {name, bits},
    TENSOR_DTYPES(X)
#undef X
};

const char *dtype_name(enum dtype dtype)
{
    return dtypes[dtype].name;
}

static enum err_code read_exactly(int fd, void *out, size_t bytes, uint64_t offset, struct err *err)
{
    char *at = out;
    while (bytes > 0) {
        ssize_t got = pread(fd, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, ERR_IO, "cannot be read: %s", strerror(errno));
        if (got == 0)
            return err_set(err, ERR_IO, "became shorter while it was read (ends at byte %llu)",
                           (unsigned long long)offset);
        at += got;
        bytes -= (size_t)got;
        offset += (size_t)got;
    }
    return ERR_OK;
}

/* True if the bytes are text and no length: a length has NULs in its upper bytes. */
static bool is_text(const unsigned char bytes[LENGTH_BYTES])
{
    for (int i = 0; i < LENGTH_BYTES; i++)
        if ((bytes[i] < 0x20 && bytes[i] != '\n' && bytes[i] != '\r') || bytes[i] > 0x7E)
            return false;
    return true;
}

static enum err_code read_header_length(struct safetensors *file, size_t *len, struct err *err)
{
    unsigned char bytes[LENGTH_BYTES];
    if (file->file_bytes < LENGTH_BYTES)
        return err_set(err, ERR_UNSUPPORTED,
                       "has %llu bytes; a safetensors file begins with a header length of %d",
                       (unsigned long long)file->file_bytes, LENGTH_BYTES);
    if (read_exactly(file->fd, bytes, sizeof bytes, 0, err))
        return err->code;
    uint64_t value = 0;
    for (int i = LENGTH_BYTES; i > 0; i--)
        value = value << 8 | bytes[i - 1];
    if (value > HEADER_BYTES_MAX)
        return is_text(bytes)
                   ? err_set(err, ERR_UNSUPPORTED,
                             "is a text, such as the page of a failed download, and no "
                             "safetensors file: fetch it again")
                   : err_set(err, ERR_UNSUPPORTED,
                             "is no safetensors file: its header would have %llu bytes; the limit "
                             "is %d",
                             (unsigned long long)value, HEADER_BYTES_MAX);
    if (value > file->file_bytes - LENGTH_BYTES)
        return err_set(err, ERR_UNSUPPORTED,
                       "is cut off, or no safetensors file: a header of %llu bytes, but the file "
                       "has only %llu",
                       (unsigned long long)value, (unsigned long long)file->file_bytes);
    *len = (size_t)value;
    file->data_offset = LENGTH_BYTES + value;
    return ERR_OK;
}

static bool is_a(const struct json_t *value, const char *type)
{
    return strcmp(doc_type_name(value), type) == 0;
}

static enum err_code read_dtype(struct tensor_info *info, const struct json_t *value,
                                struct err *err)
{
    const char *name = doc_as_string(value);
    if (name == NULL)
        return err_set(err, ERR_UNSUPPORTED, "dtype: expected a string, found %s",
                       doc_type_name(value));
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            info->dtype = (enum dtype)i;
            return ERR_OK;
        }
    }
    return err_set(err, ERR_UNSUPPORTED, "dtype '%s' is not supported", printable_name(name).text);
}

/* Reads item `index` of an array of sizes or offsets. */
static enum err_code read_size(const struct json_t *array, size_t index, const char *what,
                               uint64_t *out, struct err *err)
{
    long long value;
    if (!doc_as_integer(doc_array_item(array, index), &value) || value < 0)
        return err_set(err, ERR_UNSUPPORTED, "%s[%zu]: expected an integer of at least 0", what,
                       index);
    *out = (uint64_t)value;
    return ERR_OK;
}

static enum err_code read_shape(struct tensor_info *info, const struct json_t *value,
                                struct err *err)
{
    if (!is_a(value, "an array"))
        return err_set(err, ERR_UNSUPPORTED, "shape: expected an array, found %s",
                       doc_type_name(value));
    size_t rank = doc_array_count(value);
    if (rank > TENSOR_RANK_MAX)
        return err_set(err, ERR_UNSUPPORTED, "shape has %zu dimensions; the limit is %d", rank,
                       TENSOR_RANK_MAX);
    info->rank = (unsigned)rank;
    info->count = 1;
    for (size_t i = 0; i < rank; i++) {
        uint64_t size = 0;
        if (read_size(value, i, "shape", &size, err))
            return err->code;
        if (__builtin_mul_overflow(info->count, size, &info->count))
            return err_set(err, ERR_UNSUPPORTED, "the product of the shape overflows");
        info->shape[i] = (size_t)size;
    }
    return ERR_OK;
}

/* Leaves the offset relative to the data, not yet to the file. */
static enum err_code read_offsets(struct tensor_info *info, const struct json_t *value,
                                  uint64_t data_bytes, struct err *err)
{
    uint64_t start = 0, end = 0;
    if (!is_a(value, "an array") || doc_array_count(value) != 2)
        return err_set(err, ERR_UNSUPPORTED, "data_offsets: expected an array of two offsets");
    if (read_size(value, 0, "data_offsets", &start, err) ||
        read_size(value, 1, "data_offsets", &end, err))
        return err->code;
    if (start > end || end > data_bytes)
        return err_set(
            err, ERR_UNSUPPORTED,
            "data_offsets %llu to %llu do not lie in the %llu bytes of data: if the file is cut "
            "off, fetch it again",
            (unsigned long long)start, (unsigned long long)end, (unsigned long long)data_bytes);
    info->offset = start;
    info->bytes = end - start;
    return ERR_OK;
}

static enum err_code read_entry(struct tensor_info *info, const struct json_t *entry,
                                uint64_t data_bytes, struct err *err)
{
    const struct json_t *dtype = doc_member(entry, "dtype");
    const struct json_t *shape = doc_member(entry, "shape");
    const struct json_t *offsets = doc_member(entry, "data_offsets");
    uint64_t bytes;
    if (dtype == NULL || shape == NULL || offsets == NULL || doc_object_count(entry) != 3)
        return err_set(err, ERR_UNSUPPORTED,
                       "expected an object of exactly dtype, shape and data_offsets");
    if (read_dtype(info, dtype, err) || read_shape(info, shape, err) ||
        read_offsets(info, offsets, data_bytes, err))
        return err->code;
    if (__builtin_mul_overflow(info->count, (uint64_t)dtypes[info->dtype].bits / 8, &bytes))
        return err_set(err, ERR_UNSUPPORTED, "the size in bytes overflows");
    if (bytes != info->bytes)
        return err_set(err, ERR_UNSUPPORTED, "%llu bytes of data, but dtype and shape need %llu",
                       (unsigned long long)info->bytes, (unsigned long long)bytes);
    return ERR_OK;
}

static enum err_code add_metadata_member(void *context, const char *key, const struct json_t *value,
                                         struct err *err)
{
    struct safetensors *file = context;
    struct metadata *metadata = &file->metadata[file->metadata_count];
    size_t len;
    if (!is_a(value, "a string"))
        return err_set(err, ERR_UNSUPPORTED, "__metadata__: expected only strings, found %s",
                       doc_type_name(value));
    const char *text = doc_text(value, &len);
    metadata->key = arena_copy(&file->names, key, strlen(key));
    metadata->value = arena_copy(&file->names, text, len);
    if (metadata->key == NULL || metadata->value == NULL)
        return err_no_memory(err, strlen(key) + len + 2);
    file->metadata_count++;
    return ERR_OK;
}

static enum err_code add_metadata(struct safetensors *file, const struct json_t *value,
                                  struct err *err)
{
    size_t members = doc_object_count(value);
    if (is_a(value, "null")) /* some writers write null for no metadata */
        return ERR_OK;
    if (!is_a(value, "an object"))
        return err_set(err, ERR_UNSUPPORTED, "__metadata__: expected an object, found %s",
                       doc_type_name(value));
    file->metadata = arena_alloc_array(&file->names, members + 1, sizeof *file->metadata);
    if (file->metadata == NULL)
        return err_no_memory(err, members * sizeof *file->metadata);
    return doc_each_member(value, add_metadata_member, file, err);
}

static enum err_code add_member(void *context, const char *key, const struct json_t *value,
                                struct err *err)
{
    struct safetensors *file = context;
    if (strcmp(key, "__metadata__") == 0)
        return add_metadata(file, value, err);
    struct tensor_info *info = &file->tensors[file->count];
    if (read_entry(info, value, file->file_bytes - file->data_offset, err))
        return err_prefix(err, "tensor '%s': ", printable_name(key).text);
    info->offset += file->data_offset;
    info->name = arena_copy(&file->names, key, strlen(key));
    if (info->name == NULL)
        return err_no_memory(err, strlen(key) + 1);
    file->count++;
    return ERR_OK;
}

/* Compares starts, then ends: a tensor without bytes comes before the one with the same start. */
static int compare_offsets(const void *left, const void *right)
{
    const struct tensor_info *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int compare_names(const void *left, const void *right)
{
    const struct tensor_info *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static enum err_code check_layout(const struct safetensors *file, struct err *err)
{
    uint64_t end = file->data_offset;
    for (size_t i = 0; i < file->count; i++) {
        const struct tensor_info *info = &file->tensors[i];
        if (info->offset != end)
            return err_set(err, ERR_UNSUPPORTED,
                           "tensor '%s': %s before it (begins at byte %llu of the file instead of "
                           "%llu)",
                           printable_name(info->name).text,
                           info->offset > end ? "bytes of no tensor" : "overlaps the tensor",
                           (unsigned long long)info->offset, (unsigned long long)end);
        end += info->bytes; /* every entry lies inside the file: cannot overflow */
    }
    if (end != file->file_bytes)
        return err_set(err, ERR_UNSUPPORTED,
                       "the last tensor ends at byte %llu, but the file has %llu",
                       (unsigned long long)end, (unsigned long long)file->file_bytes);
    return ERR_OK;
}

static enum err_code take_tensors(struct safetensors *file, const struct json_t *header,
                                  struct err *err)
{
    size_t members = doc_object_count(header);
    file->tensors = calloc(members + 1, sizeof *file->tensors);
    if (file->tensors == NULL)
        return err_no_memory(err, members * sizeof *file->tensors);
    if (doc_each_member(header, add_member, file, err))
        return err->code;
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_offsets);
    if (check_layout(file, err))
        return err->code;
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_names);
    return ERR_OK;
}

/* Every JSON error becomes ERR_UNSUPPORTED, a broken rule. */
static enum err_code read_header(struct safetensors *file, struct err *err)
{
    struct json_t *header = NULL;
    struct err cause = {0};
    size_t len = 0;
    if (read_header_length(file, &len, err))
        return err->code;
    char *bytes = malloc(len + 1); /* never of 0 bytes */
    if (bytes == NULL)
        return err_no_memory(err, len + 1);
    if (read_exactly(file->fd, bytes, len, LENGTH_BYTES, err))
        goto out;
    doc_parse(&header, bytes, len, &header_limits, &cause);
    if (cause.code != ERR_OK)
        err_set(err, cause.code == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_UNSUPPORTED, "header: %s",
                cause.text);
    else if (!is_a(header, "an object"))
        err_set(err, ERR_UNSUPPORTED, "header: expected an object, found %s",
                doc_type_name(header));
    else
        take_tensors(file, header, err);
out:
    doc_free(header);
    free(bytes);
    return err->code;
}

enum err_code safetensors_open(struct safetensors **out, const char *path, struct err *err)
{
    struct stat status;
    *out = NULL;
    struct safetensors *file = calloc(1, sizeof *file);
    if (file == NULL)
        return err_no_memory(err, sizeof *file);
    arena_init(&file->names);
    if (file_open(&file->fd, path, err))
        goto out;
    if (fstat(file->fd, &status) != 0) {
        err_set(err, ERR_IO, "cannot be opened: %s", strerror(errno));
        goto out;
    }
    file->file_bytes = (uint64_t)status.st_size;
    read_header(file, err);
out:
    if (err->code == ERR_OK)
        *out = file;
    else
        safetensors_close(file);
    return err->code;
}

void safetensors_close(struct safetensors *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    arena_deinit(&file->names);
    free(file->tensors);
    free(file);
}

size_t safetensors_count(const struct safetensors *file)
{
    return file->count;
}

const struct tensor_info *safetensors_at(const struct safetensors *file, size_t index)
{
    return &file->tensors[index];
}

const struct tensor_info *safetensors_find(const struct safetensors *file, const char *name)
{
    struct tensor_info key = {.name = name};
    return bsearch(&key, file->tensors, file->count, sizeof key, compare_names);
}

const char *safetensors_metadata(const struct safetensors *file, const char *key)
{
    for (size_t i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].value;
    return NULL;
}

/* Infinities and NaNs have all exponent bits set. The sum over a whole chunk has no early exit, so
 * that it becomes vector code; the chunk that fails is searched again for the index. */
static bool all_finite(const float *numbers, size_t count)
{
    const uint32_t exponent = 0x7F800000u;
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        bad |= (bits & exponent) == exponent;
    }
    return bad == 0;
}

/* Reads numbers first to first + count of the tensor, at most CHUNK_COUNT. */
static enum err_code read_chunk(const struct safetensors *file, const struct tensor_info *info,
                                size_t first, size_t count, float *out, struct err *err)
{
    if (info->dtype == DTYPE_F32)
        return read_exactly(file->fd, out, count * sizeof *out, info->offset + first * sizeof *out,
                            err);
    if (info->dtype == DTYPE_F64) {
        double doubles[CHUNK_COUNT];
        if (read_exactly(file->fd, doubles, count * sizeof *doubles,
                         info->offset + first * sizeof *doubles, err))
            return err->code;
        /* Rounds to the nearest, as PyTorch does. A number that is too large becomes infinite and
         * is then refused. */
        for (size_t i = 0; i < count; i++)
            out[i] = (float)doubles[i];
        return ERR_OK;
    }
    uint16_t halves[CHUNK_COUNT];
    if (read_exactly(file->fd, halves, count * sizeof *halves,
                     info->offset + first * sizeof *halves, err))
        return err->code;
    if (info->dtype == DTYPE_F16)
        half_f16_to_f32(out, halves, count);
    else
        half_bf16_to_f32(out, halves, count);
    return ERR_OK;
}

enum err_code safetensors_check_f32(const struct tensor_info *info, struct err *err)
{
    if (info->dtype != DTYPE_F32 && info->dtype != DTYPE_F16 && info->dtype != DTYPE_BF16 &&
        info->dtype != DTYPE_F64)
        return err_set(err, ERR_UNSUPPORTED, "dtype %s; only F32, F16, BF16 and F64 can be used",
                       dtype_name(info->dtype));
    return ERR_OK;
}

enum err_code safetensors_read_f32(const struct safetensors *file, const struct tensor_info *info,
                                   size_t first, size_t count, float *out, struct err *err)
{
    assert(first <= info->count && count <= info->count - first);
    if (safetensors_check_f32(info, err))
        return err->code;
    for (size_t done = 0, piece; done < count; done += piece) {
        piece = count - done < CHUNK_COUNT ? count - done : CHUNK_COUNT;
        if (read_chunk(file, info, first + done, piece, out + done, err))
            return err->code;
        if (all_finite(out + done, piece))
            continue;
        while (all_finite(&out[done], 1))
            done++;
        return err_set(err, ERR_UNSUPPORTED, "number %zu is not finite", first + done);
    }
    return ERR_OK;
}

enum err_code safetensors_read_halves(const struct safetensors *file,
                                      const struct tensor_info *info, size_t first, size_t count,
                                      uint16_t *out, struct err *err)
{
    const uint16_t exponent = info->dtype == DTYPE_F16 ? 0x7C00 : 0x7F80;
    assert(info->dtype == DTYPE_F16 || info->dtype == DTYPE_BF16);
    assert(first <= info->count && count <= info->count - first);
    if (read_exactly(file->fd, out, count * sizeof *out, info->offset + first * sizeof *out, err))
        return err->code;
    for (size_t i = 0; i < count; i++)
        if ((out[i] & exponent) == exponent)
            return err_set(err, ERR_UNSUPPORTED, "number %zu is not finite", first + i);
    return ERR_OK;
}

enum err_code safetensors_read_as(const struct safetensors *file, const struct tensor_info *info,
                                  enum dtype dtype, void *out, struct err *err)
{
    if (info->dtype != dtype)
        return err_set(err, ERR_UNSUPPORTED, "dtype %s instead of %s", dtype_name(info->dtype),
                       dtype_name(dtype));
    return read_exactly(file->fd, out, info->bytes, info->offset, err);
}
