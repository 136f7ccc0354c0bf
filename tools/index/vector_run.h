/* vector_run.h - the vectors of a data set's inputs, one after another, by a model and all threads.
 *
 *     struct vector_run run = {.model = model, .take = keep, .context = build};
 *     vector_run_all(&run, &dataset, threads, &err);
 *
 * Memory is that of a chunk of inputs, whatever the data set. Threads: the call uses threads of its
 * own; `take` is called on the caller's.
 */
#ifndef ATTND_TOOLS_INDEX_VECTOR_RUN_H
#define ATTND_TOOLS_INDEX_VECTOR_RUN_H

#include "engine/engine.h"
#include "learn/data/dataset.h"

struct vector_run {
    const struct engine_model *model;
    const char *prompt_name; /* of an embedding's prompts; NULL: the default one */
    /* Takes the vector of an item, [engine_compared_size], in the data set's order; NULL: the item
     * cannot be used, and `cause` says why. Its numbers need not be finite. An error ends the
     * run. */
    enum err_code (*take)(void *context, size_t item, const float *vector, const struct err *cause,
                          struct err *err);
    void *context;
    size_t *truncated; /* counts the texts of which not all was read */
};

/* ERR_NO_MEMORY and ERR_IO while an item is read are not the item's fault, and end the run. */
enum err_code vector_run_all(const struct vector_run *run, const struct dataset *dataset,
                             unsigned threads, struct err *err);

#endif
