#include "engine/index/index_build.h"

#include "engine/base/pages.h"
#include "engine/base/replace.h"
#include "engine/base/sha256.h"
#include "engine/index/index_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRINGS_BYTES = 64 * 1024, BYTE = 256 };

struct index_build {
    struct index_header header; /* rows and string_bytes so far */
    size_t rows_max, string_room;
    uint64_t *ends;
    float *coarse, *fine, *length;
    int8_t *upper, *lower; /* lower NULL: int8 */
    char *strings;
};

enum err_code index_build_open(struct index_build **out, const struct index_info *info,
                               size_t rows_max, struct err *err)
{
    const size_t plane = memory_product(rows_max, info->dimensions);
    *out = NULL;
    if (info->dimensions == 0 || info->dimensions > INDEX_DIMENSIONS_MAX)
        return err_set(err, ERR_UNUSABLE, "vectors of %u numbers; an index takes 1 to %d",
                       info->dimensions, INDEX_DIMENSIONS_MAX);
    if (rows_max == 0 || rows_max > INDEX_ROWS_MAX)
        return err_set(err, ERR_UNUSABLE, "%zu vectors; an index takes 1 to %d", rows_max,
                       INDEX_ROWS_MAX);
    struct index_build *build = calloc(1, sizeof *build);
    if (build == NULL)
        return err_no_memory(err, sizeof *build);
    build->header = (struct index_header){.magic = INDEX_MAGIC,
                                          .version = INDEX_VERSION,
                                          .dimensions = info->dimensions,
                                          .space = (uint8_t)info->space,
                                          .similarity = (uint8_t)info->similarity,
                                          .element = (uint8_t)info->element};
    memcpy(build->header.digest, info->digest, sizeof info->digest);
    memcpy(build->header.model, info->model, sizeof info->model);
    build->rows_max = rows_max;
    build->string_room = STRINGS_BYTES;
    build->ends = calloc(rows_max, sizeof *build->ends);
    build->coarse = calloc(rows_max, sizeof *build->coarse);
    build->fine = calloc(rows_max, sizeof *build->fine);
    build->length = calloc(rows_max, sizeof *build->length);
    build->upper = pages_alloc(plane);
    build->lower = info->element == INDEX_INT16 ? pages_alloc(plane) : NULL;
    build->strings = malloc(build->string_room);
    if (build->ends == NULL || build->coarse == NULL || build->fine == NULL ||
        build->length == NULL || build->upper == NULL || build->strings == NULL ||
        (info->element == INDEX_INT16 && build->lower == NULL)) {
        index_build_close(build);
        return err_no_memory(err, memory_product(plane, 2));
    }
    *out = build;
    return ERR_OK;
}

void index_build_close(struct index_build *build)
{
    if (build == NULL)
        return;
    free(build->ends);
    free(build->coarse);
    free(build->fine);
    free(build->length);
    free(build->upper);
    free(build->lower);
    free(build->strings);
    free(build);
}

size_t index_build_rows(const struct index_build *build)
{
    return build->header.rows;
}

/* ---- rows ---- */

static enum err_code add_string(struct index_build *build, const char *text, size_t most,
                                const char *what, struct err *err)
{
    const size_t len = strlen(text), used = build->header.string_bytes;
    if (len > most)
        return err_set(err, ERR_UNUSABLE, "the %s has %zu bytes; %zu are possible", what, len,
                       most);
    if (!index_is_text(text, len))
        return err_set(err, ERR_UNUSABLE, "the %s is not UTF-8, or has a control character", what);
    if (build->string_room - used <= len) {
        char *strings = realloc(build->strings, build->string_room * 2);
        if (strings == NULL)
            return err_no_memory(err, build->string_room * 2);
        build->strings = strings;
        build->string_room *= 2;
    }
    memcpy(build->strings + used, text, len + 1);
    build->header.string_bytes += len + 1;
    return ERR_OK;
}

