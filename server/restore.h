/* restore.h - the configuration that a start serves: what was read, with the changes of the
 * roll-out that the state directory holds from before.
 *
 *     restore_config(&effective, &read, false, &err);
 *
 * Threads: of the main thread, before any other.
 */
#ifndef ATTND_SERVER_RESTORE_H
#define ATTND_SERVER_RESTORE_H

#include "config/config.h"
#include "engine/base/err.h"

#define RESTORE_LOCK "state-lock" /* of state_dir; "lock" is the audit log's, which may lie there */

/* Yours to config_deinit. Changes that the configuration overrules are logged; for a start they are
 * no longer kept, a check writes nothing. ERR_UNUSABLE: the roll-out cannot be read, or written. */
enum err_code restore_config(struct config *out, const struct config *read, bool is_check,
                             struct err *err);

/* Before an error of the models that are served stands that the roll-out says so, if it does.
 * Returns err->code. */
enum err_code restore_blame(const struct config *out, const struct config *read, struct err *err);

#endif
