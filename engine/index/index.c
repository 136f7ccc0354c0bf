#include "engine/index/index.h"

#include "engine/base/file.h"
#include "engine/base/pages.h"
#include "engine/base/sha256.h"
#include "engine/index/index_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const index_similarity_names[] = {"cosine", "dot", "euclidean", "manhattan"};
const char *const index_element_names[] = {"int8", "int16"};
const char *const index_space_names[] = {"embedding", "features"};

enum { PIECE_BYTES = 1024 * 1024, STRINGS = 3 };

static const size_t string_limits[STRINGS] = {INDEX_ID_BYTES, INDEX_LABEL_BYTES,
                                              INDEX_SOURCE_BYTES};

/* ---- the header ---- */

static enum err_code read_exactly(int fd, void *out, size_t bytes, struct err *err)
{
    for (char *at = out; bytes > 0;) {
        const ssize_t got = read(fd, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, ERR_IO, "cannot be read: %s", strerror(errno));
        if (got == 0)
            return err_set(err, ERR_IO, "became shorter while it was read");
        at += got;
        bytes -= (size_t)got;
    }
    return ERR_OK;
}

static bool is_string(const char *text, size_t room)
{
    const size_t len = strnlen(text, room);
    return len < room && index_is_text(text, len);
}

static enum err_code check_header(const struct index_header *header, uint64_t file_bytes,
                                  struct err *err)
{
    if (memcmp(header->magic, INDEX_MAGIC, sizeof header->magic) != 0)
        return err_set(err, ERR_UNSUPPORTED, "is no index: attnd-index build writes one");
    if (header->version != INDEX_VERSION)
        return err_set(err, ERR_UNSUPPORTED, "is an index of version %u; this program reads %d",
                       header->version, INDEX_VERSION);
    if (header->dimensions == 0 || header->dimensions > INDEX_DIMENSIONS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "header: %u dimensions; 1 to %d are possible",
                       header->dimensions, INDEX_DIMENSIONS_MAX);
    if (header->rows == 0 || header->rows > INDEX_ROWS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "header: %llu rows; 1 to %d are possible",
                       (unsigned long long)header->rows, INDEX_ROWS_MAX);
    if (header->space >= INDEX_SPACES || header->similarity >= INDEX_SIMILARITIES ||
        header->element >= INDEX_ELEMENTS)
        return err_set(err, ERR_UNSUPPORTED,
                       "header: a space, similarity or element type that is not known");
    if (!is_string(header->digest, sizeof header->digest) ||
        !is_string(header->model, sizeof header->model))
        return err_set(err, ERR_UNSUPPORTED, "header: the model's digest or name is no text");
    if (header->string_bytes > file_bytes || index_lay_out(header).file_bytes != file_bytes)
        return err_set(err, ERR_UNSUPPORTED,
                       "has %llu bytes, and not as many as its header says: it was cut, or is not "
                       "whole",
                       (unsigned long long)file_bytes);
    return ERR_OK;
}

static struct index_info info_of(const struct index_header *header)
{
    struct index_info info = {.space = header->space,
                              .similarity = header->similarity,
                              .element = header->element,
                              .dimensions = header->dimensions,
                              .rows = header->rows,
                              .bytes = index_lay_out(header).file_bytes};
    memcpy(info.digest, header->digest, sizeof info.digest);
    memcpy(info.model, header->model, sizeof info.model);
    return info;
}

/* Opens the file and reads its header. *fd is -1 on an error. */
static enum err_code open_file(int *fd, unsigned char raw[INDEX_HEADER_BYTES],
                               struct index_header *header, const char *path, struct err *err)
{
    struct stat status;
    if (file_open(fd, path, err))
        return err_prefix(err, "%s: ", path);
    if (fstat(*fd, &status) != 0)
        err_set(err, ERR_IO, "cannot be read: %s", strerror(errno));
    else if (status.st_size < INDEX_HEADER_BYTES)
        err_set(err, ERR_UNSUPPORTED, "has %lld bytes, and is no index", (long long)status.st_size);
    else if (!read_exactly(*fd, raw, INDEX_HEADER_BYTES, err)) {
        memcpy(header, raw, sizeof *header);
        check_header(header, (uint64_t)status.st_size, err);
    }
    if (err->code == ERR_OK)
        return ERR_OK;
    close(*fd);
    *fd = -1;
    return err_prefix(err, "%s: ", path);
}

enum err_code index_measure(struct index_info *out, const char *path, struct err *err)
{
    unsigned char raw[INDEX_HEADER_BYTES];
    struct index_header header;
    int fd;
    if (open_file(&fd, raw, &header, path, err))
        return err->code;
    close(fd);
    *out = info_of(&header);
    return ERR_OK;
}

/* ---- the rest ---- */

