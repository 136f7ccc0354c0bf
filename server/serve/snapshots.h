/* snapshots.h - the configuration and its models in service, replaced as a whole.
 *
 *     const struct snapshot *snapshot = snapshots_acquire(snapshots);     for the life of a request
 *     snapshot->config.inputs_max, snapshot_find(snapshot, "wafer-vit") ...
 *     snapshots_release(snapshots, snapshot);
 *
 *     snapshots_publish(snapshots, next);       from now on new requests get this one
 *
 * A request uses one snapshot from its head to its reply. Models that two snapshots have in common
 * are shared. A snapshot without holders is closed by a separate thread, since that takes time.
 *
 * Threads: snapshots are immutable once published; everything here may be called from any thread.
 */
#ifndef ATTND_SERVER_SERVE_SNAPSHOTS_H
#define ATTND_SERVER_SERVE_SNAPSHOTS_H

#include "config/config.h"
#include "server/auth/keys.h"
#include "server/serve/served_index.h"
#include "server/serve/served_model.h"

struct snapshot {
    unsigned generation; /* from 1 */
    struct config config;
    struct keys *keys;             /* those of config.keys_file; NULL: none are needed */
    struct served_model **models;  /* [model_count] in the order of the configuration */
    struct served_index **indexes; /* [model_count] of the models; NULL: it has none */
    unsigned model_count;
    atomic_uint users;
    struct snapshot *next; /* of those to be closed */
};

/* Takes ownership of *config; room for as many models as it names, and none yet. Held once.
 * ERR_NO_MEMORY, and the configuration stays the caller's. */
enum err_code snapshot_create(struct snapshot **out, unsigned generation, struct config *config,
                              struct err *err);
/* Adds a model and takes ownership of the caller's hold. Before it is published. */
void snapshot_add(struct snapshot *snapshot, struct served_model *model);
/* Gives the last model its index, and takes ownership of the caller's hold. */
void snapshot_add_index(struct snapshot *snapshot, struct served_index *index);
/* Reads the keys of its configuration; those that `before` (NULL: none) has too go on counting.
 * ERR_UNUSABLE, ERR_NO_MEMORY. Before it is published. */
enum err_code snapshot_read_keys(struct snapshot *snapshot, const struct snapshot *before,
                                 struct err *err);
/* Frees a snapshot that was never published. */
void snapshot_discard(struct snapshot *snapshot);

/* The primary of a name; NULL if no model has it. */
struct served_model *snapshot_find(const struct snapshot *snapshot, const char *name);
/* The first model of a kind; NULL: there is none. */
struct served_model *snapshot_default(const struct snapshot *snapshot, enum engine_kind kind);
/* The model's index; NULL: it has none. *is_public: who may predict may search it. */
struct served_index *snapshot_index(const struct snapshot *snapshot,
                                    const struct served_model *model, bool *is_public);
bool snapshot_is_default(const struct snapshot *snapshot, const struct served_model *model);

struct snapshots;

/* Takes ownership of the hold of the first snapshot. */
enum err_code snapshots_open(struct snapshots **out, struct snapshot *first, struct err *err);
/* Closes all; no snapshot may be held any more. */
void snapshots_close(struct snapshots *snapshots);

const struct snapshot *snapshots_acquire(struct snapshots *snapshots);
void snapshots_release(struct snapshots *snapshots, const struct snapshot *snapshot);

/* Takes ownership of its hold. */
void snapshots_publish(struct snapshots *snapshots, struct snapshot *next);

/* Starts hashing the weights of the models in service, now and after each publish, at idle
 * priority: served_model_digest, and the metrics. */
enum err_code snapshots_start_digests(struct snapshots *snapshots, struct err *err);
/* Cancels the hashing and ends that thread. */
void snapshots_stop_digests(struct snapshots *snapshots);

#endif
