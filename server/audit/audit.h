/* audit.h - the audit log: one line for every prediction, every correction and every change.
 *
 *     struct audit *audit;
 *     if (audit_open(&audit, &(struct audit_options){.dir = "/var/log/attnd", ...}, &err)) ...
 *     audit_append(audit, &(struct audit_members){"\"type\":\"stop\"", 13}, 1, &err);
 *     audit_close(audit);
 *
 * Appending is a group commit: whoever finds nobody writing writes what all have appended so far.
 * A line is kept (audit_append returns)
 *     AUDIT_NONE   once the system has it; a power cut may lose it
 *     AUDIT_GROUP  the same, and it is synced within AUDIT_GROUP_MS
 *     AUDIT_EACH   once it is synced
 *
 * If the disk refuses (full, failed): with `refuse` so does audit_append, and the request with it;
 * without, the line is counted as lost, and the next line that is written follows one of type
 * "lost" with their number. The chain holds in both cases.
 *
 * Threads: any may append; open and close by one.
 */
#ifndef ATTND_SERVER_AUDIT_AUDIT_H
#define ATTND_SERVER_AUDIT_AUDIT_H

#include "server/audit/audit_chain.h"

#include <stdbool.h>

enum audit_sync { AUDIT_NONE, AUDIT_GROUP, AUDIT_EACH };
enum { AUDIT_GROUP_MS = 100 };

struct audit_options {
    const char *dir;
    enum audit_sync sync;
    bool refuse;           /* what cannot be written is an error; else it is counted */
    size_t rotate_bytes;   /* a file is closed once it has so many */
    unsigned keep_days;    /* files are removed so long after their last line; 0: never */
    struct audit_key key;  /* copied */
    unsigned lock_wait_ms; /* for another process that ends and has the directory */
};

struct audit;

/* Goes on with the log in the directory; reads no more of it than its end. ERR_IO, ERR_UNUSABLE,
 * ERR_CONFLICT (another process has it), ERR_NO_MEMORY. The line "begin" of a new file is
 * written. */
enum err_code audit_open(struct audit **out, const struct audit_options *options, struct err *err);
/* Syncs what was written. NULL is allowed. */
void audit_close(struct audit *audit);

/* The JSON members of a line ("\"type\":..." without braces), at most AUDIT_LINE_BYTES_MAX -
 * AUDIT_SEAL_BYTES bytes. */
struct audit_members {
    const char *text;
    size_t len;
};

/* Adds a line for each. ERR_NOT_READY: some are not in the log. */
enum err_code audit_append(struct audit *audit, const struct audit_members *lines, unsigned count,
                           struct err *err);

struct audit_state {
    uint64_t written, lost, refused; /* lines, since the start */
    uint64_t seq;                    /* of the newest line that is written */
    char head[SHA256_HEX_BYTES];     /* its hash */
    double lag_s;     /* age of the oldest line that is not yet as safe as the options promise */
    size_t cut_bytes; /* what the start found of an unfinished line */
};
struct audit_state audit_state(struct audit *audit);

#endif
