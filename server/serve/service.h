/* service.h - the objects that request handling uses: models, queue, pool, budget, counters.
 *
 * Threads: set up before the first request comes; after that only its atomics change.
 */
#ifndef ATTND_SERVER_SERVE_SERVICE_H
#define ATTND_SERVER_SERVE_SERVICE_H

#include "config/config.h"
#include "server/audit/audit_service.h"
#include "server/auth/auth.h"
#include "server/bounds/memory.h"
#include "server/observe/metrics.h"
#include "server/observe/record.h"
#include "server/serve/batcher.h"
#include "server/serve/prepare.h"
#include "server/serve/reloader.h"
#include "server/serve/request.h"
#include "server/serve/shadow.h"
#include "server/serve/snapshots.h"

#include <stdatomic.h>

struct drift;
struct label_shares;
struct feedback;
struct fits;
struct otlp_exporter;
struct repeats;
struct review;
struct store;

/* Changes only forward. */
enum service_phase {
    SERVICE_STARTING, /* models are not warm: /predict is 503 */
    SERVICE_READY,
    SERVICE_DRAINING, /* /readyz is 503, all else as usual */
    SERVICE_STOPPING, /* out of time: waiting requests fail with 503 */
};

/* Owned by server.c; all others borrow it. */
struct service {
    const struct config *config; /* as at the start: for what only a restart changes */
    struct snapshots *snapshots;
    struct reloader *reloader;
    struct batcher *batcher;
    struct metrics *metrics;
    struct audit *audit; /* NULL: none is kept */
    struct audit_scrape audit_scrape;
    struct tls *tls;                   /* NULL: plain HTTP */
    struct shadow *shadow;             /* copies for shadow versions */
    struct feedback *feedback;         /* labels that people give; NULL: none are taken */
    struct drift *drift;               /* how far predictions are from a model's reference */
    struct label_shares *label_shares; /* how often each label occurs */
    struct otlp_exporter *otlp;        /* of spans; NULL: none are sent */
    struct review *review;             /* inputs that are kept; NULL: none are */
    struct fits *fits;                 /* new versions from labels; NULL: none are made */
    struct store *answers;             /* of inputs (answered.h); NULL: none are kept */
    struct repeats *repeats;           /* of requests with a key; NULL: none are kept */
    struct observers observers;
    struct memory memory;
    /* NULL while starting, and while stopping if the start failed; partner: server_run */
    _Atomic(struct prepare *) prepare;
    struct request_ids ids;
    bool has_admin_address; /* admin routes are there only */
    struct auth auth;
    atomic_size_t capture_bytes; /* kept for explanations (explain.h) */
    atomic_int phase;            /* enum service_phase; partner: server_run */
};

#endif
