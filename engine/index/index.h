/* index.h - vectors of past inputs with their labels, in one file, and the search for those that
 * are nearest to a new one. It is exact over the stored numbers: every row is compared.
 *
 *     index_open(&index, "cases.index", &err);
 *     index_check(index, digest, INDEX_EMBEDDING, info->vector_size, &err);   the model's vectors?
 *     index_search(index, vector, 5, pool, interrupt, &arena, &found, &err);
 *     for (unsigned i = 0; i < found.count; i++)
 *         index_record(index, found.hits[i].row).label, found.hits[i].score ...
 *     index_close(index);
 *
 * A row r becomes whole numbers v, the largest of which is 127 (int8) or 32512 (int16), and a scale
 * |r| / |v|: what is stored keeps the row's length, and errs only in its direction. An int16 has
 * two bytes in two planes. A search reads the upper bytes of all rows, and both of the best
 * INDEX_RESCORED k. index_file.h has the format, index_build.h writes it.
 *
 * A file is read into memory and not mapped: a mapped one that somebody cuts ends the process with
 * SIGBUS, and huge pages are read faster.
 *
 * Threads: an index is immutable; any number may search.
 */
#ifndef ATTND_ENGINE_INDEX_INDEX_H
#define ATTND_ENGINE_INDEX_INDEX_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Similarities of sentence-transformers: of the two distances the negative one. */
enum index_similarity {
    INDEX_COSINE,
    INDEX_DOT,
    INDEX_EUCLIDEAN,
    INDEX_MANHATTAN,
    INDEX_SIMILARITIES
};
enum index_element { INDEX_INT8, INDEX_INT16, INDEX_ELEMENTS };
/* The numbers of an input that are compared: an embedding model's answer, or what a classifier
 * reads (engine.h: features, the first classifier_size). */
enum index_space { INDEX_EMBEDDING, INDEX_FEATURES, INDEX_SPACES };

/* Words of the enums: "cosine", "int8", "embedding". */
extern const char *const index_similarity_names[INDEX_SIMILARITIES];
extern const char *const index_element_names[INDEX_ELEMENTS];
extern const char *const index_space_names[INDEX_SPACES];

enum {
    INDEX_DIMENSIONS_MAX = 16384,
    INDEX_ROWS_MAX = 64 * 1024 * 1024,
    INDEX_NEIGHBOURS_MAX = 100, /* of one search */
    INDEX_RESCORED = 4,         /* times as many rows are compared again in 16 bits */
    INDEX_DIGEST_BYTES = 72,    /* "sha256:<64 digits>" and a NUL */
    INDEX_MODEL_BYTES = 64,     /* name of a model, and a NUL */
    INDEX_ID_BYTES = 128,       /* the longest strings of a record, without the NUL */
    INDEX_LABEL_BYTES = 256,
    INDEX_SOURCE_BYTES = 1024
};

struct index_info {
    char digest[INDEX_DIGEST_BYTES]; /* of the model that made the vectors */
    char model[INDEX_MODEL_BYTES];   /* how it was called; for a person */
    enum index_space space;
    enum index_similarity similarity;
    enum index_element element;
    unsigned dimensions;
    size_t rows;
    size_t bytes;        /* of the file, and of memory */
    size_t record_bytes; /* the longest strings of a row together; of an open index */
};

/* A past input. The strings are UTF-8 without control characters; label and source may be empty. */
struct index_record {
    const char *id, *label;
    const char *source; /* file, or file and line */
};

struct index;
struct thread_pool; /* base/thread_pool.h */
struct interrupt;   /* base/interrupt.h */

/* Reads a file. ERR_UNSUPPORTED: it is no index, one of a newer version, or damaged, and the text
 * says where; ERR_IO; ERR_NO_MEMORY. The text begins with the path. Yours to close. */
enum err_code index_open(struct index **out, const char *path, struct err *err);
void index_close(struct index *index); /* NULL is allowed */

/* Describes a file by its header alone; the errors of opening it that follow from this. */
enum err_code index_measure(struct index_info *out, const char *path, struct err *err);

const struct index_info *index_describe(const struct index *index);
/* row < rows. The strings are the index's. */
struct index_record index_record(const struct index *index, size_t row);

/* ERR_UNUSABLE, which says what differs, unless the vectors are those of a model with this digest,
 * in this space, of `dimensions` numbers or (of an embedding) their first ones. */
enum err_code index_check(const struct index_info *info, const char *digest, enum index_space space,
                          unsigned dimensions, struct err *err);

struct index_hit {
    size_t row;
    float score;
};

struct index_found {
    struct index_hit *hits; /* [count] best first; of equal scores the first row */
    unsigned count;
};

/* Bytes of the arena that a search takes, at most. threads: of the pool; 1 without one. */
size_t index_search_bytes(const struct index *index, unsigned k, unsigned threads);

/* Finds the k rows that are nearest to a query, [dimensions] finite numbers; fewer if the index has
 * fewer rows. k: 1 to INDEX_NEIGHBOURS_MAX. Hits are the arena's. The pool (NULL: this thread
 * alone) shares out the rows; the answer does not depend on it. ERR_NO_MEMORY; what the interrupt
 * (NULL: none) returns. Cost: one read of all rows, bound by memory. */
enum err_code index_search(const struct index *index, const float *query, unsigned k,
                           struct thread_pool *pool, struct interrupt *interrupt,
                           struct arena *arena, struct index_found *out, struct err *err);

#endif
