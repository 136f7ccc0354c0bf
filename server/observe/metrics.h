/* metrics.h - counters and histograms in Prometheus' text format 0.0.4; one row per metric in
 * metrics.def.
 *
 *     metrics_request_begin(metrics);
 *     ...
 *     metrics_request_end(metrics, route, model, 200, seconds);
 *     body = metrics_expose(metrics, &exchange->arena, &len);
 *
 * Counting adds to a shard that belongs to the calling thread's core, with relaxed atomics; a
 * scrape sums the shards. A histogram's +Inf bucket and _count come from the same words, so they
 * are equal under load. Label values are known when metrics_open or metrics_add_model is called
 * (routes, models, labels, codes), so series exist at zero before traffic and are bounded. A model
 * is counted under its slot; a reload adds the new ones and removes the old.
 *
 * Threads: everything here may be called from any thread after metrics_open; a slot is counted
 * under between its metrics_add_model and its metrics_remove_model.
 */
#ifndef ATTND_SERVER_OBSERVE_METRICS_H
#define ATTND_SERVER_OBSERVE_METRICS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metrics_stage {
    STAGE_PARSE,
    STAGE_PREPARE,
    STAGE_QUEUE,
    STAGE_INFERENCE,
    STAGE_EXPLAIN,
    STAGE_ENCODE,
    STAGE_COUNT
};

struct metrics_model {
    const char *name;
    const struct engine_info *info;
    double load_seconds;
    unsigned generation; /* of the reload that opened it */
};

/* The audit log's counters (server/audit). */
struct metrics_audit {
    uint64_t written, lost, refused; /* lines */
    uint64_t seq, head;              /* of the newest line */
    double lag_s;
};

/* Requests refused for their key (server/auth), in the order of their reasons in the exposition:
 * missing, unknown, expired, scope, rate, concurrency. */
enum { METRICS_AUTH_REASONS = 6 };
struct metrics_auth {
    uint64_t failures[METRICS_AUTH_REASONS];
    double certificate_expiry_s; /* Unix time; 0: there is no certificate */
};

/* Spans of requests, by what became of them (server/otlp). */
struct metrics_otlp {
    uint64_t sent, dropped, failed;
};

/* A scrape's callbacks for the labels that people gave (server/feedback), one call for each series.
 * A function may be NULL. */
struct metrics_feedback {
    void (*label)(void *scrape, const char *model, const char *version, const char *label,
                  const char *predicted, uint64_t count);
    void (*accuracy)(void *scrape, const char *model, const char *version, double ratio);
    void (*weighted)(void *scrape, const char *model, const char *version, double ratio);
    void *scrape;
};

/* A version in service, and what became of the copies that it got as a shadow: how often it agreed,
 * disagreed, was skipped, failed. */
enum { METRICS_SHADOW_RESULTS = 4 };
struct metrics_version {
    const char *model, *version, *role;
    double share; /* of the model's requests, that it answers */
    uint64_t shadowed[METRICS_SHADOW_RESULTS];
};

/* Which models drift (server/observe/drift.h): a call for each series. */
struct metrics_drift {
    void (*value)(void *scrape, const char *model, const char *kind, double psi);
    void *scrape;
};

/* Inputs that are kept for a review (server/review). */
struct metrics_kept {
    uint64_t kept, dropped;
    uint64_t bytes; /* at present */
};

/* New versions made from labels (server/fits), by what became of them. */
struct metrics_fits {
    uint64_t succeeded, refused, failed, cancelled;
    bool running;
    unsigned waiting;
};

/* Functions that a scrape asks for current values. A function that is NULL stands for no series, or
 * for 0. */
