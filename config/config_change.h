/* config_change.h - compares two configurations while the server runs: which options apply at once,
 * and which need a restart.
 *
 *     struct config_change change = {0};
 *     config_change_find(&change, &old, &next, &arena, &err);
 *     change.live[0 .. live_count): "inputs_max", ...    change.restart: "workers", ...
 *
 * Threads: pure; the structs are the caller's.
 */
#ifndef ATTND_CONFIG_CONFIG_CHANGE_H
#define ATTND_CONFIG_CONFIG_CHANGE_H

#include "config/config.h"
#include "engine/base/err.h"

struct config_change {
    const char **live; /* [live_count] keys that changed and apply now; without `models` */
    unsigned live_count;
    const char **restart; /* [restart_count] keys that changed and are left as they were */
    unsigned restart_count;
};

/* Compares all options but `models`, and puts the old values back into *next where only a restart
 * may change them. The lists are the arena's. ERR_NO_MEMORY. */
enum err_code config_change_find(struct config_change *out, const struct config *old,
                                 struct config *next, struct arena *arena, struct err *err);

/* Replaces the list of models by copies, each checked as if it had been configured. The strings may
 * be the configuration's own. ERR_UNUSABLE, ERR_NO_MEMORY; then the list is not to be used. */
enum err_code config_set_models(struct config *config, const struct config_model *models,
                                unsigned count, struct err *err);

/* A configuration of its own with the same values. ERR_NO_MEMORY. Yours to config_deinit. */
enum err_code config_copy(struct config *out, const struct config *from, struct err *err);

#endif