/* The row as whole numbers, and the scales with which they have its length. */
static void round_row(struct index_build *build, const float *vector, double length, double top)
{
    const size_t n = build->header.dimensions, row = build->header.rows;
    const bool is_cosine = build->header.similarity == INDEX_COSINE;
    const double largest = build->lower != NULL ? INDEX_TOP * BYTE : INDEX_TOP;
    double coarse = 0, fine = 0;
    for (size_t i = 0; i < n; i++) {
        const int value = top > 0 ? (int)lrint((double)vector[i] / top * largest) : 0;
        const int upper = build->lower != NULL ? (value + BYTE / 2) >> 8 : value;
        build->upper[row * n + i] = (int8_t)upper;
        if (build->lower != NULL)
            build->lower[row * n + i] = (int8_t)(value - BYTE * upper);
        coarse += (double)upper * upper;
        fine += (double)value * value;
    }
    length = is_cosine && length > 0 ? 1 : length;
    build->length[row] = (float)length;
    build->coarse[row] = coarse > 0 ? (float)(length / sqrt(coarse)) : 0;
    build->fine[row] = fine > 0 ? (float)(length / sqrt(fine)) : 0;
}

enum err_code index_build_add(struct index_build *build, const float *vector,
                              const struct index_record *record, struct err *err)
{
    const uint64_t used = build->header.string_bytes;
    double squares = 0, top = 0;
    for (size_t i = 0; i < build->header.dimensions; i++) {
        squares += (double)vector[i] * (double)vector[i];
        top = fmax(top, fabs((double)vector[i]));
    }
    if (!(sqrt(squares) <= 1e37)) /* its square and its products are floats, too */
        return err_set(err, ERR_UNUSABLE, "the vector has a number that is not finite");
    if (build->header.rows == build->rows_max)
        return err_set(err, ERR_UNUSABLE, "the index has room for %zu vectors", build->rows_max);
    if (add_string(build, record->id, INDEX_ID_BYTES, "id", err) ||
        add_string(build, record->label, INDEX_LABEL_BYTES, "label", err) ||
        add_string(build, record->source, INDEX_SOURCE_BYTES, "source", err)) {
        build->header.string_bytes = used;
        return err->code;
    }
    round_row(build, vector, sqrt(squares), top);
    build->ends[build->header.rows++] = build->header.string_bytes;
    return ERR_OK;
}

/* ---- the file ---- */

static enum err_code write_part(struct replacement *file, struct sha256_pieces *sum,
                                const void *bytes, size_t len, struct err *err)
{
    sha256_pieces_add(sum, bytes, len);
    return replace_write(file, bytes, len, err);
}

enum err_code index_build_write(const struct index_build *build, const char *path, size_t *bytes,
                                struct err *err)
{
    const size_t rows = build->header.rows, plane = rows * build->header.dimensions;
    char header[INDEX_HEADER_BYTES] = {0}, digits[SHA256_HEX_BYTES];
    const struct {
        const void *bytes;
        size_t len;
    } parts[] = {
        {header, sizeof header},
        {build->ends, rows * sizeof *build->ends},
        {build->coarse, rows * sizeof *build->coarse},
        {build->fine, rows * sizeof *build->fine},
        {build->length, rows * sizeof *build->length},
        {build->strings, build->header.string_bytes},
        {build->upper, plane},
        {build->lower, build->lower != NULL ? plane : 0},
    };
    struct sha256_pieces sum;
    struct replacement file;
    if (rows == 0)
        return err_set(err, ERR_UNUSABLE, "%s: no vector, and so no index", path);
    memcpy(header, &build->header, sizeof build->header);
    sha256_pieces_begin(&sum);
    if (replace_open(&file, path, err))
        return err->code;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && err->code == ERR_OK; i++)
        if (parts[i].len > 0)
            write_part(&file, &sum, parts[i].bytes, parts[i].len, err);
    sha256_pieces_end(&sum, digits);
    if (err->code != ERR_OK || replace_write(&file, digits, INDEX_SUM_BYTES, err)) {
        replace_abandon(&file);
        return err->code;
    }
    *bytes = index_lay_out(&build->header).file_bytes;
    return replace_commit(&file, err);
}