static enum err_code read_memory(struct index *index, int fd,
                                 const unsigned char raw[INDEX_HEADER_BYTES],
                                 const struct index_layout *layout, struct err *err)
{
    char found[SHA256_HEX_BYTES];
    struct sha256_pieces sum;
    sha256_pieces_begin(&sum);
    sha256_pieces_add(&sum, raw, INDEX_HEADER_BYTES);
    for (uint64_t at = 0; at < layout->sum;) {
        const size_t bytes = layout->sum - at < PIECE_BYTES ? layout->sum - at : PIECE_BYTES;
        if (read_exactly(fd, index->memory + at, bytes, err))
            return err->code;
        sha256_pieces_add(&sum, index->memory + at, bytes);
        at += bytes;
    }
    sha256_pieces_end(&sum, found);
    if (read_exactly(fd, index->memory + layout->sum, INDEX_SUM_BYTES, err))
        return err->code;
    if (memcmp(found, index->memory + layout->sum, INDEX_SUM_BYTES) != 0)
        return err_set(err, ERR_UNSUPPORTED, "is damaged: its checksum is another");
    return ERR_OK;
}

/* A checksum that is right does not mean that an index was written by us. */
static enum err_code check_rows(struct index *index, uint64_t string_bytes, struct err *err)
{
    uint64_t at = 0;
    for (size_t row = 0; row < index->info.rows; row++) {
        const uint64_t end = index->ends[row];
        const float numbers[] = {index->coarse[row], index->fine[row], index->length[row]};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (!isfinite(numbers[i]) || numbers[i] < 0)
                return err_set(err, ERR_UNSUPPORTED, "row %zu: a scale that is no number", row);
        if (end < at || end > string_bytes)
            return err_set(err, ERR_UNSUPPORTED, "row %zu: its strings end outside of the file",
                           row);
        if (end - at > index->info.record_bytes)
            index->info.record_bytes = end - at;
        for (unsigned i = 0; i < STRINGS; i++) {
            const size_t len = strnlen(index->strings + at, end - at);
            if (len == end - at || len > string_limits[i] ||
                !index_is_text(index->strings + at, len))
                return err_set(err, ERR_UNSUPPORTED,
                               "row %zu: its id, label or source is too long or no text", row);
            at += len + 1;
        }
        if (at != end)
            return err_set(err, ERR_UNSUPPORTED, "row %zu: more than three strings", row);
    }
    if (at != string_bytes)
        return err_set(err, ERR_UNSUPPORTED, "strings that belong to no row");
    return ERR_OK;
}

enum err_code index_open(struct index **out, const char *path, struct err *err)
{
    unsigned char raw[INDEX_HEADER_BYTES];
    struct index_header header;
    int fd;
    *out = NULL;
    if (open_file(&fd, raw, &header, path, err))
        return err->code;
    const struct index_layout layout = index_lay_out(&header);
    struct index *index = calloc(1, sizeof *index);
    if (index != NULL)
        index->memory = pages_alloc(layout.sum + INDEX_SUM_BYTES);
    if (index == NULL || index->memory == NULL) {
        err_no_memory(err, layout.file_bytes);
        goto out;
    }
    index->info = info_of(&header);
    if (read_memory(index, fd, raw, &layout, err))
        goto out;
    char *memory = index->memory;
    index->ends = (const uint64_t *)(void *)(memory + layout.ends);
    index->coarse = (const float *)(void *)(memory + layout.coarse);
    index->fine = (const float *)(void *)(memory + layout.fine);
    index->length = (const float *)(void *)(memory + layout.length);
    index->strings = memory + layout.strings;
    index->upper = (const int8_t *)(memory + layout.upper);
    index->lower =
        index->info.element == INDEX_INT16 ? (const int8_t *)(memory + layout.lower) : NULL;
    check_rows(index, header.string_bytes, err);
out:
    close(fd);
    if (err->code != ERR_OK) {
        index_close(index);
        return err_prefix(err, "%s: ", path);
    }
    *out = index;
    return ERR_OK;
}

void index_close(struct index *index)
{
    if (index == NULL)
        return;
    free(index->memory);
    free(index);
}

const struct index_info *index_describe(const struct index *index)
{
    return &index->info;
}

struct index_record index_record(const struct index *index, size_t row)
{
    struct index_record record = {.id = index->strings + (row > 0 ? index->ends[row - 1] : 0)};
    record.label = record.id + strlen(record.id) + 1;
    record.source = record.label + strlen(record.label) + 1;
    return record;
}

enum err_code index_check(const struct index_info *info, const char *digest, enum index_space space,
                          unsigned dimensions, struct err *err)
{
    if (strcmp(info->digest, digest) != 0)
        return err_set(err, ERR_UNUSABLE,
                       "the index was made with another model: %s (%.19s), and not %.19s; "
                       "build it anew",
                       info->model, info->digest, digest);
    if (info->space != space)
        return err_set(err, ERR_UNUSABLE, "the index has vectors of the space %s, the model %s",
                       index_space_names[info->space], index_space_names[space]);
    if (info->dimensions > dimensions ||
        (space == INDEX_FEATURES && info->dimensions != dimensions))
        return err_set(err, ERR_UNUSABLE, "the index has vectors of %u numbers, the model of %u",
                       info->dimensions, dimensions);
    return ERR_OK;
}
