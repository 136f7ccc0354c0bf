/* snapshots.h - what is served now: a configuration and the models that it names, changed as a
 * whole.
 *
 *     const struct snapshot *snapshot = snapshots_acquire(snapshots);     for the life of a request
 *     snapshot->config.inputs_max, snapshot_find(snapshot, "wafer-vit") ...
 *     snapshots_release(snapshots, snapshot);
 *
 *     snapshots_publish(snapshots, next);       from now on new requests get this one
 *
 * A request sees one snapshot from its head to its reply. Models that two snapshots have in common
 * are shared. What nobody holds any more is closed by a thread of its own, since that takes time.
 *
 * Threads: snapshots are immutable once published; everything here may be called from any thread.
 */
#ifndef ATTND_SERVER_SERVE_SNAPSHOTS_H
#define ATTND_SERVER_SERVE_SNAPSHOTS_H

#include "config/config.h"
#include "server/serve/served_model.h"

struct snapshot {
    unsigned generation; /* from 1 */
    struct config config;
    struct served_model **models; /* [model_count] in the order of the configuration */
    unsigned model_count;
    atomic_uint users;
    struct snapshot *next; /* of those to be closed */
};

/* Takes the configuration over, which is *config no longer; room for as many models as it names,
 * and none yet. Held once. ERR_NO_MEMORY, and the configuration stays the caller's. */
enum err_code snapshot_create(struct snapshot **out, unsigned generation, struct config *config,
                              struct err *err);
/* Adds a model, whose one hold becomes the snapshot's. Before it is published. */
void snapshot_add(struct snapshot *snapshot, struct served_model *model);
/* One that was never published. */
void snapshot_discard(struct snapshot *snapshot);

/* NULL if no model has the name. */
struct served_model *snapshot_find(const struct snapshot *snapshot, const char *name);
/* The first of its kind; NULL: there is none. */
struct served_model *snapshot_default(const struct snapshot *snapshot, enum engine_kind kind);
bool snapshot_is_default(const struct snapshot *snapshot, const struct served_model *model);

struct snapshots;

/* With a first snapshot, whose hold is taken over. */
enum err_code snapshots_open(struct snapshots **out, struct snapshot *first, struct err *err);
/* When nobody holds a snapshot any more. Closes all. */
void snapshots_close(struct snapshots *snapshots);

const struct snapshot *snapshots_acquire(struct snapshots *snapshots);
void snapshots_release(struct snapshots *snapshots, const struct snapshot *snapshot);

/* Takes its hold over. */
void snapshots_publish(struct snapshots *snapshots, struct snapshot *next);

/* Starts hashing the weights of what is served, now and after each publish, in spare time only:
 * served_model_digest, and the metrics. */
enum err_code snapshots_start_digests(struct snapshots *snapshots, struct err *err);
/* Gives up what is being hashed and ends that thread. */
void snapshots_stop_digests(struct snapshots *snapshots);

#endif
