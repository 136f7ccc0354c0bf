/* registry.h - the models that are served: name -> open model, and the default of each kind.
 *
 * registry_open opens every configured model or none. The digests of the weights are computed by a
 * thread of the registry's own, because hashing hundreds of megabytes has no place before
 * readiness, and in spare time only, because the first requests come with it.
 *
 * Threads: immutable after registry_open but for the digests, which are published atomically.
 */
#ifndef ATTND_SERVER_SERVE_REGISTRY_H
#define ATTND_SERVER_SERVE_REGISTRY_H

#include "config/config.h"
#include "engine/engine.h"
#include "server/observe/metrics.h"

#include <stdatomic.h>

struct registry_model {
    const char *name; /* the configuration's */
    unsigned index;   /* in the order of the configuration; the metrics' `model` */
    struct engine_model *engine;
    const struct engine_info *info;
    unsigned batch_tokens; /* of one batch; a longer input is a batch of its own */
    double load_seconds;
    bool is_default; /* the first of its kind */
    char digest_text[72];
    _Atomic(const char *) digest; /* NULL until known, then digest_text; partner: digest_main */
};

struct registry;

/* Opens all models; the error names the model that could not be opened. */
enum err_code registry_open(struct registry **out, const struct config *config,
                            unsigned batch_tokens, struct err *err);
/* Closes the models. Their sessions must be closed before. */
void registry_close(struct registry *registry);

unsigned registry_count(const struct registry *registry);
struct registry_model *registry_at(struct registry *registry, unsigned index);
/* NULL if nobody has the name, or no model is of the kind. */
struct registry_model *registry_find(struct registry *registry, const char *name);
struct registry_model *registry_default(struct registry *registry, enum engine_kind kind);

/* Starts computing the digests; each is told to the metrics (may be NULL) once known. */
enum err_code registry_start_digests(struct registry *registry, struct metrics *metrics,
                                     struct err *err);

/* Joins the digest thread; a model being hashed is given up. Before metrics_close. */
void registry_stop_digests(struct registry *registry);

/* "sha256:<hex>"; NULL until it is known. */
const char *registry_digest(const struct registry_model *model);

#endif
