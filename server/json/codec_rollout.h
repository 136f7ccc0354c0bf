/* codec_rollout.h - bodies of the routes that change which versions of a model are served, and what
 * they and GET /models/{name} tell of the versions.
 *
 *     struct rollout_call call = {.change.action = ROLLOUT_LOAD};
 *     codec_rollout_parse(&call, body, len, arena, &err);
 *     codec_rollout_encode(&told, arena, &len);
 *
 * Threads: no state; the arena is the caller's.
 */
#ifndef ATTND_SERVER_JSON_CODEC_ROLLOUT_H
#define ATTND_SERVER_JSON_CODEC_ROLLOUT_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "server/feedback/feedback.h"
#include "server/rollout/rollout.h"

#include <stddef.h>

struct json_t; /* jansson's */

struct rollout_call {
    struct rollout_change change;
    bool force; /* of a promotion: also with too few labels */
};

/* A body for call->change.action; an empty one has no members. ERR_MALFORMED, ERR_UNUSABLE with the
 * place, ERR_NO_MEMORY. */
enum err_code codec_rollout_parse(struct rollout_call *call, const char *body, size_t len,
                                  struct arena *arena, struct err *err);

enum { CODEC_ROLLOUT_BODY_BYTES_MAX = 16 * 1024, CODEC_ROLLOUT_BYTES = 512 * 1024 };

/* A version in service. */
struct version_row {
    const char *version, *digest; /* digest NULL: not yet known */
    const char *role;
    double share, shadow;
    uint64_t predictions;           /* inputs that it answered since it was opened */
    uint64_t agrees, disagrees;     /* of the copies that it judged as a shadow */
    uint64_t skipped, failed;       /* of those that it did not */
    uint64_t waiting;               /* of those that it is still to judge */
    struct feedback_share accuracy; /* of the inputs that it answered or judged, with a label */
    struct feedback_paired paired;
};

/* [{"version", "digest", "role", "share", "shadow", "predictions", "agreement", "accuracy",
 * "compared"}]: the last three null where there is nothing to tell. A new reference; NULL without
 * memory. */
struct json_t *codec_rollout_versions(const struct version_row *rows, unsigned count);

struct rollout_told {
    unsigned generation;
    const char *name, *version; /* what was changed */
    const struct version_row *rows;
    unsigned row_count;
};

/* {"generation", "name", "version", "versions"}; NULL if there is no memory. */
const char *codec_rollout_encode(const struct rollout_told *told, struct arena *arena, size_t *len);

#endif
