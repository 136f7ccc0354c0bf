/* label_sets.h - the labels that requests to a zero-shot model bring with them, encoded: a cache of
 * one generation of a model.
 *
 *     struct label_set *set = label_sets_find(sets, &labels);         NULL: not there, or not ready
 *
 *     label_sets_begin(&set, sets, &labels, &err);                    on the labeller's thread
 *     do
 *         label_set_step(set, &left, &err);
 *     while (err.code == ERR_OK && left > 0);
 *
 *     label_set_engine(set)                  the model with these labels: engine_open_labelled
 *     label_set_release(set);
 *
 * A set is found by a hash of its labels and hypothesis and by comparing them. Sets that requests
 * encode at the same time are one. The cache holds so many bytes; the set that was longest unused
 * leaves first, and lives until its last holder releases it. Holders release their sets before the
 * model that they are of.
 *
 * Threads: internally locked; begin and step belong to one thread, the labeller's.
 */
#ifndef ATTND_SERVER_SERVE_LABEL_SETS_H
#define ATTND_SERVER_SERVE_LABEL_SETS_H

#include "engine/base/err.h"
#include "engine/engine.h"

struct label_sets;
struct label_set;

enum { LABEL_SETS_BYTES = 16 * 1024 * 1024 };

/* The label sets of a zero-shot model. At most bytes_max are kept. The caller closes it, once no
 * set is held. */
enum err_code label_sets_open(struct label_sets **out, const struct engine_model *engine,
                              size_t bytes_max, struct err *err);
void label_sets_close(struct label_sets *sets); /* NULL is allowed */

/* A set that is ready, held; NULL: there is none. */
struct label_set *label_sets_find(struct label_sets *sets, const struct engine_labels *labels);

/* The set, held, ready or in the making, else a new one. ERR_UNUSABLE, ERR_NO_MEMORY. */
enum err_code label_sets_begin(struct label_set **out, struct label_sets *sets,
                               const struct engine_labels *labels, struct err *err);

/* Encodes some more of the labels; *left: how many are not yet; 0: the set is ready. A set that
 * cannot be encoded leaves the cache. */
enum err_code label_set_step(struct label_set *set, unsigned *left, struct err *err);

void label_set_acquire(struct label_set *set); /* for a caller that holds it already */
const struct engine_model *label_set_engine(const struct label_set *set);
void label_set_release(struct label_set *set); /* NULL is allowed */

#endif
