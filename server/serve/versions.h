/* versions.h - the versions of a model that a snapshot serves side by side: which one answers a
 * request, which ones get a copy of it.
 *
 *     struct served_model *primary = snapshot_find(snapshot, "wafer-vit");
 *     row->model = versions_choose(snapshot, primary, "lot-4711");
 *     for (unsigned at = 0; (model = versions_next_shadow(snapshot, row->model, key, &at)); )
 *         ...
 *
 * The choice is by a hash of the key (server/rollout/share.h), so that a lot is judged by one
 * version. Threads: pure; the snapshot is held by the caller.
 */
#ifndef ATTND_SERVER_SERVE_VERSIONS_H
#define ATTND_SERVER_SERVE_VERSIONS_H

#include "server/serve/snapshots.h"

enum version_role { VERSION_PRIMARY, VERSION_SPLIT, VERSION_SHADOW, VERSION_RETIRING };

/* "primary", ... */
const char *version_role_name(enum version_role role);

/* Role of the index-th model of the snapshot among those of its name. A version that answers no
 * requests is a split with a share of 0, or retiring if it is only kept for a rollback. */
enum version_role versions_role(const struct snapshot *snapshot, unsigned index);

/* The fraction of the requests to its name that the model answers. */
double versions_share(const struct snapshot *snapshot, unsigned index);

/* The version that answers, among those with the primary's name. */
struct served_model *versions_choose(const struct snapshot *snapshot, struct served_model *primary,
                                     const char *key);

/* The next version, from *at on, that is to get a copy of what `answered` has answered; *at is then
 * behind it. NULL: no more. */
struct served_model *versions_next_shadow(const struct snapshot *snapshot,
                                          const struct served_model *answered, const char *key,
                                          unsigned *at);

#endif