struct metrics_sources {
    size_t (*memory_reserved)(void *context);
    uint64_t (*queue_depth)(void *context, unsigned slot);
    bool (*is_ready)(void *context);
    void (*audit)(void *context, struct metrics_audit *out);
    void (*otlp)(void *context, struct metrics_otlp *out);
    void (*auth)(void *context, struct metrics_auth *out);
    void (*kept)(void *context, struct metrics_kept *out);
    void (*fits)(void *context, struct metrics_fits *out);
    void (*feedback)(void *context, const struct metrics_feedback *sink);
    size_t (*feedback_series)(void *context); /* how many there are */
    void (*versions)(void *context, void (*tell)(void *scrape, const struct metrics_version *),
                     void *scrape); /* each that is served */
    void (*drift)(void *context, const struct metrics_drift *sink);
    void *context;
};

struct metrics_setup {
    const char *const *routes;     /* label values of `route`; "other" is added for unknown paths */
    const bool *route_takes_model; /* [route_count]; NULL: all may. Others have no series at zero
                                    * for each model, which keeps the scrape small. */
    unsigned route_count;
    unsigned queue_limit;
    size_t memory_max_bytes, memory_fixed_bytes;
    struct metrics_sources sources;
    const char *linear_backend, *blas_core; /* build_info's labels, with the version */
};

enum { METRICS_NO_MODEL = -1, METRICS_OTHER_ROUTE = -1 };
/* A label that a client chose, of a zero-shot model: counted as "other". */
enum { METRICS_OTHER_LABEL = 0x7FFFFFFF };

struct metrics;

/* Models that can have a slot at once: those of two generations, and some that are retiring. */
enum { METRICS_SLOTS = 256 };

/* Upper bound of what metrics of so many routes, models and labels (of all models) hold. */
size_t metrics_bytes(size_t routes, size_t models, size_t labels);

/* Everything in setup is copied. Yours to close. */
enum err_code metrics_open(struct metrics **out, const struct metrics_setup *setup,
                           struct err *err);
void metrics_close(struct metrics *metrics);

/* A slot for a model, whose strings are copied. One of the same name and labels that has a slot
 * keeps it, with its counts, for both. The model is not exposed, and no series appear, before
 * metrics_serve_model, which cannot fail: then a scrape has for each name the latest model that is
 * or was served. ERR_NO_MEMORY; ERR_UNUSABLE if no slot is left. */
enum err_code metrics_add_model(struct metrics *metrics, const struct metrics_model *model,
                                unsigned *slot, struct err *err);
void metrics_serve_model(struct metrics *metrics, unsigned slot, unsigned generation);
/* Once for each metrics_add_model. The description of another generation in the slot is exposed
 * again; with the last one the series are removed. */
void metrics_remove_model(struct metrics *metrics, unsigned slot, unsigned generation);

/* Arguments out of range are not counted, or counted as "other" and "". Times are in seconds. */
void metrics_request_begin(struct metrics *metrics); /* requests_in_flight */
void metrics_request_end(struct metrics *metrics, int route, int model, unsigned status,
                         double seconds);
void metrics_stage(struct metrics *metrics, unsigned model, enum metrics_stage stage,
                   double seconds);
void metrics_prediction(struct metrics *metrics, unsigned model, unsigned label,
                        enum decision decision, double score);
void metrics_truncated(struct metrics *metrics, unsigned model);
void metrics_ood_score(struct metrics *metrics, unsigned model, double score);
void metrics_batch(struct metrics *metrics, unsigned model, unsigned rows, unsigned tokens);
void metrics_rejected(struct metrics *metrics, enum err_code reason);
void metrics_client_gone(struct metrics *metrics);
/* model_info's digest, once known. */
void metrics_set_digest(struct metrics *metrics, unsigned slot, unsigned generation,
                        const char *digest);
/* build_info's labels, once the models are open. */
void metrics_set_backend(struct metrics *metrics, const char *linear_backend,
                         const char *blas_core);
/* The configuration was reloaded, or could not be. */
void metrics_reload(struct metrics *metrics, bool has_succeeded);

/* Upper bound of what metrics_expose takes from the arena. */
size_t metrics_expose_bytes(struct metrics *metrics);

/* The whole exposition, NUL-terminated, in the arena; NULL if there is no memory. */
const char *metrics_expose(struct metrics *metrics, struct arena *arena, size_t *len);

#endif
