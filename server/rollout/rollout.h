/* rollout.h - the versions of a model that are in service, and their shares, after changes at run
 * time. The changes override the configuration's list of models.
 *
 *     rollout_read(&rollout, "/var/lib/attnd", &err);          what was changed before a restart
 *     rollout_apply(rollout, &config, &err);                   config.models: the effective list
 *     ...
 *     struct rollout_change change = {.action = ROLLOUT_PROMOTE, .name = "wafer-vit",
 *                                     .version = "2"};
 *     rollout_edit(&config, &change, versions, &err);          another effective list
 *     rollout_make(&next, file, file_count, &config, &err);
 *     rollout_write(next, "/var/lib/attnd", &err);
 *
 * A roll-out keeps two lists, the configuration's as it was read and the effective one. If a name's
 * entries in the two differ, the effective ones hold, across reloads and restarts. When its entries
 * in the configuration change, those hold, and the change at run time is gone.
 *
 * Threads: no state but the arguments'; a roll-out is immutable once it is made.
 */
#ifndef ATTND_SERVER_ROLLOUT_ROLLOUT_H
#define ATTND_SERVER_ROLLOUT_ROLLOUT_H

#include "config/config.h"
#include "engine/base/err.h"

#include <stdbool.h>

#define ROLLOUT_ACTIONS(X)                                                                         \
    X(ROLLOUT_LOAD, "load")                                                                        \
    X(ROLLOUT_SHARES, "shares")                                                                    \
    X(ROLLOUT_PROMOTE, "promote")                                                                  \
    X(ROLLOUT_ROLLBACK, "rollback")                                                                \
    X(ROLLOUT_UNLOAD, "unload")

enum rollout_action {
#define X(action, name) action,
    ROLLOUT_ACTIONS(X)
#undef X
};

/* "load", ... */
const char *rollout_action_name(enum rollout_action action);

/* A request for a change. Strings are borrowed. */
struct rollout_change {
    enum rollout_action action;
    const char *name;
    const char *version;        /* not for a load, which finds it out, nor for a rollback */
    const char *dir, *dtype;    /* for a load; dtype NULL: f32 */
    bool has_split, has_shadow; /* for a load, and for shares */
    double split, shadow;
    const char *reason; /* for a promotion by force; NULL: none was given */
};

struct rollout {
    struct arena arena; /* holds the lists */
    struct config_model *file, *now;
    unsigned file_count, now_count;
};

/* The lists are copied. Yours to close. ERR_NO_MEMORY. */
enum err_code rollout_make(struct rollout **out, const struct config_model *file,
                           unsigned file_count, const struct config_model *now, unsigned now_count,
                           struct err *err);
void rollout_close(struct rollout *rollout); /* NULL is allowed */

/* True if both have the same lists. */
bool rollout_is_same(const struct rollout *a, const struct rollout *b);

/* True if the name's entries in the two lists differ. */
bool rollout_is_changed(const struct rollout *rollout, const char *name);

/* Replaces the entries of each changed name, if the configuration's entries for it are as they were
 * when it was changed. The other changed names are returned in dropped[0..*dropped_count), which
 * has room for CONFIG_MODELS_MAX; the strings are the roll-out's. ERR_NO_MEMORY; ERR_UNUSABLE: both
 * lists together are too long. */
enum err_code rollout_apply(const struct rollout *rollout, struct config *config,
                            const char *dropped[CONFIG_MODELS_MAX], unsigned *dropped_count,
                            struct err *err);

/* Changes config->models. versions [config->model_count] of the entries, in order. ERR_NOT_FOUND,
 * ERR_CONFLICT (it cannot be done in this state), ERR_UNUSABLE (what is asked for makes no sense);
 * then nothing is changed. */
enum err_code rollout_edit(struct config *config, const struct rollout_change *change,
                           const char *const *versions, struct err *err);

/* The directory of a load: absolute, without links, in the arena. ERR_UNUSABLE: it does not lie
 * below the root, or the root is "". */
enum err_code rollout_resolve(const char **out, const char *root, const char *dir,
                              struct arena *arena, struct err *err);

/* state_dir/rollout.json. Without the file, or with "" for the directory, the roll-out is empty.
 * ERR_UNUSABLE: it was written by a newer program, or damaged. */
enum err_code rollout_read(struct rollout **out, const char *state_dir, struct err *err);
/* Replaces it, with the names that were changed; makes the directory. ERR_IO. */
enum err_code rollout_write(const struct rollout *rollout, const char *state_dir, struct err *err);

#endif
