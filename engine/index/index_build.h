/* index_build.h - makes an index of vectors that come one after another, and writes its file.
 *
 *     index_build_open(&build, &info, rows_max, &err);
 *     index_build_add(build, vector, &record, &err);      again and again
 *     index_build_write(build, "cases.index", &err);
 *     index_build_close(build);
 *
 * It holds the whole index in memory: of a million rows of 384 numbers 0.8 GB in int16.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_ENGINE_INDEX_INDEX_BUILD_H
#define ATTND_ENGINE_INDEX_INDEX_BUILD_H

#include "engine/index/index.h"

struct index_build;

/* Room for rows_max rows, which is only used as far as rows come. Of info digest, model, space,
 * similarity, element and dimensions count. ERR_UNUSABLE: too many dimensions or rows;
 * ERR_NO_MEMORY. Yours to close. */
enum err_code index_build_open(struct index_build **out, const struct index_info *info,
                               size_t rows_max, struct err *err);
void index_build_close(struct index_build *build); /* NULL is allowed */

/* Adds a row: vector [dimensions] and what is known of it, which is copied. ERR_UNUSABLE, and
 * nothing is added: a number that is not finite, a string that is too long or no UTF-8 without
 * control characters, or more rows than there is room for; ERR_NO_MEMORY. */
enum err_code index_build_add(struct index_build *build, const float *vector,
                              const struct index_record *record, struct err *err);
size_t index_build_rows(const struct index_build *build);

/* Writes the file, whole or not at all; at least one row. *bytes: its size. ERR_UNUSABLE: there is
 * no row; ERR_IO. The text begins with the path. */
enum err_code index_build_write(const struct index_build *build, const char *path, size_t *bytes,
                                struct err *err);

#endif
