/* reloader.h - changes the served models and options at run time: reads the configuration again, or
 * takes a change of a roll-out (server/rollout), opens new models beside those in service, and
 * publishes the next snapshot, or changes nothing and reports why.
 *
 *     reloader_load(reloader, config, &err);        the first snapshot, before readiness
 *     reloader_start(reloader, &err);               its thread
 *     reloader_signal(reloader);                    SIGHUP: the log says how it went
 *     reloader_submit(reloader, &order, &err);      a request that waits suspended
 *     reloader_change(reloader, &call);             a change by a thread that can wait
 *
 * With a reload a model is reopened if its entry changed, or if any file of its directory did. The
 * rest is shared with the snapshot before. Options that need a restart are reported and not
 * changed. A roll-out's change opens the version that it names, and leaves all others as they are.
 *
 * Threads: load, start and stop belong to the main thread; signal, submit and change may be called
 * from any.
 */
#ifndef ATTND_SERVER_SERVE_RELOADER_H
#define ATTND_SERVER_SERVE_RELOADER_H

#include "server/serve/reload.h"

struct reloader;

enum err_code reloader_open(struct reloader **out, const struct reloader_options *options,
                            struct err *err);
/* Waits for a reload that runs; none begins after it. A request that still waits for one is
 * resumed. */
void reloader_stop(struct reloader *reloader);
void reloader_free(struct reloader *reloader);

/* The models of a configuration as the next snapshot, on the calling thread, at full speed. Their
 * memory, bytes[i] for each, is held already. `read` is the configuration without the roll-out's
 * changes, which `config` has. */
enum err_code reloader_load(struct reloader *reloader, const struct config *config,
                            const struct config *read, const size_t *bytes, struct err *err);

/* From now on signals and submitted requests are served. */
enum err_code reloader_start(struct reloader *reloader, struct err *err);

/* Another reload after the one that runs, if one does. */
void reloader_signal(struct reloader *reloader);

/* A reload or a change that a suspended request waits for. It lives as long as the request. */
struct reloader_order {
    struct request *request;
    const struct rollout_change *change; /* NULL: the configuration is read again */
    struct reload_result result;         /* once it is done; its lists are in the request's arena */
};

/* Carries out the order and resumes its request, with order->result or with request->err.
 * ERR_CONFLICT while another reload runs or waits, ERR_NOT_READY before reloader_start: then the
 * caller still owns both. */
enum err_code reloader_submit(struct reloader *reloader, struct reloader_order *order,
                              struct err *err);

/* No reload runs, and none begins before reloader_release: what is looked at meanwhile stays as it
 * is. False, and nothing to release: one runs or waits, or it was not started. */
bool reloader_hold(struct reloader *reloader);
void reloader_release(struct reloader *reloader);

/* A change that nobody's request asks for. */
struct reloader_call {
    const struct rollout_change *change;
    const char *key;              /* name of the key of who is behind it; NULL: none was needed */
    struct arena *arena;          /* for the lists of the result */
    struct reload_result *result; /* filled, unless it fails */
    struct err *err;
};

/* Waits until other reloads are done, and carries the change out. Returns call->err->code:
 * ERR_NOT_READY before reloader_start, and when the server stops; otherwise as a request is
 * answered. One such call at a time. */
enum err_code reloader_change(struct reloader *reloader, const struct reloader_call *call);

#endif
