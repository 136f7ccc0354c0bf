/* served_index.h - the index of past cases that a model's entry of the configuration names, in
 * memory for as long as a snapshot has it.
 *
 *     served_index_open(&index, "maps.index", model, &memory, &err);
 *     served_index_acquire(index); ...
 *     served_index_release(index);                    the last release closes it
 *
 * Threads: immutable after open.
 */
#ifndef ATTND_SERVER_SERVE_SERVED_INDEX_H
#define ATTND_SERVER_SERVE_SERVED_INDEX_H

#include "engine/index/index.h"
#include "server/bounds/memory.h"
#include "server/serve/served_model.h"

struct served_index {
    const char *path; /* as configured */
    uint64_t stamp;   /* of the file when it was read */
    struct index *index;
    const struct index_info *info;
    struct memory *memory; /* info->bytes are held of it */
    atomic_uint users;
    struct arena arena;
};

/* Held once. Hashes the model's weights, if that was not done. The text of an error begins with
 * the path. ERR_UNUSABLE: the index is of another model; ERR_UNSUPPORTED, ERR_IO; ERR_TOO_LARGE:
 * the process's memory does not suffice; ERR_NO_MEMORY. */
enum err_code served_index_open(struct served_index **out, const char *path,
                                const struct served_model *model, struct memory *memory,
                                struct err *err);
/* ERR_UNUSABLE unless the index is the model's. */
enum err_code served_index_check(const struct served_index *index, const struct served_model *model,
                                 struct err *err);

/* For a caller that holds it already. NULL is allowed. */
void served_index_acquire(struct served_index *index);
void served_index_release(struct served_index *index);

#endif
