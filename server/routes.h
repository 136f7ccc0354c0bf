/* routes.h - one static table of what the server answers, and the application behind http.h.
 *
 * A handler is a row: `head` may refuse from the headers alone, `begin` answers or suspends once
 * the body is whole, `finish` fills the reply after a suspension. Every exchange, also one that
 * http.c refuses, passes through here, so that each is counted and logged once.
 *
 * Threads: the table is constant. struct service is set up before http_start; after that only its
 * atomics change.
 */
#ifndef ATTND_SERVER_ROUTES_H
#define ATTND_SERVER_ROUTES_H

#include "config/config.h"
#include "server/batcher.h"
#include "server/memory.h"
#include "server/metrics.h"
#include "server/prepare.h"
#include "server/registry.h"
#include "server/request.h"

/* Only ever forward. */
enum service_phase {
    SERVICE_STARTING, /* models are not warm: /predict is 503 */
    SERVICE_READY,
    SERVICE_DRAINING, /* /readyz is 503, all else as usual */
    SERVICE_STOPPING, /* out of time: what still waits is failed with 503 */
};

/* What handlers may use; borrowed from server.c, which owns it. */
struct service {
    const struct config *config;
    struct registry *registry;
    struct batcher *batcher;
    struct metrics *metrics;
    struct memory memory;
    /* NULL while starting, and while stopping if the start failed; partner: server_run */
    _Atomic(struct prepare *) prepare;
    struct request_ids ids;
    atomic_size_t capture_bytes; /* kept for explanations (explain.h) */
    atomic_int phase;            /* enum service_phase; partner: server_run */
};

struct route {
    const char *path;        /* ends in "/", but is not "/": stands for one more path element */
    enum http_method method; /* HTTP_GET also answers HEAD */
    const char *label;       /* of the metrics */
    /* NULL: no refusal from headers. Else request->err tells. */
    enum err_code (*head)(struct service *service, struct request *request);
    enum http_next (*begin)(struct service *service, struct request *request);
    void (*finish)(struct service *service, struct request *request); /* NULL: never suspends */
    bool has_body;
};

/* The route of a path; ERR_NOT_FOUND, or ERR_METHOD with *allow, the value of the Allow header. */
enum err_code routes_find(const struct route **out, const char **allow, const char *path,
                          enum http_method method, struct err *err);

/* The table's labels, in order: the metrics' route indexes. */
unsigned routes_count(void);
const char *routes_label(unsigned index);
bool routes_takes_model(unsigned index); /* whether its requests are counted under a model */

/* The functions for http_start. */
struct http_app routes_app(struct service *service);

/* The handlers, a file each. */
enum err_code route_predict_head(struct service *service, struct request *request);
enum http_next route_predict_begin(struct service *service, struct request *request);
void route_predict_finish(struct service *service, struct request *request);
/* On a thread of the prepare pool: a heavy request's reading or preparation, or any request's
 * explanations; `context` is the service. True: all of it was done. */
bool route_predict_pool(void *context, struct request *request);

enum http_next route_models_list(struct service *service, struct request *request);
enum http_next route_models_one(struct service *service, struct request *request);

enum http_next route_page_file(struct service *service, struct request *request);

enum http_next route_status_alive(struct service *service, struct request *request);
enum http_next route_status_ready(struct service *service, struct request *request);
enum http_next route_status_metrics(struct service *service, struct request *request);
enum err_code route_status_reload(struct service *service, struct request *request);

#endif
