/* versions.h - the versions of a model as GET /models/{name} and the admin routes tell them.
 * Threads: the owner of the request. */
#ifndef ATTND_SERVER_API_VERSIONS_H
#define ATTND_SERVER_API_VERSIONS_H

#include "server/json/codec_rollout.h"
#include "server/serve/service.h"

/* All of a name in a snapshot that the caller holds: [*count], none if there is no such name; in
 * the arena. ERR_NO_MEMORY. */
enum err_code versions_list(struct service *service, const struct snapshot *snapshot,
                            const char *name, struct arena *arena, struct version_row **out,
                            unsigned *count, struct err *err);

/* The version of a model in a snapshot; NULL: it is not served. */
const struct served_model *versions_find(const struct snapshot *snapshot, const char *name,
                                         const char *version);

/* Labels that a version has got, for what it answered or judged as a shadow. */
uint64_t versions_labels(struct service *service, const char *name, const char *version);

#endif
