/* reloader.h - changes the served models and options at run time: reads the configuration again,
 * opens new models beside those in service, and publishes the next snapshot, or changes nothing and
 * reports why.
 *
 *     reloader_load(reloader, config, &err);        the first snapshot, before readiness
 *     reloader_start(reloader, &err);               its thread
 *     reloader_signal(reloader);                    SIGHUP: the log says how it went
 *     reloader_submit(reloader, request, &err);     POST /admin/reload: the request waits suspended
 *
 * A model is reopened if its entry changed, or if any file of its directory did. The rest is shared
 * with the snapshot before. Options that need a restart are reported and not changed.
 *
 * Threads: load, start and stop belong to the main thread; signal and submit may be called from
 * any.
 */
#ifndef ATTND_SERVER_SERVE_RELOADER_H
#define ATTND_SERVER_SERVE_RELOADER_H

#include "config/config.h"
#include "config/config_change.h"
#include "server/observe/record.h"
#include "server/serve/batcher.h"
#include "server/serve/snapshots.h"

/* Where the configuration comes from, each time. */
struct reload_source {
    int argc;
    char *const *argv;
    char *const *environment;
};

struct reloader_options {
    struct reload_source source;
    struct snapshots *snapshots; /* with an empty first snapshot */
    struct batcher *batcher;
    struct memory *memory;
    struct metrics *metrics;
    struct tls *tls;                   /* NULL: the server speaks plain HTTP */
    const struct observers *observers; /* of changes; NULL: none */
    struct thread_pool *const *pools; /* [workers] */
    unsigned workers, threads, batch_tokens;
};

/* The result of a reload. Lists are in the arena that was given. */
struct reload_result {
    unsigned generation;
    const char **changed; /* [changed_count] "inputs_max", "models.wafer-vit" */
    unsigned changed_count;
    const char **restart; /* [restart_count] keys that wait for a restart */
    unsigned restart_count;
};

struct reloader;

enum err_code reloader_open(struct reloader **out, const struct reloader_options *options,
                            struct err *err);
/* Waits for a reload that runs; none begins after it. A request that still waits for one is
 * resumed. */
void reloader_stop(struct reloader *reloader);
void reloader_free(struct reloader *reloader);

/* The models of a configuration as the next snapshot, on the calling thread, at full speed. Their
 * memory, bytes[i] for each, is held already. */
enum err_code reloader_load(struct reloader *reloader, const struct config *config,
                            const size_t *bytes, struct err *err);

/* From now on signals and submitted requests are served. */
enum err_code reloader_start(struct reloader *reloader, struct err *err);

/* Another reload after the one that runs, if one does. */
void reloader_signal(struct reloader *reloader);

/* Takes a suspended request, which is resumed with request->reload set or with an error.
 * ERR_CONFLICT while another reload runs or waits, ERR_NOT_READY before reloader_start: then the
 * caller still owns it. */
enum err_code reloader_submit(struct reloader *reloader, struct request *request, struct err *err);

#endif
