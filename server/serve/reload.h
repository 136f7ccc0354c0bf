/* reload.h - one change of what is served: the next snapshot is made beside the one in service and
 * published, or nothing is changed. The reloader (reloader.h) has a thread for it.
 *
 *     struct reload reload = {.options = &options, .arena = arena, .result = &result,
 *                             .in_spare_time = true};
 *     reload_carry_out(&reload, &config, rollout, &err);
 *
 * All that can fail is done before the one step that cannot. Threads: one at a time.
 */
#ifndef ATTND_SERVER_SERVE_RELOAD_H
#define ATTND_SERVER_SERVE_RELOAD_H

#include "config/config.h"
#include "config/config_change.h"
#include "server/observe/record.h"
#include "server/serve/batcher.h"
#include "server/serve/snapshots.h"

struct tls;
struct tls_certificate;

/* Source of the configuration at the start and at each reload. */
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
    struct thread_pool *const *pools;  /* [workers] */
    const struct placement *placement; /* borrowed; NULL: nothing is bound */
    struct plan plan;
};

/* The result of a reload. Lists are in the arena that was given. */
struct reload_result {
    unsigned generation;
    const char **changed; /* [changed_count] "inputs_max", "models.wafer-vit" */
    unsigned changed_count;
    const char **restart; /* [restart_count] keys that wait for a restart */
    unsigned restart_count;
    const char *model, *version; /* of a roll-out's change */
};

struct reload {
    const struct reloader_options *options;
    const struct snapshot *old;
    struct snapshot *next;
    struct tls_certificate *certificate; /* NULL: none was read */
    struct arena *arena;
    struct reload_result *result;
    bool in_spare_time;
    bool keeps_models;  /* those in service stay as they are, also if their files have changed */
    const size_t *held; /* [models] bytes that are held already; NULL: none are */
};

/* Takes ownership of *config, whose models are those to serve. `commit` (NULL: nothing) is called
 * when all that can fail is done; if it fails, nothing is changed. result->generation is set. */
enum err_code reload_carry_out(struct reload *reload, struct config *config,
                               enum err_code (*commit)(void *context, const struct snapshot *next,
                                                       struct err *err),
                               void *context, struct err *err);

#endif
