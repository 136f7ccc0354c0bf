/* windows.h - a text that is read in windows, on its way through the queue: each window is a row of
 * its own, which is packed with others, computed by any worker and waits its turn like the rest, so
 * that nobody waits for the whole of a long text. The row of the text itself is never queued.
 *
 *     windows_open(row, &arena);                a row for each window; request->queued
 *     ...
 *     struct row *done = windows_done(row);     a queued row is computed, or failed
 *     if (done != NULL) ...                     the text's, with its last window; else the row
 *
 * Threads: open by the owner of the request; windows_done by whoever holds the queued row. What the
 * others wrote into their windows is visible to who gets the text's row.
 */
#ifndef ATTND_SERVER_SERVE_WINDOWS_H
#define ATTND_SERVER_SERVE_WINDOWS_H

#include "server/serve/request.h"

/* For a prepared row whose input has windows. In the arena; ERR_NO_MEMORY goes into row->err. */
enum err_code windows_open(struct row *row, struct arena *arena);
/* Upper bound of what it takes for one window of a model. */
size_t windows_row_bytes(const struct engine_info *info);

/* NULL: further windows of the text are outstanding. A text has the error of its first window that
 * failed, and its windows' times from the first begin to the last end. */
struct row *windows_done(struct row *row);

#endif
